/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intern mappings, their bindings, and layouts.
 *
 * Ownership, threads: those of the interner (intern.h).
 */
#ifndef PPROF_DICTIONARY_INTERN_MAPPINGS_H
#define PPROF_DICTIONARY_INTERN_MAPPINGS_H

#include "pprof/dictionary/intern_private.h"

uint64_t intern_hash_mapping(const struct dict_mapping *m);

/* The profile's mappings; to be called before keys. */
uint32_t intern_layout(struct intern *in);

/* The same, but where the profile has them does not matter. */
void intern_mappings(struct intern *in);

/* A layout of mappings of the profile: the bindings name them by place. */
uint32_t intern_bindings(struct intern *in, const struct dict_binding *v,
			 uint32_t count);

uint32_t intern_shape(struct intern *in, const uint32_t *words, uint32_t count);

#endif
