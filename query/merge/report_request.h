/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report request: the report that the parameters of a query ask for, with its
 * options.
 *
 * Ownership: texts borrow from the parameters.
 * Threads: a plain value.
 */
#ifndef QUERY_MERGE_REPORT_REQUEST_H
#define QUERY_MERGE_REPORT_REQUEST_H

#include "pprof/merge/merge.h"
#include "pprof/report/report.h"
#include "query/merge/query_merge.h"
#include "query/select/params.h"

/* How the two sides of a diff are made comparable. */
enum normalize {
	NORMALIZE_NONE,  /* they are sums, as they are */
	NORMALIZE_TOTAL, /* B is scaled to the total of A */
	/*
	 * B is scaled to the time of A: each side is divided by the time for
	 * which its series were profiled
	 */
	NORMALIZE_RATE,
	/*
	 * as suits the values, whose sum over a longer range is larger: TOTAL
	 * if they count for a time, RATE for counters, else NONE
	 */
	NORMALIZE_AUTO,
};

/* The report that the parameters of a query ask for, with its options. */
struct report_request {
	struct str name;
	/*
	 * The report that `name` selects. NULL if `name` is raw, proto, meta or
	 * pgo, which answer with profiles or metadata, not with a report, or
	 * compare, which is made of two merges.
	 */
	const struct report_type *type;
	/*
	 * True for raw, meta, and proto without filters: if the query is for a
	 * single profile, the answer is made from its stored bytes, without
	 * decoding.
	 */
	bool stored;
	bool compare; /* a comparison with error bars: only of two sides */
	bool errors;  /* a flame graph with error bars: only of two sides */
	bool single;  /* raw or meta: only a single profile can be requested */
	/*
	 * True if format=text was given; reports without a JSON form are always
	 * text.
	 */
	bool text;
	bool json;     /* true if format=json was given */
	bool one_type; /* only one sample type of the profiles is needed */
	bool ordered; /* the answer shows samples in the order of the profile */
	bool filtered; /* filters leave out some samples or frames */
	struct report_options options;
	bool label_base; /* keep the two sides of a diff apart */
	enum normalize normalize;
};

/*
 * Parse the parameters report, format, group_by, diff, normalize and all report
 * options. Returns ERR_INVALID for an unknown report or a bad option.
 */
NODISCARD int report_request_parse(struct report_request *q,
				   const struct params *p, struct err *err);

/*
 * Parse the parameters that say how the profiles of a report are merged: group_by and
 * aggregate. ERR_INVALID: there is no such way.
 */
NODISCARD int report_request_merging(const struct report_request *q,
				     const struct params *p,
				     struct query_merge_options *out,
				     struct err *err);

#endif
