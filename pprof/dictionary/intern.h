/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the elements of a profile in a dictionary and adds those that are
 * missing.
 *
 *	intern_begin(in, p);
 *	for each sample i: key = intern_key(in, i, the key that is likely);
 *
 * Profiles of one program refer to the same elements in the same order, so each
 * search first tries the element that follows the last result
 * (docs/decisions.md, 40).
 *
 * Ownership: borrows the dictionary, and the profile until the next
 * intern_begin().
 * Threads: one thread at a time.
 */
#ifndef PPROF_DICTIONARY_INTERN_H
#define PPROF_DICTIONARY_INTERN_H

#include "pprof/dictionary/dictionary.h"
#include "pprof/profile/index_map.h"

/*
 * An interner: hash tables over a dictionary, and maps from the numbers of the
 * current profile to those of the dictionary.
 */
struct intern;

/*
 * Create an interner for an empty dictionary, which must exist until the
 * interner is freed by intern_free(). The caller frees the interner.
 */
struct intern *intern_new(struct dictionary *d);

/* Free the interner, but not the dictionary. `in` may be NULL. */
void intern_free(struct intern *in);

/* Memory that the interner holds, in bytes, without the dictionary. */
size_t intern_memory(const struct intern *in);

/*
 * Make p the current profile. It must stay unchanged until the next
 * intern_begin().
 */
void intern_begin(struct intern *in, const struct pprof *p);

/*
 * Find or add a string of the profile and store its number in the dictionary in
 * `*out`. Returns false if the profile has no string with that number.
 */
bool intern_string(struct intern *in, uint64_t string, uint32_t *out);

/*
 * Find or add the key (stack and labels) of a sample and return its number.
 * `likely` is the key to try first; any number is allowed.
 */
uint32_t intern_key(struct intern *in, size_t sample, uint32_t likely);

/*
 * Remove the shapes (the orders of a profile's fields, layout.h) that were
 * added since dict_mark() returned `mark`.
 */
void intern_rollback_shapes(struct intern *in, const struct dict_mark *mark);

/*
 * Remove all elements that were added since dict_mark() returned `mark`. The
 * maps of the current profile become invalid: call intern_begin() before
 * further lookups.
 */
void intern_rollback(struct intern *in, const struct dict_mark *mark);

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

/*
 * Find or add the mappings of the current profile in the dictionary, and return
 * the number of the profile's layout. Must be called before intern_key().
 */
uint32_t intern_layout(struct intern *in);

/*
 * Find or add the mappings of the current profile in the dictionary without
 * making a layout, for callers that do not need load addresses.
 */
void intern_mappings(struct intern *in);

/*
 * Find or add a layout of `count` bindings. Member `mapping` of each is the
 * index of a mapping of the current profile.
 */
uint32_t intern_bindings(struct intern *in, const struct dict_binding *v,
			 uint32_t count);

/* Find or add a shape of `count` words. */
uint32_t intern_shape(struct intern *in, const uint32_t *words, uint32_t count);

#endif
