/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graph as columns of JSON, for a browser to draw.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_FLAMEGRAPH_H
#define PPROF_REPORT_REPORT_FLAMEGRAPH_H

#include "pprof/report.h"

/*
 * Columns, depth first: "strings", "name" and "file" (of strings), "parent",
 * "self", "total_of"; of a diff with its sides apart "self_a", "total_of_a".
 */
int report_flamegraph_json(struct report *r, struct json *j, struct err *err);

#endif
