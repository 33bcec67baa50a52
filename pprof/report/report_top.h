/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The top report: functions sorted by weight, as text and as JSON.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_TOP_H
#define PPROF_REPORT_REPORT_TOP_H

#include "pprof/report/report.h"

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
