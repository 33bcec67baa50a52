/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label view: the labels of a sample, of a profile in memory or of a dictionary.
 *
 * Ownership: borrows everything.
 * Threads: a plain value; a regular expression belongs to one thread.
 */
#ifndef PPROF_PROFILE_LABEL_VIEW_H
#define PPROF_PROFILE_LABEL_VIEW_H

#include "model/matcher.h"
#include "pprof/profile/profile.h"

/* A set of labels. */
struct label_view {
	const struct strtab *strings; /* to which the labels refer */
	const struct pprof_label *labels;
	uint32_t count;
};

/* Return a set of labels of a profile. */
static inline struct label_view label_view_of(const struct pprof *p,
					      uint32_t set)
{
	struct pprof_run run = p->label_sets.v[set];

	return (struct label_view){ &p->strings, p->labels.v + run.first,
				    run.count };
}

/*
 * Return the value of the first text label with this key; empty: there is none.
 */
struct str label_view_text(const struct label_view *v, struct str key);

/* Return whether all matchers match; a label that is missing is empty. */
bool label_view_matches(const struct label_view *v, const struct matcher *m,
			size_t count);

#endif
