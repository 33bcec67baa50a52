/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem_profile.h"

/*
 * End the process because an allocation of `size` bytes failed. abort() leaves
 * a core dump that shows the caller.
 */
NORETURN static void out_of_memory(size_t size)
{
	fprintf(stderr, "everprof: out of memory: cannot allocate %zu bytes\n",
		size);
	abort();
}

/* A size of 0 becomes 1 below, because malloc(0) may return NULL. */
void *mem_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(size);
	mem_profile_allocates((uintptr_t)p, size);
	return p;
}

/* calloc() checks the product for overflow, as reallocarray() does. */
void *mem_zalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory(n * size);
	mem_profile_allocates((uintptr_t)p, n * size);
	return p;
}

void *mem_realloc(void *p, size_t n, size_t size)
{
	void *q;

	mem_profile_frees(p);
	q = reallocarray(p, n ? n : 1, size ? size : 1);
	if (!q)
		out_of_memory(n * size);
	mem_profile_allocates((uintptr_t)q, n * size);
	return q;
}

void mem_free(const void *p)
{
	/*
	 * Callers may own memory through pointers to const; the union drops the
	 * const without a cast.
	 */
	union {
		const void *as_const;
		void *as_is;
	} u = { .as_const = p };

	mem_profile_frees(p);
	free(u.as_is);
}

void *mem_dup(const void *p, size_t n)
{
	void *copy = mem_alloc(n);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_dup(s, strlen(s) + 1);
}

char *mem_strndup(struct str s)
{
	char *copy = mem_alloc(s.len + 1);

	if (s.len)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = 0;
	return copy;
}

char *mem_printf(const char *fmt, ...)
{
	char *out = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	/* vasprintf() fails only when memory is exhausted. */
	n = vasprintf(&out, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(0);
	return out;
}

void mem_forget(char *secret)
{
	/*
	 * Unlike memset(), explicit_bzero() is not optimised away before memory
	 * is freed.
	 */
	if (secret)
		explicit_bzero(secret, strlen(secret));
	mem_free(secret);
}

void mem_freep(void *pointer_to_pointer)
{
	void **p = pointer_to_pointer;

	mem_free(*p);
	*p = NULL;
}

void *mem_grow(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? *cap + *cap / 2 + 1 : 4;
	return mem_realloc(array, *cap, size);
}
