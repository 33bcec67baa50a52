/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate: how the values of several profiles of one series are combined when
 * they are merged. Summing 240 snapshots of a heap is meaningless; allocations
 * since the start are combined as the last value minus the first, memory in use
 * as a mean.
 *
 * Ownership: keeps no data.
 * Threads: pure functions, callable from any thread.
 */
#ifndef PPROF_AGGREGATE_H
#define PPROF_AGGREGATE_H

#include "base/err.h"
#include "model/types.h"

/* The ways to combine the values of a sample type. */
enum aggregate {
	AGGREGATE_AUTO,  /* chosen by the kind of each sample type */
	AGGREGATE_SUM,   /* sum of all profiles */
	AGGREGATE_DELTA, /* last profile minus the first */
	AGGREGATE_MEAN,  /* mean of all profiles */
	AGGREGATE_LAST,  /* the last profile alone */
};

/* What the values of a sample type measure. */
enum value_kind {
	KIND_FLOW,    /* events during the profile: summed */
	KIND_COUNTER, /* counts since process start: last - first */
	KIND_STATE,   /* a level at one moment: mean */
};

/*
 * Parses the name of an aggregate; an empty string is AGGREGATE_AUTO.
 * ERR_INVALID: there is no such aggregate.
 */
NODISCARD int aggregate_parse(struct str s, enum aggregate *out,
			      struct err *err);

/*
 * Returns the kind of a sample type, judged by its name: profiles do not say
 * it, so the names that Go's runtime, pprof and gperftools use decide
 * (docs/decisions.md, 34). has_duration: the profile has a duration, so its
 * counts cover that time only and are no counters.
 */
enum value_kind value_kind(struct str type, bool has_duration);

/* Returns "flow", "counter" or "state", a static string. */
const char *value_kind_name(enum value_kind k);

/*
 * Returns how values of kind k are combined if `asked` was requested: that
 * aggregate, or the default of the kind for AGGREGATE_AUTO. The result is never
 * AGGREGATE_AUTO.
 */
enum aggregate aggregate_of(enum aggregate asked, enum value_kind k);

/*
 * Returns whether the program restarted between two profiles with these totals,
 * that is whether a counter decreased. The arrays have count elements, one for
 * each sample type.
 */
bool aggregate_restarted(const enum value_kind *kinds, const int64_t *before,
			 const int64_t *after, size_t count);

#endif
