/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector: an array that grows.
 *
 *	VEC(int) v = { 0 };
 *	*vec_add(&v) = 7;
 *	vec_fini(&v);
 *
 * Ownership: a vector owns its array; pointers into it die with the next
 * vec_add(). Threads: one thread at a time.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/mem.h"

#define VEC(type)             \
	struct {              \
		type *v;      \
		size_t count; \
		size_t cap;   \
	}

/* A pointer to one element more, which is not initialised. */
#define vec_add(vec)                                                           \
	(((vec)->count < (vec)->cap ?                                          \
		  (void)0 :                                                    \
		  (void)((vec)->v = mem_grow((vec)->v, (vec)->count,           \
					     &(vec)->cap,                      \
					     sizeof(__typeof__(*(vec)->v))))), \
	 &(vec)->v[(vec)->count++])

/* Room for n elements more, at &v[count]; the count is the caller's. */
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

#define vec_fini(vec)               \
	do {                        \
		mem_free((vec)->v); \
		(vec)->v = NULL;    \
		(vec)->count = 0;   \
		(vec)->cap = 0;     \
	} while (0)

/* What the array takes. */
#define vec_memory(vec) ((vec)->cap * sizeof(*(vec)->v))

#endif
