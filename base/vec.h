/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector: a typed array that grows.
 *
 *	VEC(int) v = { 0 };
 *	*vec_add(&v) = 7;
 *	vec_fini(&v);
 *
 * Each of these macros evaluates its arguments once, as a function does, except
 * for the condition of vec_partition_point().
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
#define vec_add(vec)                                                       \
	({                                                                 \
		__typeof__(vec) add_to_ = (vec);                           \
                                                                           \
		if (add_to_->count >= add_to_->cap)                        \
			add_to_->v = mem_grow(                             \
				add_to_->v, add_to_->count, &add_to_->cap, \
				sizeof(__typeof__(*add_to_->v)));          \
		&add_to_->v[add_to_->count++];                             \
	})

/*
 * Make room for n more elements at &v[count]. The caller fills them and
 * increases count.
 */
#define vec_reserve(vec, n)                                                    \
	do {                                                                   \
		__typeof__(vec) room_in_ = (vec);                              \
		size_t want_ = room_in_->count + (n);                          \
                                                                               \
		if (want_ > room_in_->cap) {                                   \
			size_t more_ = room_in_->cap + room_in_->cap / 2;      \
                                                                               \
			room_in_->cap = more_ > want_ ? more_ : want_;         \
			room_in_->v =                                          \
				mem_realloc(room_in_->v, room_in_->cap,        \
					    sizeof(__typeof__(*room_in_->v))); \
		}                                                              \
	} while (0)

/* Append the n elements at `from`, which is not a part of the vector. */
#define vec_add_all(vec, from, n)                                         \
	do {                                                              \
		__typeof__(vec) all_to_ = (vec);                          \
		size_t added_ = (n);                                      \
                                                                          \
		vec_reserve(all_to_, added_);                             \
		if (added_)                                               \
			memcpy(&all_to_->v[all_to_->count], from,         \
			       added_ * sizeof(__typeof__(*all_to_->v))); \
		all_to_->count += added_;                                 \
	} while (0)

/*
 * Insert one element before element number `at`, or append it if `at` is the
 * count. Returns a pointer to the element, which is not initialised.
 */
#define vec_insert(vec, at)                                                   \
	({                                                                    \
		__typeof__(vec) insert_to_ = (vec);                           \
		size_t at_ = (at);                                            \
                                                                              \
		(void)vec_add(insert_to_);                                    \
		if (insert_to_->count - 1 > at_)                              \
			memmove(&insert_to_->v[at_ + 1], &insert_to_->v[at_], \
				(insert_to_->count - 1 - at_) *               \
					sizeof(__typeof__(*insert_to_->v)));  \
		&insert_to_->v[at_];                                          \
	})

/* Remove n elements, from element number `at` on. */
#define vec_remove(vec, at, n)                                                 \
	do {                                                                   \
		__typeof__(vec) remove_from_ = (vec);                          \
		size_t at_ = (at);                                             \
		size_t removed_ = (n);                                         \
                                                                               \
		remove_from_->count -= removed_;                               \
		if (remove_from_->count > at_)                                 \
			memmove(&remove_from_->v[at_],                         \
				&remove_from_->v[at_ + removed_],              \
				(remove_from_->count - at_) *                  \
					sizeof(__typeof__(*remove_from_->v))); \
	} while (0)

/*
 * Return the number of leading elements that satisfy `condition`, by binary
 * search. `element` names the pointer to the element that the condition looks
 * at. All elements that satisfy it must precede all others.
 *
 *	vec_partition_point(&v, e, *e <= 7)
 */
#define vec_partition_point(vec, element, condition)                 \
	({                                                           \
		__typeof__(vec) searched_ = (vec);                   \
		size_t low_ = 0;                                     \
		size_t high_ = searched_->count;                     \
                                                                     \
		while (low_ < high_) {                               \
			size_t mid_ = low_ + (high_ - low_) / 2;     \
			const __typeof__(*searched_->v) *(element) = \
				&searched_->v[mid_];                 \
                                                                     \
			if (condition)                               \
				low_ = mid_ + 1;                     \
			else                                         \
				high_ = mid_;                        \
		}                                                    \
		low_;                                                \
	})

/* Free the array; the vector is empty and usable again. */
#define vec_fini(vec)                           \
	do {                                    \
		__typeof__(vec) ended_ = (vec); \
                                                \
		mem_free(ended_->v);            \
		ended_->v = NULL;               \
		ended_->count = 0;              \
		ended_->cap = 0;                \
	} while (0)

/* The memory, in bytes, that the array takes. */
#define vec_memory(vec) ((vec)->cap * sizeof(__typeof__(*(vec)->v)))

#endif
