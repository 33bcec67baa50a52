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

enum {
	/* Labels after the first ones of a sample do not count … */
	LABEL_VIEW_LABELS_MAX = 128,
	/* … nor do longer names and values, in bytes. */
	LABEL_VIEW_BYTES_MAX = 2048
};

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
 * Set *name and *value to label number `i`, if it is one that a series could have: a
 * text, of UTF-8, and not too long. False: it is none, or there is no such label.
 */
bool label_view_get(const struct label_view *v, uint32_t i, struct str *name,
		    struct str *value);

/* Return the number of labels that label_view_get() may have. */
static inline uint32_t label_view_count(const struct label_view *v)
{
	return v->count < LABEL_VIEW_LABELS_MAX ? v->count :
						  LABEL_VIEW_LABELS_MAX;
}

/*
 * Return the value of the first such label with this key; empty: there is none.
 */
struct str label_view_text(const struct label_view *v, struct str key);

/*
 * Return whether all matchers match; a label that is missing is empty. Adds the work
 * that this took to *work, for limits_meter().
 */
bool label_view_match(const struct label_view *v, const struct matcher *m,
		      size_t count, size_t *work);

#endif
