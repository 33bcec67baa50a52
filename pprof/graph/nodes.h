/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: a node stands for all frames of a profile that agree in certain parts,
 * such as the function and the file. The granularity determines these parts, as
 * in google/pprof's Aggregate (profile.go) and NodeInfo (graph.go).
 *
 * Ownership: nodes own their texts and borrow the profile, whose locations must
 * not change afterwards.
 * Threads: one thread at a time.
 */
#ifndef PPROF_GRAPH_NODES_H
#define PPROF_GRAPH_NODES_H

#include "base/err.h"
#include "pprof/profile/profile.h"

/* Granularity: which parts of a frame distinguish nodes. */
enum granularity {
	GRANULARITY_FUNCTIONS,
	GRANULARITY_FILEFUNCTIONS,
	GRANULARITY_FILES,
	GRANULARITY_LINES,
	GRANULARITY_ADDRESSES,
};

/*
 * The identity of a node. Strings are indexes in the profile's string table;
 * parts that the granularity leaves out are 0.
 */
struct node_key {
	uint32_t name;
	uint32_t file;    /* file name, cleaned as by Go's path.Clean */
	uint32_t objfile; /* object file of a frame without a name; else 0 */
	uint64_t address;
	int64_t start_line; /* start line of a frame without a name; else 0 */
	int64_t line;
};

/* One node, with its printed text. */
struct node {
	struct node_key key;
	struct str text; /* name printed in reports */

	/*
	 * The file of the function, even if key.file is 0, and that of the mapping:
	 * of all frames of the node, the first one in the order of texts that is
	 * not empty.
	 */
	uint32_t file;
	uint32_t binary;
};

/* All nodes of a profile, and the nodes of each location. */
struct nodes {
	const struct pprof *p;
	/*
	 * The distinct nodes, numbered in the order in which they were found.
	 */
	VEC(struct node) v;
	VEC(uint32_t) of_lines; /* node numbers, location by location */
	/*
	 * The part of of_lines that belongs to each location, innermost first.
	 */
	VEC(struct pprof_run) locations;
	/* Finds nodes by the hash of their key. */
	struct table index;
	/* Storage of the node texts that are not strings of the profile. */
	struct arena text;
};

/*
 * Parse the name of a granularity. ERR_INVALID: there is no such granularity.
 */
NODISCARD int granularity_parse(struct str s, enum granularity *out,
				struct err *err);

/*
 * Build the nodes of all locations of p. Cleaned file names are added to p's
 * string table. With `noinlines`, each location has only the node of its
 * outermost function.
 */
void nodes_init(struct nodes *n, struct pprof *p, enum granularity g,
		bool noinlines);

/* Free the nodes; their texts become invalid. */
void nodes_fini(struct nodes *n);

/* Memory that the nodes hold, in bytes, without the profile. */
size_t nodes_memory(const struct nodes *n);

/*
 * Compare two nodes that have the same text by all their fields, as pprof does,
 * so that the order in reports is reproducible.
 */
int nodes_compare(const struct nodes *n, uint32_t a, uint32_t b);

/* Order of any two nodes: by their texts, then as by nodes_compare(). */
int nodes_order(const struct nodes *n, uint32_t a, uint32_t b);

#endif
