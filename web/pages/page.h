/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages: the parts that all HTML pages have in common, and the plain pages. The
 * server renders all pages; their state is in the URL.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_H
#define WEB_UI_PAGE_H

#include "web/api/context.h"

/* Begin a page: status, headers, and everything above the content. */
void page_begin(struct answer *a, const struct request *r);

/* Write a time; 0 is "never". */
void page_time(struct buf *b, int64_t ms);

/* End a page. */
void page_end(struct answer *a);

/* Answer 404, with a page for a browser, else as JSON. */
void page_missing(struct request *r, struct answer *a);

/*
 * GET /profiles: a search form, and below it the series and times that match it.
 */
void page_index(void *ctx, struct request *r, struct answer *a);

/* GET /targets: the active and the dropped targets. */
void page_targets(void *ctx, struct request *r, struct answer *a);

/* GET /remote_write: the receivers, and what was received. */
void page_remote_write(void *ctx, struct request *r, struct answer *a);

/* GET /senders: the programs that push profiles. */
void page_senders(void *ctx, struct request *r, struct answer *a);

#endif
