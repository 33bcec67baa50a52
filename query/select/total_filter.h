/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Total filter: selects profiles by their total of one sample type, for example
 * those with the largest totals. Totals are in memory; no profile is read.
 *
 * Ownership: the filter borrows the text of its parameter; total_rows_fini()
 * frees a list of rows.
 * Threads: one thread per query.
 */
#ifndef QUERY_SELECT_TOTAL_FILTER_H
#define QUERY_SELECT_TOTAL_FILTER_H

#include "query/select/params.h"
#include "query/select/query_work.h"
#include "tsdb/query/querier.h"

/* Which totals are wanted, in the unit of the sample type. */
struct total_filter {
	bool set; /* false: all profiles are wanted */
	int64_t min;
	int64_t max;  /* inclusive */
	bool outside; /* whether totals outside of the range are wanted */
	/* Name or number of the sample type; empty: the default type. */
	struct str sample_index;
};

/*
 * Parse total_min, total_max and total_outside, whose names end in `suffix` (""
 * or, in a diff, "_a" or "_b"), and sample_index. ERR_INVALID: a number is
 * malformed, or the range is empty.
 */
NODISCARD int total_filter_parse(struct total_filter *f, const struct params *p,
				 const char *suffix, struct err *err);

/*
 * Where the filter's sample type is in the profiles of one series; filled in by
 * total_filter_select().
 */
struct total_column {
	/*
	 * The sample types of the profile that was looked at last; NULL: none
	 * yet.
	 */
	struct typeset *types;
	uint32_t typeset;  /* index of these types in the view */
	size_t index;      /* index of the filter's type in `types` */
	bool per_interval; /* querier_counts_interval() of the profile */
};

/* Free the column. It can be used again, for the next series. */
void total_column_fini(struct total_column *c);

/*
 * Set *wanted to whether the filter selects row number `row` of `v`. The caller
 * zeroes *c before the first row of a series. ERR_INVALID: there is no such
 * sample type, or it is a counter, whose totals mostly say how old the process
 * is.
 */
NODISCARD int total_filter_select(const struct total_filter *f,
				  struct total_column *c,
				  const struct totals_view *v, size_t row,
				  bool *wanted, struct err *err);

/* The rows that a filter selects. */
struct total_rows {
	struct totals_row *v;
	struct query_work *work; /* the query that took the memory of `v` */
	int64_t taken;
};

/*
 * Reduce a view to the rows that the filter selects. The view then borrows from
 * `rows`, which the caller frees, also after an error. Errors as for
 * total_filter_select(), and ERR_LIMIT when the memory budget is used up.
 */
NODISCARD int total_filter_reduce(const struct total_filter *f,
				  struct query_work *work,
				  struct totals_view *v,
				  struct total_rows *rows, struct err *err);

/*
 * Make room for `count` rows, with the memory that the query `work` takes. ERR_LIMIT:
 * the memory budget is used up; there is no room then.
 */
NODISCARD int total_rows_make(struct total_rows *rows, struct query_work *work,
			      size_t count, struct err *err);

/* Free the rows, and return their memory to the budget. */
void total_rows_fini(struct total_rows *rows);

#endif
