/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String set: distinct texts, such as the values of a label, in the order in
 * which they were added, or sorted.
 *
 * Ownership: the set keeps copies; string_set_fini() frees them.
 * Threads: one thread at a time.
 */
#ifndef QUERY_SELECT_STRING_SET_H
#define QUERY_SELECT_STRING_SET_H

#include "base/arena.h"
#include "base/table.h"

/* One text, and how often it was added. */
struct string_count {
	struct str text;
	uint64_t added;
};

/* A set of texts. The zero value is an empty set. */
struct string_set {
	struct arena arena;
	struct string_count *v; /* the texts, in the arena */
	size_t count;
	size_t cap;
	/* Maps the hash of a text to the index of the text in `v`. */
	struct table index;
};

/*
 * Add a copy of a text. Returns false when the set already contains the text,
 * which is then only counted.
 */
bool string_set_add(struct string_set *t, struct str s);

/*
 * Sort the texts in byte order. No text may be added after that, because the
 * index still refers to the old order.
 */
void string_set_sort(struct string_set *t);

/*
 * Sort the texts by how often they were added, most often first, then in byte
 * order. No text may be added after that.
 */
void string_set_sort_by_count(struct string_set *t);

/* Memory of the set in bytes, without its index. */
size_t string_set_memory(const struct string_set *t);

/* Free the set. It is empty after that, and can be used again. */
void string_set_fini(struct string_set *t);

#endif
