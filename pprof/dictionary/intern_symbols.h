/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intern functions and locations.
 *
 * Ownership, threads: those of the interner (intern.h).
 */
#ifndef PPROF_DICTIONARY_INTERN_SYMBOLS_H
#define PPROF_DICTIONARY_INTERN_SYMBOLS_H

#include "pprof/dictionary/intern_private.h"

uint64_t intern_hash_function(const struct pprof_function *f);

uint64_t intern_hash_location(struct intern *in, uint32_t i);

uint32_t intern_map_location(struct intern *in, uint32_t i);

#endif
