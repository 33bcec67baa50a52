/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame: the tree of stacks, from the outermost frame inwards, each node with
 * what it weighs itself and with what it called. Of a diff that keeps its two
 * sides apart (-diff_base) both are kept.
 *
 * Ownership: borrows the report; flame_fini() frees the rest.
 * Threads: one thread at a time.
 */
#ifndef PPROF_RENDER_FLAME_H
#define PPROF_RENDER_FLAME_H

#include "pprof/render/report_state.h"

#define FLAME_ROOT  UINT32_MAX       /* the node of the whole */
#define FLAME_OTHER (UINT32_MAX - 1) /* what max_nodes left out of a parent */

struct flame_node {
	uint32_t node;   /* of the report's nodes, or one of the above */
	uint32_t parent; /* its place, before this one; the root's own: 0 */
	uint32_t depth;
	int64_t self;
	int64_t total;
	int64_t self_a; /* the base's */
	int64_t total_a;
};

struct flame {
	VEC(struct flame_node) v; /* depth first, siblings by name */
	bool has_base;
	uint32_t max_depth;
};

/* max_nodes 0: all of them; below 0: 8192. ERR_LIMIT, ERR_TIMEOUT; flame_fini() in any case. */
NODISCARD int flame_init(struct flame *f, const struct report *r,
			 int64_t max_nodes, struct err *err);
void flame_fini(struct flame *f);

/* How a node is called. */
struct str flame_name(const struct report *r, const struct flame_node *n);

#endif
