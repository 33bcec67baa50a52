/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregate: what of each profile of a series goes into a merge. Summing 240
 * snapshots of a heap says nothing; what happened is the last count less the
 * first, and what was in use is their mean.
 *
 * Ownership: keeps nothing.
 * Threads: pure functions.
 */
#ifndef PPROF_AGGREGATE_H
#define PPROF_AGGREGATE_H

#include "base/err.h"
#include "model/types.h"

enum aggregate {
	AGGREGATE_AUTO, /* by the kind of each sample type */
	AGGREGATE_SUM,
	AGGREGATE_DELTA,
	AGGREGATE_MEAN,
	AGGREGATE_LAST,
};

/* What the values of a sample type are. */
enum value_kind {
	KIND_FLOW,    /* what happened during the profile: summed */
	KIND_COUNTER, /* counts up since the start: last - first */
	KIND_STATE,   /* how it is at a moment: mean */
};

/* Nothing is auto. ERR_INVALID: there is no such aggregate. */
NODISCARD int aggregate_parse(struct str s, enum aggregate *out,
			      struct err *err);

/*
 * By the names that Go's runtime, pprof and gperftools use. has_duration: the
 * profile says how long it took, so that its counts are of that time alone.
 */
enum value_kind value_kind(struct str type, bool has_duration);

const char *value_kind_name(enum value_kind k);

/* What becomes of many values of that kind in a series; never AUTO. */
enum aggregate aggregate_of(enum aggregate asked, enum value_kind k);

/*
 * Whether the program was started anew between two profiles with these
 * totals: a counter went down.
 */
bool aggregate_restarted(const enum value_kind *kinds, const int64_t *before,
			 const int64_t *after, size_t count);

#endif
