/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report request: which report the parameters of a query ask for, and with
 * which options.
 *
 * Ownership: texts borrow from the parameters.
 * Threads: a plain value.
 */
#ifndef QUERY_REPORT_REQUEST_H
#define QUERY_REPORT_REQUEST_H

#include "pprof/merge.h"
#include "pprof/report.h"
#include "query/params.h"

/* Which report a request asks for, and how. */
struct report_request {
	struct str name;
	const struct report_type *type; /* NULL: raw, proto, meta, pgo */
	bool stored; /* of one profile alone: its bytes are the answer */
	bool single; /* raw and meta: of nothing else */
	bool text;   /* format=text where there is JSON too */
	bool one_type;
	bool filtered; /* some samples or frames are to be left out */
	struct report_options options;
	struct merge_diff_options diff;
};

/* ERR_INVALID: no such report, or a bad option. */
NODISCARD int report_request_parse(struct report_request *q,
				   const struct params *p, struct err *err);

#endif
