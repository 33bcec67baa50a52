/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/aggregate.h"

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
		"aggregate is auto, sum, delta, mean or last, not \"%.*s\"",
		STR_ARG(s));
}

enum value_kind value_kind(struct str type, bool has_duration)
{
	static const char *const states[] = {
		"goroutine", "goroutines", "threadcreate", "thread",
		"threads",   "space",      "objects",
	};

	if (str_starts(type, str_of("inuse_")))
		return KIND_STATE;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (str_is(type, states[i]))
			return KIND_STATE;
	}
	if (has_duration)
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

static enum aggregate resolve(enum aggregate a, enum value_kind k)
{
	if (a != AGGREGATE_AUTO)
		return a;
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

/* What a process counted, less what it had counted before the range. */
static enum merge_op delta_op(const struct series_place *at)
{
	bool first = !at->index;
	bool last = at->index + 1 == at->count || at->restarts_next;

	if (first == last)
		return MERGE_SKIP;
	return last ? MERGE_ADD : MERGE_SUBTRACT;
}

enum merge_op aggregate_op(enum aggregate a, enum value_kind k,
			   const struct series_place *at)
{
	switch (resolve(a, k)) {
	case AGGREGATE_DELTA:
		return delta_op(at);
	case AGGREGATE_MEAN:
		return MERGE_AVERAGE;
	case AGGREGATE_LAST:
		return at->index + 1 == at->count ? MERGE_ADD : MERGE_SKIP;
	case AGGREGATE_AUTO:
	case AGGREGATE_SUM:
		break;
	}
	return MERGE_ADD;
}

bool aggregate_restarted(const enum value_kind *kinds, const int64_t *before,
			 const int64_t *after, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (kinds[i] == KIND_COUNTER && after[i] < before[i])
			return true;
	}
	return false;
}
