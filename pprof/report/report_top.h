/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Top: functions by what they weigh, as text and as JSON.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_TOP_H
#define PPROF_REPORT_REPORT_TOP_H

#include "pprof/report.h"

/* What pprof -top, -tree (and -peek) and -traces print. */
int report_top_text(struct report *r, struct buf *out, struct err *err);

/* "sample_type", "unit", "total" */
void report_head_json(const struct report *r, struct json *j);

/* {"sample_type","unit","total","rows":[{"name","file","flat","cum"}]} */
int report_top_json(struct report *r, struct json *j, struct err *err);

#endif
