/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree report: each function with its callers and callees, as pprof's -tree
 * and -peek.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_TREE_H
#define PPROF_REPORT_REPORT_TREE_H

#include "pprof/report/report.h"

/*
 * Append the text that pprof -tree prints, or pprof -peek for REPORT_PEEK.
 * ERR_INVALID: symbol is not a valid expression; ERR_NOTFOUND: symbol matches
 * nothing; ERR_LIMIT, ERR_TIMEOUT, ERR_TOOBIG.
 */
int report_tree_text(struct report *r, struct buf *out, struct err *err);

#endif
