/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph as columns of JSON, for a browser to draw.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_FLAMEGRAPH_H
#define PPROF_REPORT_REPORT_FLAMEGRAPH_H

#include "pprof/compare/compare.h"
#include "pprof/report/report.h"

/*
 * Write an object of columns, which have one element per tree node, in
 * depth-first order: "name", "file" and "binary" (indexes in "strings"),
 * "parent" (index of the parent node; -1 for the root), "inlined", and "self"
 * and "total_of" (weight without and with the weight of the frames called). A
 * diff that keeps both sides apart also has "self_a" and "total_of_a", the
 * values in the base. "left_out" says what max_nodes left out. With the option
 * pivot, "callers" is a second tree. ERR_LIMIT, ERR_TIMEOUT.
 */
int report_flamegraph_json(struct report *r, struct json *j, struct err *err);

/*
 * Write the flame graph of a comparison, whose samples are those of r->p: its
 * columns as for a diff, where the new side is scaled to the total of the base if
 * shares are compared, and else to its time, and for each tree "interval" (half of
 * the 95 % interval of the difference, in the unit of the values; null: not tested)
 * and "sure" (1: the difference is not chance); then why not to trust it, as
 * compare_json() does. Changes `c`. ERR_LIMIT, ERR_TIMEOUT.
 */
int report_flamegraph_errors(struct report *r, struct compare *c,
			     struct json *j, struct err *err);

#endif
