/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds or adds functions and locations.
 *
 * Ownership: all elements belong to the dictionary of the interner (intern.h).
 * Threads: one thread at a time, as for the interner.
 */
#ifndef PPROF_DICTIONARY_INTERN_SYMBOLS_H
#define PPROF_DICTIONARY_INTERN_SYMBOLS_H

#include "pprof/dictionary/intern_private.h"

/* Hash of a function, for the hash table of functions. */
uint64_t intern_hash_function(const struct pprof_function *f);

/*
 * Hash of location i of the dictionary, for the hash table of locations. The
 * lines of the location must exist.
 */
uint64_t intern_hash_location(struct intern *in, uint32_t i);

/*
 * Return the dictionary's number for location i of the current profile; add the
 * location if it is new. Its mapping must be in the dictionary already
 * (intern_mappings.h).
 */
uint32_t intern_map_location(struct intern *in, uint32_t i);

#endif
