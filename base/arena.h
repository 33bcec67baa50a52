/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena serves many small allocations that are all freed together.
 *
 * Ownership: an arena owns everything it returned; arena_fini() frees all of
 * it. A single allocation cannot be freed.
 * Threads: one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/bytes.h"
#include "base/defs.h"

struct arena_chunk;

/* An arena. The zero value is an empty arena that is ready for use. */
struct arena {
	struct arena_chunk *chunks; /* all blocks, the newest first */
	/* Start of the unused rest of the newest block. */
	char *pos;
	char *end;
	size_t used; /* number of bytes allocated so far, with padding */
};

/*
 * Allocate `size` zeroed bytes, aligned for any type. The process ends when
 * memory is exhausted. The result can be NULL only if `size` is 0.
 */
void *arena_alloc(struct arena *a, size_t size);

/*
 * Make room for `size` bytes, for an arena of known size: its next allocations
 * use one block of exactly this size. The size of an allocation counts as
 * arena_room() says.
 */
void arena_reserve(struct arena *a, size_t size);

/* Return the bytes that an allocation of `size` bytes takes in an arena. */
size_t arena_room(size_t size);

/* Copy s into the arena and append a NUL byte. */
char *arena_strndup(struct arena *a, struct str s);

/* Format a NUL-terminated string in the arena, as sprintf() does. */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

/*
 * Copy s into the arena, followed by a NUL byte, and return a view of the copy
 * without the NUL.
 */
struct str arena_str(struct arena *a, struct str s);

/* Copy b into the arena, and return a view of the copy. */
struct bytes arena_bytes(struct arena *a, struct bytes b);

/*
 * Free everything that the arena allocated; the arena is empty and usable
 * again.
 */
void arena_fini(struct arena *a);

/*
 * Allocate one zeroed object of the given type, or an array of n of them. The
 * caller bounds n: the multiplication is not checked for overflow.
 */
#define arena_new(a, type)      (type *)arena_alloc(a, sizeof(type))
#define arena_array(a, type, n) (type *)arena_alloc(a, sizeof(type) * (n))

#endif
