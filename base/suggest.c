/* SPDX-License-Identifier: Apache-2.0 */
/* Similarity of names by edit distance, for "did you mean" messages. */
#include "base/suggest.h"

#include <stdlib.h>

/* Maximum length of names that are compared. */
#define LEN_MAX 64

/* Dashes, dots and underscores are easily confused, so they count as equal. */
static char suggest_normalize(char c)
{
	if (c == '-' || c == '_')
		return '.';
	return c;
}

static size_t suggest_min_of(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/*
 * The Levenshtein distance between two names: the number of edits that turn one
 * into the other. Of the usual table, with the distances between all beginnings
 * of the two names, only the current row is kept.
 */
static size_t distance_of(struct str a, struct str b)
{
	size_t row[LEN_MAX + 1];

	for (size_t k = 0; k <= b.len; k++)
		row[k] = k;
	for (size_t i = 0; i < a.len; i++) {
		size_t before = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < b.len; k++) {
			size_t above = row[k + 1];
			bool same = suggest_normalize(a.ptr[i]) ==
				    suggest_normalize(b.ptr[k]);

			row[k + 1] = suggest_min_of(above + 1, row[k] + 1,
						    before + !same);
			before = above;
		}
	}
	return row[b.len];
}

void suggest_nearest(struct suggestion *s, struct str typed, const char *name)
{
	struct str have = str_of(name);
	size_t distance;

	if (typed.len > LEN_MAX || have.len > LEN_MAX)
		return;
	distance = distance_of(typed, have);
	/*
	 * A name is similar if at most a third of it has to be edited. A typed
	 * text that is the beginning of a name counts as one edit, however much
	 * is missing.
	 */
	if (typed.len >= 3 && str_starts(have, typed))
		distance = 1;
	if (distance > have.len / 3 || (s->best && distance >= s->distance))
		return;
	s->best = name;
	s->distance = distance;
}
