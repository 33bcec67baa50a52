/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces report: every sample with its labels, value and stack, as pprof's
 * -traces.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_TRACES_H
#define PPROF_REPORT_REPORT_TRACES_H

#include "pprof/report/report.h"

/*
 * Append the text that pprof -traces prints. ERR_LIMIT, ERR_TIMEOUT,
 * ERR_TOOBIG.
 */
int report_traces_text(struct report *r, struct buf *out, struct err *err);

#endif
