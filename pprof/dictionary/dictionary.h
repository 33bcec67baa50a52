/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary holds what the profiles of one target have in common, each thing
 * once: texts, functions, locations, stacks, label sets, and how the profiles'
 * writer lays them out. A profile is then a list of keys (a stack with a label
 * set) and their values (docs/decisions.md, 47). A dictionary only grows, and
 * elements are referred to by their index.
 *
 * Stacks form a tree: a node is the stack of its parent with one location more,
 * so that one node stands for a whole stack, with the outermost frame next to
 * the root.
 *
 * Ownership: a dictionary owns all of its elements.
 * Threads: many readers, or one writer.
 */
#ifndef PPROF_DICTIONARY_DICTIONARY_H
#define PPROF_DICTIONARY_DICTIONARY_H

#include "base/err.h"
#include "pprof/profile/profile.h"

/* The node of the empty stack. */
#define DICT_ROOT 0

/*
 * A binary, independent of the address it was loaded at. A profile may have
 * several equal mappings; twin, from 0, tells them apart.
 */
struct dict_mapping {
	/* limit - start of the mapping. */
	uint64_t size;
	uint64_t offset;
	/* File and build ID are strings. */
	uint32_t file;
	uint32_t build_id;
	uint32_t twin;
};

/* The flags of a mapping in a profile, as bits. */
enum dict_flags {
	DICT_HAS_FUNCTIONS = 1,
	DICT_HAS_FILENAMES = 2,
	DICT_HAS_LINES = 4,
	DICT_HAS_INLINES = 8,
};

/* A mapping as it is in a profile: load address and flags. */
struct dict_binding {
	uint64_t start;
	uint32_t mapping;
	uint32_t flags;
};

/* A stack: its parent's stack and one location more. */
struct dict_node {
	uint32_t parent; /* less than the node's own number */
	uint32_t location;
};

/* Profiles with more mappings are refused. */
#define DICT_LAYOUT_MAX 256

/*
 * The number of elements of each kind at some time. The elements added since
 * then are those with higher numbers.
 */
struct dict_mark {
	size_t strings;
	size_t mappings;
	size_t functions;
	size_t lines;
	size_t locations;
	size_t nodes;
	size_t labels;
	size_t label_sets;
	size_t keys;
	size_t bindings;
	size_t layouts;
	size_t words;
	size_t shapes;
};

/*
 * Elements refer to each other by index. Runs (struct pprof_run) are slices of
 * the vector before them.
 */
struct dictionary {
	struct strtab strings; /* number 0 is the empty text */
	VEC(struct dict_mapping) mappings;
	VEC(struct pprof_function) functions;
	VEC(struct pprof_line) lines;
	/* Addresses are relative to the mapping, an index of mappings. */
	VEC(struct pprof_location) locations;
	VEC(struct dict_node) nodes;
	VEC(struct pprof_label) labels;
	VEC(struct pprof_run) label_sets;
	VEC(struct pprof_sample) keys; /* member stack is a node */
	VEC(uint32_t) depths; /* by key: depth of its stack; only if decoded */
	VEC(struct dict_binding) bindings;
	VEC(struct pprof_run) layouts; /* of bindings */
	VEC(uint32_t) words; /* of shapes: pprof/dictionary/layout.h */
	VEC(struct pprof_run) shapes;
};

/* Create the empty text and the empty stack in a zeroed dictionary. */
void dict_init(struct dictionary *d);

/* Free all elements. */
void dict_fini(struct dictionary *d);

/* Memory that the dictionary holds, in bytes. */
size_t dict_memory(const struct dictionary *d);

/* The current number of elements, to encode or roll back what comes later. */
struct dict_mark dict_mark(const struct dictionary *d);

/* Whether two dictionaries have the same elements in the same order. */
bool dict_equal(const struct dictionary *a, const struct dictionary *b);

/* The text with number i, borrowed from the dictionary. */
static inline struct str dict_str(const struct dictionary *d, uint32_t i)
{
	return strtab_get(&d->strings, i);
}

#endif
