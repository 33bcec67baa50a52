/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of reports that report.c chooses from: each writes a report as text,
 * DOT, JSON or a list of stacks.
 *
 * Ownership: they borrow the report, and append to the buffer of the caller.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_FORMS_H
#define PPROF_REPORT_REPORT_FORMS_H

#include "pprof/report/report.h"
#include "pprof/report/report_state.h"

/*
 * Append the text that pprof -tree prints, or pprof -peek for REPORT_PEEK.
 * ERR_INVALID: symbol is not a valid expression; ERR_NOTFOUND: symbol matches
 * nothing; ERR_LIMIT, ERR_TIMEOUT, ERR_TOOBIG.
 */
int report_tree_text(struct report *r, struct buf *out, struct err *err);

/*
 * Append the call graph in the DOT language. ERR_LIMIT, ERR_TIMEOUT,
 * ERR_TOOBIG.
 */
int report_dot(struct report *r, struct buf *out, struct err *err);

/*
 * Append the call graph as SVG, drawn by Graphviz. ERR_UNSUPPORTED: Graphviz is
 * not installed; ERR_LIMIT: too many drawings are running, or the memory budget
 * is exceeded; ERR_TIMEOUT; ERR_TOOBIG; ERR_INVALID and ERR_IO: dot failed.
 */
int report_svg(struct report *r, struct buf *out, struct err *err);

/*
 * Write the same graph as JSON: {"nodes":[{"name","file","flat","cum"}],
 * "edges":[{"from","to","weight","inline","residual"}]}, where from and to are
 * numbers of nodes. ERR_LIMIT, ERR_TIMEOUT.
 */
int report_calls_json(struct report *r, struct json *j, struct err *err);

/*
 * Append the folded stacks, sorted by text. ERR_LIMIT, ERR_TIMEOUT, ERR_TOOBIG.
 */
int report_folded(struct report *r, struct buf *out, struct err *err);

/*
 * Append a listing by function and source line, with source text where the
 * option source_root has the file. ERR_INVALID: symbol is not a valid
 * expression; ERR_NOTFOUND: symbol matches no function; ERR_LIMIT, ERR_TIMEOUT,
 * ERR_TOOBIG.
 */
int report_source(struct report *r, struct buf *out, struct err *err);

/*
 * Write the same as JSON: {"functions":[{"name","file","flat","cum","found",
 * "lines":[{"line","flat","cum","text"}]}],"more":n}; "found" says whether the
 * text of the file was found. Errors as for report_source().
 */
int report_source_json(struct report *r, struct json *j, struct err *err);

/*
 * Append the JSON document. Samples without a stack or with a value of 0 or
 * less are left out, because the format cannot show them. ERR_TIMEOUT,
 * ERR_LIMIT, ERR_TOOBIG.
 */
int report_speedscope(struct report *r, struct buf *out, struct err *err);

/*
 * Append the text that pprof -traces prints. ERR_LIMIT, ERR_TIMEOUT,
 * ERR_TOOBIG.
 */
int report_traces_text(struct report *r, struct buf *out, struct err *err);

/*
 * Keep only the stacks whose outermost frames have the names that the option
 * `under` lists. Frames have the names that the report shows, so r->nodes must
 * have been built. If no stack is kept, "under" is added to r->unmatched.
 * ERR_LIMIT, ERR_TIMEOUT: the report's limits refused to continue.
 */
NODISCARD int report_keep_under(struct report *r, struct err *err);

/*
 * Append the table that pprof -top prints. ERR_LIMIT, ERR_TIMEOUT, ERR_TOOBIG.
 */
int report_top_text(struct report *r, struct buf *out, struct err *err);

/*
 * Write the members "sample_type", "unit" and "total" into the JSON object that
 * is open in j.
 */
void report_head_json(const struct report *r, struct json *j);

/*
 * Write {"sample_type","unit","total","rows":[{"name","file","flat","cum"}]}. A
 * diff that keeps both sides apart also has "total_a" and "total_b", and
 * "flat_a" and "cum_a" in each row. ERR_LIMIT, ERR_TIMEOUT.
 */
int report_top_json(struct report *r, struct json *j, struct err *err);

#endif
