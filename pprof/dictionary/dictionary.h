/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary contains what the profiles of one target have in common, each
 * element once: texts, functions, locations, stacks, label sets, and the order
 * in which the writer of the profiles wrote their fields. With it, a profile is
 * a list of keys (a key is a stack with a label set) and their values
 * (docs/decisions.md, 47). Elements are referred to by their index. They are
 * never changed; new elements are added at the end.
 *
 * Stacks form a tree of nodes. A node stands for a whole stack: the stack of
 * its parent plus one more frame, the innermost. So outermost frames are next
 * to the root.
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
 * A mapped binary, without the address at which it was loaded. A profile may
 * have several equal mappings; `twin` numbers them from 0.
 */
struct dict_mapping {
	/* Size of the mapping in bytes: limit - start. */
	uint64_t size;
	uint64_t offset;
	/* File name and build ID, as numbers of texts. */
	uint32_t file;
	uint32_t build_id;
	uint32_t twin;
};

/* Flags of a mapping in a profile, one bit each. */
enum dict_flags {
	DICT_HAS_FUNCTIONS = 1,
	DICT_HAS_FILENAMES = 2,
	DICT_HAS_LINES = 4,
	DICT_HAS_INLINES = 8,
};

/* A mapping as it occurs in a profile, with load address and flags. */
struct dict_binding {
	uint64_t start;
	uint32_t mapping;
	uint32_t flags;
};

/*
 * A node, which stands for a stack: the parent's stack and one more location.
 */
struct dict_node {
	uint32_t parent; /* parent node, which has a lower number */
	uint32_t location;
};

/* Maximum number of mappings in a profile; profiles with more are refused. */
#define DICT_LAYOUT_MAX 256

/*
 * A mark: the number of elements of each kind at some time. Elements that are
 * added later have these numbers and higher ones.
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
 * All elements. Elements refer to each other by index. A run (struct pprof_run)
 * is a slice of a vector. For each vector of runs, the vector of which they are
 * slices is declared just before it.
 */
struct dictionary {
	struct strtab strings; /* texts; number 0 is the empty text */
	VEC(struct dict_mapping) mappings;
	VEC(struct pprof_function) functions;
	VEC(struct pprof_line) lines;
	/*
	 * Addresses of locations are relative to the start of their mapping;
	 * member `mapping` is an index in mappings.
	 */
	VEC(struct pprof_location) locations;
	VEC(struct dict_node) nodes;
	VEC(struct pprof_label) labels;
	VEC(struct pprof_run) label_sets;
	VEC(struct pprof_sample) keys; /* member `stack` is a node */
	/* Stack depth of each key; empty unless the dictionary was decoded. */
	VEC(uint32_t) depths;
	VEC(struct dict_binding) bindings;
	/*
	 * Each layout lists the mappings of a profile, as a slice of bindings.
	 */
	VEC(struct pprof_run) layouts;
	/*
	 * Words of all shapes. A shape is the dialect and the order of fields
	 * of a profile, see pprof/dictionary/layout.h.
	 */
	VEC(uint32_t) words;
	VEC(struct pprof_run) shapes;
};

/* Create the empty text and the empty stack in a zeroed dictionary. */
void dict_init(struct dictionary *d);

/* Free all elements. */
void dict_fini(struct dictionary *d);

/* Memory that the dictionary holds, in bytes. */
size_t dict_memory(const struct dictionary *d);

/*
 * Return the current number of elements of each kind. With this mark, the
 * elements that are added later can be encoded or removed.
 */
struct dict_mark dict_mark(const struct dictionary *d);

/* Whether two dictionaries have the same elements in the same order. */
bool dict_equal(const struct dictionary *a, const struct dictionary *b);

/* The text with number i, borrowed from the dictionary. */
static inline struct str dict_str(const struct dictionary *d, uint32_t i)
{
	return strtab_get(&d->strings, i);
}

#endif
