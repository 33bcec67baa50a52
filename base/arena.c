/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/*
 * With AddressSanitizer, unused bytes of a block are poisoned and each
 * allocation is followed by a red zone, so that overruns are reported as they
 * are for malloc().
 */
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define REDZONE        16
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define REDZONE        0
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

/*
 * Block sizes double from the minimum to the maximum, so that small arenas stay
 * small and large ones need few blocks.
 */
#define CHUNK_MIN (4 * KIB)
#define CHUNK_MAX MIB

/* A block of memory from which allocations are cut. */
struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	alignas(max_align_t) char data[];
};

/* Start a new block. The unused rest of the current block is abandoned. */
static void arena_add_chunk(struct arena *a, size_t size)
{
	struct arena_chunk *c = mem_zalloc(1, sizeof(*c) + size);

	c->next = a->chunks;
	c->size = size;
	a->chunks = c;
	a->pos = c->data;
	a->end = c->data + size;
	POISON(c->data, size);
}

/* Start a new block with at least `room` bytes. */
static void arena_grow(struct arena *a, size_t room)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_MIN;

	if (size < CHUNK_MIN)
		size = CHUNK_MIN;
	if (size > CHUNK_MAX)
		size = CHUNK_MAX;
	arena_add_chunk(a, size < room ? room : size);
}

size_t arena_room(size_t size)
{
	size_t align = alignof(max_align_t);

	return (size + REDZONE + align - 1) & ~(align - 1);
}

void arena_reserve(struct arena *a, size_t size)
{
	if (size > (size_t)(a->end - a->pos))
		arena_add_chunk(a, size);
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t room;
	char *p;

	if (size > SIZE_MAX / 2)
		/*
		 * The caller passed a negative number, which became a large
		 * size_t.
		 */
		abort();
	room = arena_room(size);
	if (room > (size_t)(a->end - a->pos))
		arena_grow(a, room);
	p = a->pos;
	a->pos += room;
	a->used += room;
	UNPOISON(p, size);
	return p;
}

char *arena_strndup(struct arena *a, struct str s)
{
	char *p = arena_alloc(a, s.len + 1);

	/*
	 * `ptr` of an empty text may be NULL, which memcpy() must not receive.
	 */
	if (s.len)
		memcpy(p, s.ptr, s.len);
	return p;
}

struct str arena_str(struct arena *a, struct str s)
{
	return (struct str){ .ptr = arena_strndup(a, s), .len = s.len };
}

/*
 * The text is formatted twice: first to learn its length, then into the arena,
 * so that no bytes are wasted.
 */
char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort(); /* a bad format is a bug in the caller */
	p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

struct bytes arena_bytes(struct arena *a, struct bytes b)
{
	uint8_t *copy = arena_alloc(a, b.len);

	bytes_copy(copy, b);
	return (struct bytes){ .ptr = copy, .len = b.len };
}

void arena_fini(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		/* A block must be unpoisoned before it is freed. */
		UNPOISON(a->chunks->data, a->chunks->size);
		mem_free(a->chunks);
		a->chunks = next;
	}
	*a = (struct arena){ 0 };
}
