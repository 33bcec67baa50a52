/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame tree of a report: all stacks merged from the outermost frame
 * inwards, each node with its own weight, and with its total weight including
 * everything it called. Other trees grow outwards, or begin at one function
 * (enum flame_walk). For a diff that keeps both sides apart (-diff_base), each
 * node has both weights.
 *
 * Ownership: borrows the report; flame_fini() frees the rest.
 * Threads: one thread at a time.
 */
#ifndef PPROF_REPORT_FLAME_H
#define PPROF_REPORT_FLAME_H

#include "pprof/report/flame_path.h"

/* Special values of flame_node.node, which are not nodes of the report. */
#define FLAME_ROOT  UINT32_MAX       /* the root: the whole profile */
#define FLAME_OTHER (UINT32_MAX - 1) /* the omitted children of a node */

/* A node of the tree: a frame reached by one distinct path of calls. */
struct flame_node {
	uint32_t node;   /* node of the report, or FLAME_ROOT, FLAME_OTHER */
	uint32_t parent; /* index of the parent, always smaller; root: 0 */
	/* Number of nodes between this node and the root, the root included. */
	uint32_t depth;
	/* Whether the frame is inlined into its caller in all samples. */
	bool inlined;
	/* Weight of the samples whose path ends in this frame. */
	int64_t self;
	/* Weight of the samples whose path ends here or passes through. */
	int64_t total;
	int64_t self_a; /* `self` in the base of a diff */
	int64_t total_a;
};

/* The tree in depth-first order; v.v[0] is the root. */
struct flame {
	VEC(struct flame_node) v; /* nodes; siblings are sorted by name */
	bool has_base;
	uint32_t max_depth;
	/* Number and weight of the nodes that "(other)" nodes stand for. */
	size_t left_out;
	int64_t weight_left_out;
};

/*
 * Weights of the samples on both sides of a comparison, in place of those of the
 * report, and where their paths end in the tree.
 */
struct flame_sides {
	const int64_t *base; /* by sample of the profile */
	const int64_t *now;
	/*
	 * Set by flame_init_sides(), by sample: the node in which its path
	 * ends; PPROF_NONE: it has no path. The caller provides the array.
	 */
	uint32_t *ends;
};

/* Return the kind of tree that the options of a report ask for. */
enum flame_walk flame_walk_of(const struct report_options *o);

/*
 * Build the tree of at most max_nodes nodes (0: no limit; below 0: the default
 * of 8192), plus one "(other)" node for each parent with omitted children.
 * ERR_LIMIT when the memory budget is exceeded, ERR_TIMEOUT at the deadline;
 * ERR_INVALID and ERR_NOTFOUND as for flame_path_init(). The caller must call
 * flame_fini() also after an error.
 */
NODISCARD int flame_init(struct flame *f, const struct report *r,
			 enum flame_walk walk, int64_t max_nodes,
			 struct err *err);

/* The same for samples that have weights on both sides; NULL: they have not. */
NODISCARD int flame_init_sides(struct flame *f, const struct report *r,
			       enum flame_walk walk, int64_t max_nodes,
			       const struct flame_sides *sides,
			       struct err *err);

/* Free the tree. */
void flame_fini(struct flame *f);

/*
 * The text to show for a node: "total" for the root, "(other)" for omitted
 * children, else the frame's name. Borrowed from the report.
 */
struct str flame_name(const struct report *r, const struct flame_node *n);

#endif
