/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, the input format of flame graph tools: one line
 * 'outermost;…;leaf value' for each distinct stack.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_FOLDED_H
#define PPROF_REPORT_REPORT_FOLDED_H

#include "pprof/report/report.h"

/*
 * Append the folded stacks, sorted by text. ERR_LIMIT, ERR_TIMEOUT, ERR_TOOBIG.
 */
int report_folded(struct report *r, struct buf *out, struct err *err);

#endif
