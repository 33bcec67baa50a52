/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by the labels of samples ("tags"), with the meaning of pprof's
 * options of the same names (driver_focus.go, filter.go), and the units that
 * it ascribes to numeric labels (profile.go's NumLabelUnits).
 *
 * Ownership: changes the profile it is given.
 * Threads: one thread at a time.
 */
#ifndef PPROF_FILTER_TAGFILTER_H
#define PPROF_FILTER_TAGFILTER_H

#include "base/err.h"
#include "pprof/effort.h"
#include "pprof/filter/namefilter.h"

/*
 * The unit of each key of numeric labels, by string: the first that a sample
 * gives, else one that follows from the key. PPROF_NONE: no such key.
 */
struct tag_units {
	uint32_t *unit;
	size_t count;
};

void tag_units_find(struct pprof *p, struct tag_units *out);
void tag_units_fini(struct tag_units *u);

static inline uint32_t tag_unit(const struct tag_units *u, uint32_t key)
{
	return key < u->count ? u->unit[key] : PPROF_NONE;
}

/*
 * "1kb:10kb", "key=32mb:" (a range of numbers), "regexp,regexp" (each matches
 * some "key:value"), "key=regexp,regexp" (one matches a value of key).
 * Empty ones filter nothing.
 */
struct tag_filter {
	struct str focus;  /* only samples that match */
	struct str ignore; /* no samples that match */
	struct str show;   /* regexp: labels whose key matches alone */
	struct str hide;   /* regexp: without labels whose key matches */
};

/* Drop samples by focus and ignore. ERR_INVALID names a bad expression. */
NODISCARD int filter_tags(struct pprof *p, const struct tag_filter *f,
			  const struct tag_units *units, struct no_match *none,
			  const struct effort *effort, struct err *err);

/* Drop labels by show and hide. */
NODISCARD int filter_tag_names(struct pprof *p, const struct tag_filter *f,
			       struct err *err);

#endif
