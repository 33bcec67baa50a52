/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file for speedscope.app.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_SPEEDSCOPE_H
#define PPROF_REPORT_REPORT_SPEEDSCOPE_H

#include "pprof/report.h"

/* A file for speedscope.app. */
int report_speedscope(struct report *r, struct buf *out, struct err *err);

#endif
