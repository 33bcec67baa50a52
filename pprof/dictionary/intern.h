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

/* Hash of a block of memory, for the hash tables of the interner. */
uint64_t intern_hash(const void *p, size_t size);

/*
 * Find or add string i of the current profile, which must exist, and return its
 * number in the dictionary.
 */
uint32_t intern_text(struct intern *in, uint32_t i);

#endif
