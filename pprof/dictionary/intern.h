/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intern: finds the things of a profile in a dictionary, and adds those that
 * it lacks.
 *
 *	intern_begin(in, p);
 *	for each sample i: key = intern_key(in, i, the key that is likely);
 *
 * Profiles of one program name the same things in the same order, so what
 * follows the last thing found is looked at first.
 *
 * Ownership: borrows the dictionary, and the profile until the next one.
 * Threads: one thread.
 */
#ifndef PPROF_DICTIONARY_INTERN_H
#define PPROF_DICTIONARY_INTERN_H

#include "pprof/dictionary/dictionary.h"

struct intern;

/* For an empty dictionary. */
struct intern *intern_new(struct dictionary *d);
void intern_free(struct intern *in);
size_t intern_memory(const struct intern *in);

/* From now on it is about p, a decoded profile. */
void intern_begin(struct intern *in, const struct pprof *p);

/* A text of the profile; false: it has none of that number. */
bool intern_string(struct intern *in, uint64_t string, uint32_t *out);

/* A sample's stack and labels; `likely` may be any number. */
uint32_t intern_key(struct intern *in, size_t sample, uint32_t likely);

/* Take back the shapes that were added since the mark. */
void intern_rollback_shapes(struct intern *in, const struct dict_mark *mark);

/* Take back what was added since the mark. */
void intern_rollback(struct intern *in, const struct dict_mark *mark);

uint64_t intern_hash(const void *p, size_t size);

uint32_t intern_text(struct intern *in, uint32_t i);

#endif
