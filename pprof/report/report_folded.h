/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: a line 'outermost;…;leaf value' for each distinct stack.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_FOLDED_H
#define PPROF_REPORT_REPORT_FOLDED_H

#include "pprof/report.h"

/* A line "outermost;…;leaf value" for each distinct stack. */
int report_folded(struct report *r, struct buf *out, struct err *err);

#endif
