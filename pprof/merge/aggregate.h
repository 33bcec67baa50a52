/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate: how the values of several profiles of one series are combined when
 * they are merged. A sum is not always meaningful: memory in use is averaged,
 * and counts since process start are combined as the last value minus the
 * first.
 *
 * Threads: pure functions, callable from any thread.
 */
#ifndef PPROF_MERGE_AGGREGATE_H
#define PPROF_MERGE_AGGREGATE_H

#include "base/err.h"
#include "model/types.h"

/* The ways to combine the values of a sample type. */
enum aggregate {
	AGGREGATE_AUTO,  /* chosen by the kind: see aggregate_of() */
	AGGREGATE_SUM,   /* sum of all profiles */
	AGGREGATE_DELTA, /* last profile minus the first */
	AGGREGATE_MEAN,  /* mean of all profiles */
	AGGREGATE_LAST,  /* the last profile alone */
};

/* What the values of a sample type measure. */
enum value_kind {
	KIND_FLOW,    /* events during the profile; by default summed */
	KIND_COUNTER, /* counts since process start; default: last - first */
	KIND_STATE,   /* a level at one moment; by default averaged */
};

/*
 * Parse the name of an aggregate; an empty string is AGGREGATE_AUTO.
 * ERR_INVALID: no aggregate has this name.
 */
NODISCARD int aggregate_parse(struct str s, enum aggregate *out,
			      struct err *err);

/*
 * Return the kind of a sample type. Profiles do not record the kind. It is
 * derived from the type's name, because Go's runtime, pprof and gperftools
 * always use the same names (docs/decisions.md, 34). `per_interval`: the profile
 * has a duration, or is known to count since the profile before. Its counts
 * then cover only that time, so they are flows and not counters.
 */
enum value_kind value_kind(struct str type, bool per_interval);

/* Return "flow", "counter" or "state", a static string. */
const char *value_kind_name(enum value_kind k);

/*
 * Return the aggregate for values of kind k: `asked`, or the default of the
 * kind if `asked` is AGGREGATE_AUTO. Never returns AGGREGATE_AUTO.
 */
enum aggregate aggregate_of(enum aggregate asked, enum value_kind k);

/* Return whether flows are summed. */
bool aggregate_sums_flows(enum aggregate asked);

/*
 * Return whether any counter decreased from the earlier profile to the later
 * one, which means that the program restarted in between. `before` and `after`
 * are the totals of the two profiles. The arrays have `count` elements, one for
 * each sample type.
 */
bool aggregate_restarted(const enum value_kind *kinds, const int64_t *before,
			 const int64_t *after, size_t count);

#endif
