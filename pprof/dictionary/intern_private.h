/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the interner share. No file outside of them includes it.
 *
 * Ownership, threads: those of the interner (intern.h).
 */
#ifndef PPROF_DICTIONARY_INTERN_PRIVATE_H
#define PPROF_DICTIONARY_INTERN_PRIVATE_H

#include "pprof/dictionary/intern.h"
#include "pprof/profile/index_map.h"

/* A table of hashes, and what is likely to be asked for next. */
struct intern_index {
	struct table table;
	uint32_t next;
};

struct intern {
	struct dictionary *d;
	uint32_t next_string;
	struct table mappings;
	struct intern_index functions;
	struct intern_index locations;
	struct table nodes;
	struct table label_sets;
	struct table keys;
	struct table layouts;
	struct table shapes;

	/* The profile. */
	const struct pprof *src;
	struct place_map string_map;
	struct place_map mapping_map;
	struct place_map function_map;
	struct place_map location_map;
	VEC(uint64_t) scratch; /* a location's words */
	VEC(struct pprof_label) labels;
	VEC(struct dict_binding) bindings;
	VEC(uint64_t) bound; /* by mapping: the last profile that had it */
	uint64_t profiles;
};

struct runs {
	const void *elements;
	size_t size; /* of one */
	const struct pprof_run *runs;
};

struct run_key {
	struct runs runs;
	const void *want;
	uint32_t count;
};

bool intern_same_run(const void *ctx, uint32_t i, const void *key);

uint64_t intern_hash_run(const struct runs *r, uint32_t i);

#define runs_of(elements_, runs_) \
	((struct runs){ (elements_)->v, sizeof(*(elements_)->v), (runs_)->v })

/* The place of the run of `count` wanted elements, which is added if new. */
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
