/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that never fails: when the machine has none left, the process ends
 * with a message. Sizes that come from a file, a peer or a user are compared
 * with a limit before they get here.
 *
 * Ownership: the caller owns what is returned and frees it with mem_free().
 * Threads: any.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/bytes.h"
#include "base/defs.h"

/* size bytes, not initialised; a size of 0 gives a pointer that can be freed. */
void *mem_alloc(size_t size);

/* n * size bytes, zeroed. */
void *mem_zalloc(size_t n, size_t size);

/* Resize to n * size bytes; new bytes are not initialised. */
void *mem_realloc(void *p, size_t n, size_t size);

/* NULL is a no-op. */
void mem_free(const void *p);

/* Free text that was a secret: it does not stay in memory. NULL is a no-op. */
void mem_forget(char *secret);

/* A NUL-terminated copy. */
char *mem_strdup(const char *s);
char *mem_strndup(struct str s);

/* A formatted string. */
char *mem_printf(const char *fmt, ...) PRINTF(1, 2);

/* A copy of n bytes. */
void *mem_dup(const void *p, size_t n);

/* For CLEANUP(mem_freep): frees what the pointer variable points to. */
void mem_freep(void *pointer_to_pointer);

#define mem_new(type) ((type *)mem_zalloc(1, sizeof(type)))

/*
 * Make room for one more element in a growing array of elements of size bytes:
 * returns the array, moved if need be, with *cap at least n + 1.
 */
void *mem_grow(void *array, size_t n, size_t *cap, size_t size);

#endif
