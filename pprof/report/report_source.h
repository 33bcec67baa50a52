/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights by source line, with the text of the line where it is at hand.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_SOURCE_H
#define PPROF_REPORT_REPORT_SOURCE_H

#include "pprof/report.h"

/* By function and source line; the text where source_root has the file. */
int report_source(struct report *r, struct buf *out, struct err *err);

#endif
