/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by the labels of samples ("tags"), with the meaning of pprof's
 * options of the same names (driver_focus.go, filter.go), and the units of
 * numeric labels, as pprof infers them (profile.go's NumLabelUnits).
 *
 * Ownership: changes the profile that it is given.
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_TAGFILTER_H
#define PPROF_FILTER_TAGFILTER_H

#include "base/err.h"
#include "pprof/filter/namefilter.h"
#include "pprof/limits.h"

/*
 * The unit of each key of numeric labels, as a string of the profile, indexed
 * by the key's string: the first unit that a sample gives, else one inferred
 * from the key. PPROF_NONE: no numeric label has this key.
 */
struct tag_units {
	uint32_t *unit;
	size_t count;
};

/*
 * Fills *out with the units of p's labels. May add a string to p, whose strings
 * must be interned. The caller frees *out with tag_units_fini().
 */
void tag_units_find(struct pprof *p, struct tag_units *out);

/* Frees the units and leaves them empty. */
void tag_units_fini(struct tag_units *u);

/* Returns the unit of a key, or PPROF_NONE. */
static inline uint32_t tag_unit(const struct tag_units *u, uint32_t key)
{
	return key < u->count ? u->unit[key] : PPROF_NONE;
}

/*
 * The filters; an empty one filters nothing. focus and ignore are a range of
 * numbers, "1kb:10kb" or "key=32mb:"; or expressions: "regexp,regexp" matches
 * if each expression matches some "key:value", "key=regexp,regexp" if one of
 * them matches a value of the key.
 */
struct tag_filter {
	struct str focus;  /* keep only samples that match */
	struct str ignore; /* drop samples that match */
	struct str show;   /* regexp: keep only labels whose key matches */
	struct str hide;   /* regexp: drop labels whose key matches */
};

/*
 * Drops samples by focus and ignore, and adds the filters without any match to
 * *none. ERR_INVALID: an expression is malformed, and the message names the
 * filter; ERR_LIMIT, ERR_TIMEOUT: the limits refused.
 */
NODISCARD int filter_tags(struct pprof *p, const struct tag_filter *f,
			  const struct tag_units *units, struct no_match *none,
			  const struct limits *limits, struct err *err);

/* Drops labels by show and hide. ERR_INVALID: an expression is malformed. */
NODISCARD int filter_tag_names(struct pprof *p, const struct tag_filter *f,
			       struct err *err);

#endif
