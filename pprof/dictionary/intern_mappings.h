/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds or adds mappings, layouts (the mappings of a profile with their load
 * addresses) and shapes (the dialect of a profile and the order of its fields,
 * layout.h).
 *
 * Ownership: all elements belong to the dictionary of the interner (intern.h).
 * Threads: one thread at a time, as for the interner.
 */
#ifndef PPROF_DICTIONARY_INTERN_MAPPINGS_H
#define PPROF_DICTIONARY_INTERN_MAPPINGS_H

#include "pprof/dictionary/intern_private.h"

/* Hash of a mapping, for the hash table of mappings. */
uint64_t intern_hash_mapping(const struct dict_mapping *m);

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
