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

/*
 * Begin a page: status, headers, and everything above the content. `nonce` is a
 * random value in the request's arena that allows the page's only script: both
 * the script and the Content-Security-Policy carry it. NULL: the page has no
 * script.
 */
void page_begin(struct answer *a, struct request *r, const char *nonce);

/* Write a time; 0 is "never". */
void page_time(struct buf *b, int64_t ms);

/* End a page. */
void page_end(struct answer *a);

/*
 * Write a labelled input: <label>…<input name=…>. The value of the input is the
 * request's parameter with the input's name, or `fallback` when the parameter
 * is missing.
 */
void page_field(struct answer *a, const struct request *r, const char *label,
		const char *name, const char *fallback);

/*
 * Write the request's parameter `name`, if given, as a hidden input. Submitting
 * the form then keeps this parameter, although the form does not show it.
 */
void page_hidden(struct answer *a, const struct request *r, const char *name);

/*
 * Write an option of a select element; `chosen` makes it the selected option.
 */
void page_option(struct buf *b, struct str name, bool chosen);

/*
 * Show an error within a page, and set the HTTP status to the status for the
 * error.
 */
void page_error(struct answer *a, const struct err *err);

/* Answer 404, with a page for a browser, else as JSON. */
void page_missing(struct request *r, struct answer *a);

/* GET /: a search form, and below it the series and times that match it. */
void page_index(void *ctx, struct request *r, struct answer *a);

/* GET /targets: the active and the dropped targets. */
void page_targets(void *ctx, struct request *r, struct answer *a);

/* Write the page; the handler of its route. */
void page_remote_write(void *ctx, struct request *r, struct answer *a);

/*
 * GET /report: show the profiles that the parameters select. Without parameters
 * the page has only the form. An error appears below the form, where the user
 * can correct the parameters.
 */
void page_report(void *ctx, struct request *r, struct answer *a);

#endif
