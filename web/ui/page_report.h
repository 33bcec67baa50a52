/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /report: a flame graph and a table as a plain page.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_REPORT_H
#define WEB_UI_PAGE_REPORT_H

#include "web/handler/context.h"

/* page_report.c */
void page_report(void *ctx, struct request *r, struct answer *a);

#endif
