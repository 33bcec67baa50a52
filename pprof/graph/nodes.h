/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: the frames of a profile at a granularity. Frames that agree in what
 * the granularity keeps are one node, as in google/pprof's Aggregate
 * (profile.go) and NodeInfo (graph.go).
 *
 * Ownership: nodes own their names and borrow the profile, whose locations
 * must not change any more. Threads: one thread at a time.
 */
#ifndef PPROF_GRAPH_NODES_H
#define PPROF_GRAPH_NODES_H

#include "base/err.h"
#include "pprof/profile/profile.h"

enum granularity {
	GRANULARITY_FUNCTIONS,
	GRANULARITY_FILEFUNCTIONS,
	GRANULARITY_FILES,
	GRANULARITY_LINES,
	GRANULARITY_ADDRESSES,
};

/* What makes a node. Strings are the profile's, 0 where left out. */
struct node_key {
	uint32_t name;
	uint32_t file;    /* cleaned */
	uint32_t objfile; /* only where there is no name */
	uint64_t address;
	int64_t start_line; /* likewise */
	int64_t line;
};

struct node {
	struct node_key key;
	struct str text; /* as reports print it */
	uint32_t file;   /* of the first frame, whatever the granularity */
	int64_t line;    /* where its function starts, if known */
};

struct nodes {
	const struct pprof *p;
	VEC(struct node) v;
	VEC(uint32_t) of_lines;          /* nodes, a run for each location */
	VEC(struct pprof_run) locations; /* innermost first */
	struct table index;
	struct arena text;
};

/* ERR_INVALID: there is no such granularity. */
NODISCARD int granularity_parse(struct str s, enum granularity *out,
				struct err *err);

/* p's strings grow by cleaned file names. */
void nodes_init(struct nodes *n, struct pprof *p, enum granularity g,
		bool noinlines);
void nodes_fini(struct nodes *n);
size_t nodes_memory(const struct nodes *n);

/* Order of two nodes with the same text. */
int nodes_compare(const struct nodes *n, uint32_t a, uint32_t b);

#endif
