/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionary: what the profiles of one target have in common, each thing once:
 * texts, functions, locations, stacks, sets of labels, and how their writer
 * lays a profile out. A profile is then a list of keys (a stack with a set of
 * labels) and their values. It only grows; numbers are places in its arrays.
 *
 * Stacks are a tree: a node is its parent's stack with one location more, so a
 * node stands for a whole stack, outermost frame first on the way down.
 *
 * Ownership: owns everything. Threads: immutable to readers; one writer.
 */
#ifndef PPROF_DICTIONARY_DICTIONARY_H
#define PPROF_DICTIONARY_DICTIONARY_H

#include "base/err.h"
#include "pprof/profile/profile.h"

/* The empty stack. */
#define DICT_ROOT 0

/*
 * A binary, wherever it was loaded: of several of one kind in a profile, which
 * one (twin).
 */
struct dict_mapping {
	uint64_t size;
	uint64_t offset;
	uint32_t file;
	uint32_t build_id;
	uint32_t twin;
};

enum dict_flags {
	DICT_HAS_FUNCTIONS = 1,
	DICT_HAS_FILENAMES = 2,
	DICT_HAS_LINES = 4,
	DICT_HAS_INLINES = 8,
};

/* Where a profile has a mapping, and what it says of it. */
struct dict_binding {
	uint64_t start;
	uint32_t mapping;
	uint32_t flags;
};

struct dict_node {
	uint32_t parent; /* before this node */
	uint32_t location;
};

/* More mappings are in no profile that is taken. */
#define DICT_LAYOUT_MAX 256

/* How many of each there are. */
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

struct dictionary {
	struct strtab strings; /* 0: the empty one */
	VEC(struct dict_mapping) mappings;
	VEC(struct pprof_function) functions;
	VEC(struct pprof_line) lines;
	/* Addresses are relative to the mapping; `mapping` is one of ours. */
	VEC(struct pprof_location) locations;
	VEC(struct dict_node) nodes;
	VEC(struct pprof_label) labels;
	VEC(struct pprof_run) label_sets;
	VEC(struct pprof_sample) keys; /* stack: a node */
	VEC(uint32_t) depths;          /* of keys' stacks; when it was read */
	VEC(struct dict_binding) bindings;
	VEC(struct pprof_run) layouts; /* of bindings, as in a profile */
	VEC(uint32_t) words; /* of shapes: pprof/dictionary/layout.h */
	VEC(struct pprof_run) shapes;
};

/* To be called on a zeroed one: makes the empty text and stack. */
void dict_init(struct dictionary *d);
void dict_fini(struct dictionary *d);
size_t dict_memory(const struct dictionary *d);

struct dict_mark dict_mark(const struct dictionary *d);

/* Whether the two are alike in everything. */
bool dict_equal(const struct dictionary *a, const struct dictionary *b);

static inline struct str dict_str(const struct dictionary *d, uint32_t i)
{
	return strtab_get(&d->strings, i);
}

#endif
