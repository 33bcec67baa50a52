/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggest: of the names that there are, the one that was probably meant.
 *
 * Ownership: returns a borrowed candidate.
 * Threads: pure functions.
 */
#ifndef CMD_SUGGEST_H
#define CMD_SUGGEST_H

#include "base/bytes.h"

/* The zero value has seen nothing. */
struct suggestion {
	const char *best; /* borrowed; NULL: nothing is like it */
	size_t distance;
};

/* Consider a name for what was typed. */
void suggest_nearest(struct suggestion *s, struct str typed, const char *name);

#endif
