/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are the frames of a profile at a granularity. Frames that agree in all
 * that the granularity keeps are one node, as in google/pprof's Aggregate
 * (profile.go) and NodeInfo (graph.go).
 *
 * Ownership: nodes own their texts and borrow the profile, whose locations must
 * not change afterwards.
 * Threads: one thread at a time.
 */
#ifndef PPROF_GRAPH_NODES_H
#define PPROF_GRAPH_NODES_H

#include "base/err.h"
#include "pprof/profile/profile.h"

/* Which parts of a frame tell nodes apart. */
enum granularity {
	GRANULARITY_FUNCTIONS,
	GRANULARITY_FILEFUNCTIONS,
	GRANULARITY_FILES,
	GRANULARITY_LINES,
	GRANULARITY_ADDRESSES,
};

/*
 * The identity of a node. Strings are string numbers of the profile, 0 where
 * the granularity leaves them out.
 */
struct node_key {
	uint32_t name;
	uint32_t file;    /* cleaned as by Go's path.Clean */
	uint32_t objfile; /* object file; only for frames without a name */
	uint64_t address;
	int64_t start_line; /* only for frames without a name */
	int64_t line;
};

/* One node, with its printed text. */
struct node {
	struct node_key key;
	struct str text; /* text as reports print it */
	uint32_t file;   /* file of the first frame, at any granularity */
	int64_t line;    /* line where its function starts; 0: unknown */
};

/* All nodes of a profile, and the nodes of each location. */
struct nodes {
	const struct pprof *p;
	/* The distinct nodes, numbered in the order in which they are met. */
	VEC(struct node) v;
	VEC(uint32_t) of_lines; /* node numbers, one run per location */
	VEC(struct pprof_run) locations; /* runs, innermost first */
	/* From the hash of a key to the node. */
	struct table index;
	/* Storage of the texts that are not strings of the profile. */
	struct arena text;
};

/*
 * Parse the name of a granularity. ERR_INVALID: there is no such granularity.
 */
NODISCARD int granularity_parse(struct str s, enum granularity *out,
				struct err *err);

/*
 * Build the nodes of all locations of p. Cleaned file names are added to p's
 * string table. With noinlines, a location is only its outermost function.
 */
void nodes_init(struct nodes *n, struct pprof *p, enum granularity g,
		bool noinlines);

/* Free the nodes; their texts become invalid. */
void nodes_fini(struct nodes *n);

/* Memory that the nodes hold, in bytes, without the profile. */
size_t nodes_memory(const struct nodes *n);

/*
 * Order two nodes that have the same text: pprof's last resort, so that sorted
 * reports are reproducible. Returns <0, 0 or >0.
 */
int nodes_compare(const struct nodes *n, uint32_t a, uint32_t b);

#endif
