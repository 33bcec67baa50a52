/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer a query with a report of what was gathered for it.
 */
#ifndef WEB_ANSWER_REPORT_H
#define WEB_ANSWER_REPORT_H

#include "pprof/merge.h"
#include "pprof/report.h"
#include "web/gather.h"

/* Which report a request asks for, and how. */
struct report_query {
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
NODISCARD int report_query_parse(struct report_query *q,
				 const struct request *r, struct err *err);

/* base: subtracted from source; NULL: there is none. */
NODISCARD int answer_report(const struct report_query *q, struct gather *source,
			    struct gather *base, struct err *err);

#endif
