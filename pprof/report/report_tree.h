/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree: each function with its callers and callees (pprof's -tree and -peek).
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_TREE_H
#define PPROF_REPORT_REPORT_TREE_H

#include "pprof/report.h"

int report_tree_text(struct report *r, struct buf *out, struct err *err);

#endif
