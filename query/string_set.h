/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of texts, such as the values of a label.
 *
 * Ownership: keeps copies; string_set_fini() frees them.
 * Threads: one thread at a time.
 */
#ifndef QUERY_STRING_SET_H
#define QUERY_STRING_SET_H

#include "base/arena.h"
#include "base/table.h"

/* The zero value is the empty set. */
struct string_set {
	struct arena arena;
	struct str *v;
	size_t count;
	size_t cap;
	struct table index;
};

/* False when it is there already. */
bool string_set_add(struct string_set *t, struct str s);

/* Byte order; nothing can be added after it. */
void string_set_sort(struct string_set *t);

/* Bytes that the set takes. */
size_t string_set_memory(const struct string_set *t);
void string_set_fini(struct string_set *t);

#endif
