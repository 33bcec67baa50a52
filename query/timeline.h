/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeline: the totals of profiles over time, in steps, added up over series
 * by labels: the graph above the profiles. Values are never read.
 *
 * Ownership: timeline_fini() frees everything. Threads: one thread.
 */
#ifndef QUERY_TIMELINE_H
#define QUERY_TIMELINE_H

#include "base/json.h"
#include "base/table.h"
#include "base/vec.h"
#include "pprof/aggregate.h"
#include "tsdb/querier.h"

enum {
	TIMELINE_POINTS_MAX = 11000, /* as Prometheus */
};

struct timeline_options {
	int64_t from;
	int64_t to;
	int64_t step_ms;
	struct str group_by; /* labels by commas; empty: each series alone */
	bool rate;           /* what happened, by the second */
};

/* A sample type of a group, over the steps. */
struct timeline_line {
	struct str name; /* "type/unit" */
	enum value_kind kind;
	double *values;
	bool *known; /* by step: some profile is in it */
	/* Of the series that is being added: by step, and between rows. */
	double *sum;
	uint32_t *count;
	double *seconds; /* that profiles of a flow covered */
	int64_t last;    /* the total of the row before */
	bool has_last;
	size_t first_step; /* where the series has rows: … */
	size_t end_step;   /* … up to here; 0: none */
};

struct timeline_group {
	struct labels *labels; /* NULL: none of those to group by is there */
	VEC(struct timeline_line) lines;
};

struct timeline {
	const struct timeline_options *o;
	size_t points;
	VEC(struct timeline_group) groups;
	struct table index; /* of groups, by their labels */
	struct arena text;
	struct typeset *types;
	VEC(uint32_t) places; /* lines of the types of a row */
	size_t memory;        /* bytes of all */
};

/* ERR_INVALID: too many points, a step of 0. */
NODISCARD int timeline_init(struct timeline *t,
			    const struct timeline_options *o, struct err *err);
void timeline_fini(struct timeline *t);

/* admit: whether one group more may be there; else the series is left out. */
NODISCARD int timeline_add(struct timeline *t, struct labels *labels,
			   const struct totals_view *view, bool admit,
			   struct err *err);

/* [{"labels":{},"timestamps":[],"totals":{},"kinds":{}}], in order of labels */
void timeline_json(struct timeline *t, struct json *j);

#endif
