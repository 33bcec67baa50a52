/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool report: the merged profiles of a tool's selector, or the difference of two
 * selectors, and a report of them, from which the tool takes its rows.
 *
 * Ownership: borrows the call; tool_report_close() frees everything.
 * Threads: one thread per report.
 */
#ifndef MCP_TOOLS_TOOL_REPORT_H
#define MCP_TOOLS_TOOL_REPORT_H

#include "mcp/tools/tool_call.h"
#include "mcp/tools/tool_rows.h"
#include "pprof/report/report.h"
#include "query/merge/report_profile.h"

/* A report. */
struct tool_report {
	struct tool_call *call;
	bool is_diff;
	struct report_request request;
	struct query_merge_options merging;
	struct query_spec specs[2]; /* of a difference: side b, side a */
	struct query_merge merges[2];
	struct report_profile profile;
	struct report_options options;
	struct report report;
	struct str
		type; /* the sample type, and its unit, as names that can be shown */
	struct str unit;
	struct str
		shown_unit; /* in which values are shown; empty: it has no name */
};

/*
 * Merge what the arguments select, make the report of a kind, such as "top", and append
 * the first lines of the answer: the total, a link, and warnings. The caller calls tool_report_close() after success. ERR_NOTFOUND: no profile is selected,
 * and the message says when there are some; ERR_INVALID: an argument is wrong; and the
 * errors of merges and reports.
 */
NODISCARD int tool_report_open(struct tool_call *c, const char *kind,
			       bool is_diff, struct tool_report **out,
			       struct err *err);

/* Free everything. */
void tool_report_close(struct tool_report *t);

/* Return a value in the unit in which values are shown. */
double tool_report_scale(const struct tool_report *t, int64_t value);

/* Return the name of a column of values, with its unit, in the arena. */
const char *tool_report_column(const struct tool_report *t, const char *name);

/*
 * Write the report as text, in memory that the call has taken; the caller frees `out` in
 * any case. Errors of the report; ERR_LIMIT.
 */
NODISCARD int tool_report_write(struct tool_report *t, struct buf *out,
				struct err *err);

/*
 * Finish the answer: which rows there are and how much of the total they have (less than
 * 0: this makes no sense), the rows, and the facts for programs. `what` says what a row
 * is.
 */
void tool_report_end(struct tool_report *t, const struct tool_rows *rows,
		     const char *what, int64_t shown_value);

#endif
