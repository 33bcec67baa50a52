/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeline: the totals of profiles over time, in steps, summed over series by
 * labels. It is what the graph above the profiles shows. It needs only chunk
 * metadata and the totals in memory; no profile is read.
 *
 * Ownership: timeline_fini() frees everything; the options are borrowed.
 * Threads: one thread a timeline.
 */
#ifndef QUERY_TIMELINE_H
#define QUERY_TIMELINE_H

#include "base/json.h"
#include "base/table.h"
#include "base/vec.h"
#include "pprof/aggregate.h"
#include "tsdb/querier.h"

enum {
	TIMELINE_POINTS_MAX = 11000, /* steps a series, as in Prometheus */
};

/* What to add up. */
struct timeline_options {
	int64_t from; /* ms */
	int64_t to;   /* ms, inclusive */
	int64_t step_ms;
	/* Label names, separated by commas; empty: each series is a group. */
	struct str group_by;
	bool rate; /* per second instead of per step */
};

/*
 * One sample type of a group over all steps. Each array has one element per
 * step.
 */
struct timeline_line {
	struct str name; /* "type/unit" */
	enum value_kind kind;
	double *values; /* the result, summed over series */
	bool *known;    /* whether the step has any profile */
	/* Scratch fields of the series that is being added. */
	double *sum;
	uint32_t *count;
	double *seconds; /* profiled seconds, for rates of flows */
	int64_t last;    /* the total of the row before */
	bool has_last;
	size_t first_step; /* the first step in which the series has rows */
	size_t end_step;   /* the step behind the last one; 0: no rows */
};

/* All series that agree on the labels to group by. */
struct timeline_group {
	struct labels *labels; /* NULL: the series have none of those labels */
	VEC(struct timeline_line) lines;
};

/* A timeline under construction. */
struct timeline {
	const struct timeline_options *o;
	size_t points; /* number of steps */
	VEC(struct timeline_group) groups;
	struct table index;    /* of groups, by the hash of their labels */
	struct arena text;     /* names of lines */
	struct typeset *types; /* scratch: the type set of a row */
	VEC(uint32_t) places;  /* scratch: the line of each of its types */
	size_t memory;         /* bytes of groups and lines, for accounting */
};

/*
 * Begin a timeline. Returns ERR_INVALID when the step is not positive or the
 * range has more than TIMELINE_POINTS_MAX steps.
 */
NODISCARD int timeline_init(struct timeline *t,
			    const struct timeline_options *o, struct err *err);

/* Free the timeline. */
void timeline_fini(struct timeline *t);

/*
 * Add the totals of one series. `admit` says whether a new group may be
 * created; without it a series that needs one is left out silently. Returns
 * ERR_* of decoding labels or a type set.
 */
NODISCARD int timeline_add(struct timeline *t, struct labels *labels,
			   const struct totals_view *view, bool admit,
			   struct err *err);

/*
 * Write all groups, in label order, as
 * [{"labels":{},"timestamps":[],"totals":{},"kinds":{}}].
 */
void timeline_json(struct timeline *t, struct json *j);

#endif
