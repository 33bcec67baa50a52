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
#include "base/limits.h"
#include "pprof/filter/namefilter.h"

/*
 * The units of numeric labels: unit[k] is the unit of the key k; key and unit
 * are indexes of strings of the profile. The unit is the first unit that a
 * label with this key has or, if no label has a unit, a unit chosen by the name
 * of the key. PPROF_NONE: no numeric label has this key.
 */
struct tag_units {
	uint32_t *unit;
	size_t count;
};

/*
 * Fill *out with the units of p's labels. May add a string to p. The strings
 * of p must be interned: each text occurs once. The caller frees *out with
 * tag_units_fini().
 */
void tag_units_find(struct pprof *p, struct tag_units *out);

/* Free the units and leave them empty. */
void tag_units_fini(struct tag_units *u);

/* Return the unit of a key as the index of a string, or PPROF_NONE. */
static inline uint32_t tag_unit(const struct tag_units *u, uint32_t key)
{
	return key < u->count ? u->unit[key] : PPROF_NONE;
}

/*
 * The filters by label; an empty text filters nothing. `focus` and `ignore` are
 * either a range of numbers, such as "1kb:10kb" or "key=32mb:", or regular
 * expressions: "regexp,regexp" matches a sample if each expression matches the
 * text "key:value" of some label, and "key=regexp,regexp" if at least one
 * expression matches a value of this key.
 */
struct tag_filter {
	struct str focus;  /* keep only samples that match */
	struct str ignore; /* drop samples that match */
	struct str show;   /* regexp: keep only labels whose key matches */
	struct str hide;   /* regexp: drop labels whose key matches */
};

/*
 * Apply the filters `focus` and `ignore`, which drop samples, and add to
 * *none the filters that matched nothing. ERR_INVALID: an expression is
 * malformed or takes too many steps, and the message names the filter;
 * ERR_LIMIT, ERR_TIMEOUT: as for limits_spend().
 */
NODISCARD int filter_tags(struct pprof *p, const struct tag_filter *f,
			  const struct tag_units *units, struct no_match *none,
			  const struct limits *limits, struct err *err);

/*
 * Apply the filters `show` and `hide`, which drop labels. ERR_INVALID: an
 * expression is malformed or takes too many steps; ERR_LIMIT, ERR_TIMEOUT: as for
 * limits_spend(). After an error, the caller must not use `p`.
 */
NODISCARD int filter_tag_names(struct pprof *p, const struct tag_filter *f,
			       const struct limits *limits, struct err *err);

#endif
