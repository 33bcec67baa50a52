/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of texts, such as the values of a label.
 *
 * Ownership: keeps copies; texts_fini() frees them.
 * Threads: one thread at a time.
 */
#ifndef WEB_TEXTS_H
#define WEB_TEXTS_H

#include "base/arena.h"
#include "base/table.h"

/* The zero value is the empty set. */
struct texts {
	struct arena arena;
	struct str *v;
	size_t count;
	size_t cap;
	struct table index;
};

/* False when it is there already. */
bool texts_add(struct texts *t, struct str s);

/* Byte order; nothing can be added after it. */
void texts_sort(struct texts *t);

/* Bytes that the set takes. */
size_t texts_memory(const struct texts *t);
void texts_fini(struct texts *t);

#endif
