/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page of /report: a flame graph and a table of functions.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_REPORT_H
#define WEB_UI_PAGE_REPORT_H

#include "web/handler/context.h"

/*
 * GET /report: show the profiles that the parameters select. Without parameters
 * the page has only the form. An error is shown in the page, above which the
 * form stays to be corrected.
 */
void page_report(void *ctx, struct request *r, struct answer *a);

#endif
