/* SPDX-License-Identifier: Apache-2.0 */
/*
 * History: how much functions weigh over time. The profiles of each time step
 * are merged, as a query for this step would merge them, and the functions are
 * looked up in the result.
 *
 * Ownership: history_fini() frees everything; the options are borrowed.
 * Threads: one thread per query.
 */
#ifndef QUERY_HISTORY_HISTORY_H
#define QUERY_HISTORY_HISTORY_H

#include "base/json.h"
#include "base/vec.h"
#include "pprof/report/report.h"
#include "query/merge/query_merge.h"

enum {
	/* Largest number of steps. */
	HISTORY_STEPS_MAX = 400,
	/* Largest number of functions, and of groups. */
	HISTORY_FUNCTIONS_MAX = 50,
};

/* Options of a history. */
struct history_options {
	/* The series; `from` and `to` are the whole time range. */
	const struct query_spec *spec;
	int64_t step_ms;
	/* Names of functions, exactly as reports show them. */
	const struct str *functions;
	size_t function_count;
	/* Number of further functions: the heaviest of the whole range. */
	size_t top;
	/* Whether the heaviest functions are those with the largest `cum`. */
	bool by_cum;
	/* Labels by which series are grouped, separated by commas, or empty. */
	struct str group_by;
	struct query_merge_options merge;
	/*
	 * Filters, and options for the names of functions; history_run() sets
	 * the limits.
	 */
	struct report_options report;
};

/* One function in one group. Arrays have one element per step. */
struct history_line {
	size_t function; /* index in history.functions */
	size_t group;
	int64_t *flat;
	int64_t *cum;
};

/* A function, and the source file in which it was seen first. */
struct history_function {
	struct str name;
	struct str file;
};

/* The series that have the same values of the group_by labels. */
struct history_group {
	struct labels *labels; /* NULL: all series are one group */
	/*
	 * By step: for how long the programs were profiled, in ns; 0: this is
	 * not known, or the values do not count for a time.
	 */
	int64_t *looked_ns;
};

/* A history. */
struct history {
	const struct history_options *o;
	struct tsdb *db;
	struct query_work *work;
	size_t steps;
	VEC(struct history_function) functions;
	VEC(struct history_group) groups;
	VEC(struct history_line) lines; /* ordered by group, then by function */
	int64_t *total;                 /* total of all groups in each step */
	size_t *profiles;               /* number of profiles in each step */
	struct arena text;
	struct str type;
	struct str unit;
	size_t groups_left_out;
	/* Error that ended the history before its last step; code 0: none. */
	struct err end;
	size_t damaged; /* number of profiles that could not be read */
	struct err damage;
};

/*
 * Compute a history. ERR_INVALID: too many steps or functions, an unknown
 * sample type, or a wrong filter; ERR_NOTFOUND: no step has a profile;
 * ERR_LIMIT: the memory budget is used up. When time runs out after the first
 * step, the rest is left out, and `end` says so. Call history_fini() on success
 * and failure alike.
 */
NODISCARD int history_run(struct history *h, struct tsdb *db,
			  struct query_work *work,
			  const struct history_options *o, struct err *err);

/*
 * Write {"sample_type","unit","timestamps":[],"total":[],"profiles":[],
 * "functions":[{"name","file","labels","flat":[],"cum":[],"seconds":[]}]}. A step
 * without profiles has null in all arrays but timestamps and profiles, and so has
 * "seconds" where the time is not known.
 */
void history_json(const struct history *h, struct json *j);

/*
 * Write at most `max` warnings to `out`, as query_merge_warnings() does.
 * Returns the number of warnings.
 */
size_t history_warnings(const struct history *h, struct arena *arena,
			const char **out, size_t max);

/* Free the history. */
void history_fini(struct history *h);

#endif
