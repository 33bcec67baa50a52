/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena: many small allocations that are freed together.
 *
 * Ownership: an arena owns all that it handed out; arena_fini() frees it.
 * Threads: one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/bytes.h"
#include "base/defs.h"

struct arena_chunk;

/* The zero value is an empty arena. */
struct arena {
	struct arena_chunk *chunks;
	char *pos;
	char *end;
	size_t used; /* bytes handed out */
};

/* size zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *a, size_t size);

/* NUL-terminated copies. */
char *arena_strndup(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

/* A copy of the text as a view. */
struct str arena_str(struct arena *a, struct str s);

/* Free everything; the arena is empty and usable again. */
void arena_fini(struct arena *a);

#define arena_new(a, type)      (type *)arena_alloc(a, sizeof(type))
#define arena_array(a, type, n) (type *)arena_alloc(a, sizeof(type) * (n))

#endif
