/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the name that a user probably meant by a mistyped name (Levenshtein
 * distance), for messages like "did you mean".
 *
 * Ownership: a suggestion borrows the name it found.
 * Threads: pure functions.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/bytes.h"

/* The best candidate so far. The zero value has no candidate yet. */
struct suggestion {
	const char *best; /* borrowed; NULL: nothing is similar */
	/* number of edits between `best` and the typed name */
	size_t distance;
};

/*
 * Compare one candidate, `name`, with the typed name, and keep the candidate if
 * it is similar enough and better than the best so far.
 */
void suggest_nearest(struct suggestion *s, struct str typed, const char *name);

#endif
