/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: every stack with its values, as pprof's -traces.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_TRACES_H
#define PPROF_REPORT_REPORT_TRACES_H

#include "pprof/report.h"

int report_traces_text(struct report *r, struct buf *out, struct err *err);

#endif
