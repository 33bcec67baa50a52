/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page of /report: a flame graph and a table of functions.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_REPORT_H
#define WEB_UI_PAGE_REPORT_H

#include "web/api/context.h"

/*
 * GET /report: show the profiles that the parameters select. Without parameters
 * the page has only the form. An error appears below the form, where the user
 * can correct the parameters.
 */
void page_report(void *ctx, struct request *r, struct answer *a);

#endif
