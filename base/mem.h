/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory allocation that never fails: when memory is exhausted, the process
 * ends with a message. Sizes that come from a file, a peer or a user must be
 * compared with a limit before the sizes are passed to these functions.
 *
 * Ownership: the caller owns what is returned and frees it with mem_free().
 * Threads: any.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/bytes.h"
#include "base/defs.h"

/*
 * Allocate `size` bytes, not initialised. A size of 0 also returns a pointer
 * that the caller frees.
 */
void *mem_alloc(size_t size);

/* Allocate n * size zeroed bytes; the product is checked for overflow. */
void *mem_zalloc(size_t n, size_t size);

/*
 * Resize p to n * size bytes, where p may be NULL; new bytes are not
 * initialised. The product is checked for overflow.
 */
void *mem_realloc(void *p, size_t n, size_t size);

/* Free memory that a function of this header has allocated; NULL is a no-op. */
void mem_free(const void *p);

/*
 * Overwrite a NUL-terminated secret with zeros, then free it, so that the
 * secret does not remain in freed memory. NULL is a no-op.
 */
void mem_forget(char *secret);

/* Return a NUL-terminated copy of a string. */
char *mem_strdup(const char *s);

/* Return a NUL-terminated copy of a view. */
char *mem_strndup(struct str s);

/* Return a NUL-terminated formatted string. */
char *mem_printf(const char *fmt, ...) PRINTF(1, 2);

/* Return a copy of the n bytes at p, which may be NULL when n is 0. */
void *mem_dup(const void *p, size_t n);

/*
 * For CLEANUP(mem_freep): free what the pointer variable points to and set the
 * variable to NULL.
 */
void mem_freep(void *pointer_to_pointer);

/* Allocate one zeroed object of the given type. */
#define mem_new(type) ((type *)mem_zalloc(1, sizeof(type)))

/*
 * Make room for one more element after the n elements of a growing array, whose
 * elements have `size` bytes and whose capacity, in elements, is *cap. Returns
 * the array, moved if need be, with *cap at least n + 1. The capacity grows by
 * half, so that appending has amortised constant cost.
 */
void *mem_grow(void *array, size_t n, size_t *cap, size_t size);

#endif
