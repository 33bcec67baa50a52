/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile in the file format of speedscope.app.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_SPEEDSCOPE_H
#define PPROF_REPORT_REPORT_SPEEDSCOPE_H

#include "pprof/report/report.h"

/*
 * Append the JSON document. Samples without a stack or with a value of 0 or
 * less are left out, because the format cannot show them. ERR_TIMEOUT,
 * ERR_LIMIT, ERR_TOOBIG.
 */
int report_speedscope(struct report *r, struct buf *out, struct err *err);

#endif
