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

#include <string.h>

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

/* Append the n elements at `from`, which is not a part of the vector. */
#define vec_add_all(vec, from, n)                             \
	do {                                                  \
		size_t added_ = (n);                          \
                                                              \
		vec_reserve(vec, added_);                     \
		if (added_)                                   \
			memcpy(&(vec)->v[(vec)->count], from, \
			       added_ * sizeof(*(vec)->v));   \
		(vec)->count += added_;                       \
	} while (0)

/*
 * Insert one element before element number `at`, or append it if `at` is the
 * count. Returns a pointer to the element, which is not initialised.
 */
#define vec_insert(vec, at)                                                    \
	({                                                                     \
		size_t at_ = (at);                                             \
                                                                               \
		(void)vec_add(vec);                                            \
		if ((vec)->count - 1 > at_)                                    \
			memmove(&(vec)->v[at_ + 1], &(vec)->v[at_],            \
				((vec)->count - 1 - at_) * sizeof(*(vec)->v)); \
		&(vec)->v[at_];                                                \
	})

/* Remove n elements, from element number `at` on. */
#define vec_remove(vec, at, n)                                             \
	do {                                                               \
		size_t at_ = (at);                                         \
		size_t removed_ = (n);                                     \
                                                                           \
		(vec)->count -= removed_;                                  \
		if ((vec)->count > at_)                                    \
			memmove(&(vec)->v[at_], &(vec)->v[at_ + removed_], \
				((vec)->count - at_) * sizeof(*(vec)->v)); \
	} while (0)

/*
 * Return the number of leading elements that satisfy `condition`, by binary
 * search. `element` names the pointer to the element that the condition looks
 * at. All elements that satisfy it must precede all others.
 *
 *	vec_partition_point(&v, e, *e <= 7)
 */
#define vec_partition_point(vec, element, condition)             \
	({                                                       \
		size_t low_ = 0;                                 \
		size_t high_ = (vec)->count;                     \
                                                                 \
		while (low_ < high_) {                           \
			size_t mid_ = low_ + (high_ - low_) / 2; \
			const __typeof__(*(vec)->v) *(element) = \
				&(vec)->v[mid_];                 \
                                                                 \
			if (condition)                           \
				low_ = mid_ + 1;                 \
			else                                     \
				high_ = mid_;                    \
		}                                                \
		low_;                                            \
	})

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
