/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeline: the totals of profiles per time step, summed over groups of series,
 * so that clients can draw them as graphs. It is computed from chunk metadata
 * and the totals in memory; no profile is read.
 *
 * Ownership: timeline_fini() frees everything; the options are borrowed.
 * Threads: one thread per timeline.
 */
#ifndef QUERY_HISTORY_TIMELINE_H
#define QUERY_HISTORY_TIMELINE_H

#include "base/json.h"
#include "base/limits.h"
#include "base/table.h"
#include "base/vec.h"
#include "pprof/merge/aggregate.h"
#include "query/history/buckets.h"
#include "query/select/coverage.h"
#include "query/select/time_steps.h"
#include "tsdb/query/querier.h"

enum {
	/* Largest number of steps, as in Prometheus. */
	TIMELINE_POINTS_MAX = 11000,
	/*
	 * Rates know what of profiles that began so long before the range is in
	 * it: the longest interval of the eBPF collector.
	 */
	TIMELINE_REACH_MS = 10 * 60 * 1000,
};

/* The time range, the steps, and how series are grouped. */
struct timeline_options {
	int64_t from; /* start of the range, in ms */
	int64_t to;   /* end of the range, in ms, inclusive */
	int64_t step_ms;
	/*
	 * Names of the labels by which series are grouped, separated by commas;
	 * empty: each series is a group.
	 */
	struct str group_by;
	/* Whether to divide sums by time, giving values per second. */
	bool rate;
	/*
	 * Whether a step has the mean of the values of all profiles that begin in
	 * it, whatever their series, in place of a sum. It excludes `rate` and
	 * `fill_ms`.
	 */
	bool mean;
	/*
	 * Largest gap between two profiles of a series that is filled, in ms:
	 * states and rates then have a value at each time between the profiles,
	 * and a step has the mean of its time. 0: only steps with profiles have
	 * values. Series with heartbeats also have values in other steps.
	 */
	int64_t fill_ms;
	/*
	 * Whether a gap is filled only if it is no longer than three times what
	 * mostly lies between the profiles of the series, or a minute: a target
	 * that missed more scrapes was down.
	 */
	bool fill_typical;
	/*
	 * Number of buckets for the distribution of totals, BUCKETS_MIN to
	 * BUCKETS_MAX; 0: none.
	 */
	size_t buckets;
	/* limits of the time and memory of all functions */
	struct limits limits;
};

/*
 * The values of one sample type of a group. Each array has one element per time
 * step.
 */
struct timeline_line {
	struct str name;      /* name of the sample type, as "type/unit" */
	enum value_kind kind; /* of the series that was added last */
	double *values;       /* values summed over the group's series */
	bool *known;          /* whether the step has a value */
	uint32_t *profiles; /* with `mean`: the number of profiles; else NULL */
	/* For rates: the largest share of the step that a series tells of. */
	double *covered;
	/*
	 * Of series whose values hold for a time, instead: the sum of the values
	 * times seconds, and the time of the step in which any of them is known:
	 * until its last end, from the begin of the step, and since its first
	 * begin, to the end of the step, both in seconds.
	 */
	double *held;
	double *held_until;
	double *held_since;
	/* Distribution of the totals; not used for counters. */
	struct buckets buckets;
	/*
	 * The members from here to the end are scratch, for the series that is
	 * being added. `sum` and `count`: per step, the sum of the totals and
	 * the number of totals in it. `seconds`: the time in the step of which
	 * the totals tell.
	 */
	double *sum;
	uint32_t *count;
	double *seconds;
	/* From when to when in the step values hold, in seconds. */
	double *first;
	double *end;
	int64_t last; /* total of the previous profile of the series */
	bool has_last;
	/* The steps to which something was added; `end_step` 0: none. */
	size_t first_step;
	size_t end_step;
};

/* All series that have the same values of the group_by labels. */
struct timeline_group {
	/* Values of the group_by labels; NULL: the series have none of them. */
	struct labels *labels;
	VEC(struct timeline_line) lines;
	struct table index; /* finds lines by the hash of their names */
};

/* A timeline under construction. */
struct timeline {
	const struct timeline_options *o;
	struct time_steps steps;
	VEC(struct timeline_group) groups;
	struct table index;    /* finds groups by the hash of their labels */
	struct arena text;     /* memory for the texts of line names */
	struct typeset *types; /* scratch: type set of the current profiles */
	/*
	 * Scratch: for each sample type in `types`, the index of the group's
	 * line.
	 */
	VEC(uint32_t) places;
	/*
	 * Scratch: the largest gap of the series that is filled, and what mostly
	 * lies between its profiles (0: not asked for), in ms.
	 */
	int64_t fill_ms;
	int64_t spacing_ms;
	/* Scratch: whether any profile of the series has a duration. */
	bool is_timed;
	size_t memory; /* bytes of all groups and lines, without buckets */
	struct growth_meter meter; /* counts `memory` and work for the limits */
	/* Whether timeline_add() counts totals in buckets. */
	bool counting;
	/*
	 * Whether any series was left out because it needed a new group and
	 * `admit` was false.
	 */
	bool left_out;
};

/*
 * Begin a timeline. Returns ERR_INVALID when the step is not positive or the
 * range has more than TIMELINE_POINTS_MAX steps.
 */
NODISCARD int timeline_init(struct timeline *t,
			    const struct timeline_options *o, struct err *err);

/*
 * Return the range whose profiles decide about the values: with rates or `fill`,
 * profiles before and after the range of the timeline reach into it.
 */
void timeline_range(const struct timeline_options *o, int64_t *from,
		    int64_t *to);

/*
 * Return the value of a step of a line, which is known: the values of its series
 * added up. Series that are known for a part of the step have the mean of this
 * part, if they are known for the same part; if one begins where another ends,
 * they have the mean of the step.
 */
double timeline_line_value(const struct timeline *t,
			   const struct timeline_line *l, size_t at);

/* Free the timeline. */
void timeline_fini(struct timeline *t);

/*
 * Add the totals of one series; those outside of the range count for what
 * reaches into it. `node` tells when its machine was sampled; NULL: only the
 * profiles tell. `admit` allows the creation of a new group; without it, a
 * series that would need a new group is left out, and t->left_out is set. A
 * series of which nothing is in the range is left out. Returns the errors of
 * decoding labels and type sets, and those of the limits; after an error, the
 * timeline can only be freed.
 */
NODISCARD int timeline_add(struct timeline *t, struct labels *labels,
			   const struct totals_view *view,
			   const struct coverage_node *node, bool admit,
			   struct err *err);

/*
 * Begin to fill the buckets, after asking the limits for their memory. Every
 * series must then be passed to timeline_add() a second time, which counts its
 * totals. Errors as for limits_spend().
 */
NODISCARD int timeline_begin_counting(struct timeline *t, struct err *err);

/*
 * Write all groups, in label order, as
 * [{"labels":{},"timestamps":[],"totals":{},"kinds":{}}], each with a member
 * "covered":{} for rates, and "buckets":{} if buckets were requested. Errors as
 * for limits_spend(); the JSON is then incomplete.
 */
NODISCARD int timeline_json(struct timeline *t, struct json *j,
			    struct err *err);

#endif
