/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector: a typed array that grows.
 *
 *	VEC(int) v = { 0 };
 *	*vec_add(&v) = 7;
 *	vec_fini(&v);
 *
 * Ownership: a vector owns its array, not what its elements point to; pointers
 * into the array become invalid with the next vec_add() or vec_reserve().
 * Threads: one thread at a time.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/mem.h"

/* A vector of elements of the given type; { 0 } is an empty one. */
#define VEC(type)             \
	struct {              \
		type *v;      \
		size_t count; \
		size_t cap;   \
	}

/* Append one element, which is not initialised, and return a pointer to it. */
#define vec_add(vec)                                                           \
	(((vec)->count < (vec)->cap ?                                          \
		  (void)0 :                                                    \
		  (void)((vec)->v = mem_grow((vec)->v, (vec)->count,           \
					     &(vec)->cap,                      \
					     sizeof(__typeof__(*(vec)->v))))), \
	 &(vec)->v[(vec)->count++])

/*
 * Make room for n more elements at &v[count]. The caller fills them and
 * increases count.
 */
#define vec_reserve(vec, n)                                          \
	do {                                                         \
		size_t want_ = (vec)->count + (n);                   \
                                                                     \
		if (want_ > (vec)->cap) {                            \
			size_t more_ = (vec)->cap + (vec)->cap / 2;  \
                                                                     \
			(vec)->cap = more_ > want_ ? more_ : want_;  \
			(vec)->v = mem_realloc((vec)->v, (vec)->cap, \
					       sizeof(*(vec)->v));   \
		}                                                    \
	} while (0)

/* Free the array; the vector is empty and usable again. */
#define vec_fini(vec)               \
	do {                        \
		mem_free((vec)->v); \
		(vec)->v = NULL;    \
		(vec)->count = 0;   \
		(vec)->cap = 0;     \
	} while (0)

/* The memory, in bytes, that the array takes. */
#define vec_memory(vec) ((vec)->cap * sizeof(*(vec)->v))

#endif
