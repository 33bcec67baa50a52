/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report request: the report that the parameters of a query ask for, with its
 * options.
 *
 * Ownership: texts borrow from the parameters.
 * Threads: a plain value.
 */
#ifndef QUERY_REPORT_REQUEST_H
#define QUERY_REPORT_REQUEST_H

#include "pprof/merge.h"
#include "pprof/report.h"
#include "query/params.h"

/* A report as requested by the parameters of a query. */
struct report_request {
	struct str name;
	/* Type of the report; NULL: raw, proto, meta or pgo. */
	const struct report_type *type;
	bool stored;   /* for a single profile, answer with the bytes stored */
	bool single;   /* raw or meta: profiles cannot be merged for it */
	bool text;     /* format=text; reports without JSON are text anyway */
	bool one_type; /* values of only one sample type are needed */
	bool filtered; /* filters leave out some samples or frames */
	struct report_options options;
	/* Options for showing the two sides of a diff. */
	struct merge_diff_options diff;
};

/*
 * Parse the parameters report, format, group_by, diff, normalize and all report
 * options. Returns ERR_INVALID for an unknown report or a bad option.
 */
NODISCARD int report_request_parse(struct report_request *q,
				   const struct params *p, struct err *err);

#endif
