/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the source files of the interner (intern.h) share. No other
 * file includes this header.
 *
 * Ownership: all elements belong to the dictionary of the interner.
 * Threads: one thread at a time, as for the interner.
 */
#ifndef PPROF_DICTIONARY_INTERN_PRIVATE_H
#define PPROF_DICTIONARY_INTERN_PRIVATE_H

#include "pprof/dictionary/intern.h"
#include "pprof/profile/index_map.h"

/*
 * A hash table of elements, and the element (`next`) that is likely to be
 * looked up next.
 */
struct intern_index {
	struct table table;
	uint32_t next;
};

/*
 * An interner: hash tables that lead from hashes to the elements of a
 * dictionary, and the state of the current profile.
 */
struct intern {
	struct dictionary *d;
	/* The string that is likely to be looked up next. */
	uint32_t next_string;
	struct table mappings;
	struct intern_index functions;
	struct intern_index locations;
	struct table nodes;
	struct table label_sets;
	struct table keys;
	struct table layouts;
	struct table shapes;

	/*
	 * The current profile, and maps from the numbers of its elements to
	 * their numbers in the dictionary.
	 */
	const struct pprof *src;
	struct place_map string_map;
	struct place_map mapping_map;
	struct place_map function_map;
	struct place_map location_map;
	VEC(uint64_t) scratch; /* lookup key of a location, as 64-bit words */
	/* The label set being looked up, with text numbers of d. */
	VEC(struct pprof_label) labels;
	/* The layout being looked up, with mapping numbers of d. */
	VEC(struct dict_binding) bindings;
	/*
	 * For each mapping of d: number of the last profile that contains it.
	 */
	VEC(uint64_t) bound;
	/* Number of the current profile, from 1. */
	uint64_t profiles;
};

/*
 * A vector of elements of any type, and a vector of runs, which are slices of
 * it.
 */
struct runs {
	const void *elements;
	size_t size; /* size of one element, in bytes */
	const struct pprof_run *runs;
};

/* A run to look up: the `count` elements at `want`. */
struct run_key {
	struct runs runs;
	const void *want;
	uint32_t count;
};

/* Whether run i equals `key`, a struct run_key. `ctx` is not used. */
bool intern_same_run(const void *ctx, uint32_t i, const void *key);

/* Hash of the elements of run i. */
uint64_t intern_hash_run(const struct runs *r, uint32_t i);

/* Makes a struct runs of a vector of elements and the vector of its runs. */
#define runs_of(elements_, runs_) \
	((struct runs){ (elements_)->v, sizeof(*(elements_)->v), (runs_)->v })

/*
 * Finds the run that consists of the `count_` elements at `want_`, by the hash
 * table `t`, or adds it. The macro's value is the index of the run. It is a
 * macro, because the vectors differ in their element types.
 */
#define find_run(t, elements_, runs_, want_, count_)                      \
	({                                                                \
		struct run_key k_ = { runs_of(elements_, runs_), (want_), \
				      (count_) };                         \
		uint64_t hash_ =                                          \
			intern_hash(k_.want, k_.count * k_.runs.size);    \
		uint32_t i_ =                                             \
			table_find(t, hash_, intern_same_run, NULL, &k_); \
                                                                          \
		if (i_ == TABLE_NONE) {                                   \
			i_ = (uint32_t)(runs_)->count;                    \
			table_add(t, hash_, i_);                          \
			*vec_add(runs_) = (struct pprof_run){             \
				(uint32_t)(elements_)->count, k_.count    \
			};                                                \
			for (uint32_t n_ = 0; n_ < k_.count; n_++)        \
				*vec_add(elements_) = (want_)[n_];        \
		}                                                         \
		i_;                                                       \
	})

#endif
