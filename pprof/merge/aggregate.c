/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/merge/aggregate.h"

/* Names of aggregates, as in URLs and on the command line. */
static const char *const names[] = {
	[AGGREGATE_AUTO] = "auto",   [AGGREGATE_SUM] = "sum",
	[AGGREGATE_DELTA] = "delta", [AGGREGATE_MEAN] = "mean",
	[AGGREGATE_LAST] = "last",
};

int aggregate_parse(struct str s, enum aggregate *out, struct err *err)
{
	*out = AGGREGATE_AUTO;
	for (size_t i = 0; s.len && i < ARRAY_SIZE(names); i++) {
		if (str_is(s, names[i])) {
			*out = (enum aggregate)i;
			return 0;
		}
	}
	if (!s.len)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"aggregate must be auto, sum, delta, mean or last, not \"%.*s\"",
		STR_ARG(s));
}

/*
 * The types that are states, such as inuse_*, are checked before the duration:
 * a profile of a state may have a duration, too, but must not be summed
 * (docs/decisions.md, 34).
 */
enum value_kind value_kind(struct str type, bool per_interval)
{
	static const char *const states[] = {
		"goroutine", "goroutines", "goroutineleak", "threadcreate",
		"thread",    "threads",    "space",         "objects",
		"live",      "heap-space",
	};

	if (str_starts(type, str_of("inuse_")) ||
	    str_starts(type, str_of("heap-live-")))
		return KIND_STATE;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (str_is(type, states[i]))
			return KIND_STATE;
	}
	/* All other types count what happened during the interval. */
	if (per_interval)
		return KIND_FLOW;
	if (str_starts(type, str_of("alloc_")) || str_is(type, "contentions") ||
	    str_is(type, "delay"))
		return KIND_COUNTER;
	return KIND_FLOW;
}

const char *value_kind_name(enum value_kind k)
{
	static const char *const kinds[] = { [KIND_FLOW] = "flow",
					     [KIND_COUNTER] = "counter",
					     [KIND_STATE] = "state" };

	return kinds[k];
}

enum aggregate aggregate_of(enum aggregate asked, enum value_kind k)
{
	if (asked != AGGREGATE_AUTO)
		return asked;
	switch (k) {
	case KIND_COUNTER:
		return AGGREGATE_DELTA;
	case KIND_STATE:
		return AGGREGATE_MEAN;
	case KIND_FLOW:
		break;
	}
	return AGGREGATE_SUM;
}

bool aggregate_sums_flows(enum aggregate asked)
{
	return aggregate_of(asked, KIND_FLOW) == AGGREGATE_SUM;
}

/*
 * Flows and states may decrease at any time, so only counters show a restart.
 */
bool aggregate_restarted(const enum value_kind *kinds, const int64_t *before,
			 const int64_t *after, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (kinds[i] == KIND_COUNTER && after[i] < before[i])
			return true;
	}
	return false;
}
