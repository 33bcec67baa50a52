/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages: the parts that all HTML pages have in common, and the plain pages.
 * Pages are rendered by the server; their state is in the URL.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_H
#define WEB_UI_PAGE_H

#include "web/handler/context.h"

/*
 * Begin a page: status, headers, and everything above the content. `nonce` is
 * the nonce (random value in the Content-Security-Policy) that allows the
 * page's only script, in the request's arena; NULL means that the page has no
 * script.
 */
void page_begin(struct answer *a, struct request *r, const char *nonce);

/* End a page. */
void page_end(struct answer *a);

/*
 * Write a labelled input: <label>…<input name=…>. The value of the input is the
 * request's parameter of that name, or `fallback` when the parameter is
 * missing.
 */
void page_field(struct answer *a, const struct request *r, const char *label,
		const char *name, const char *fallback);

/*
 * Write the request's parameter of that name, if given, as a hidden input. So
 * submitting a form keeps parameters that the form does not show.
 */
void page_hidden(struct answer *a, const struct request *r, const char *name);

/*
 * Write an option of a select element; `chosen` makes it the selected option.
 */
void page_option(struct buf *b, struct str name, bool chosen);

/* Show an error within a page, and set the HTTP status of the error. */
void page_error(struct answer *a, const struct err *err);

/* Answer 404: with a page for a browser, else with JSON. */
void page_missing(struct request *r, struct answer *a);

/* GET /: a search form, and below it the series and times that match it. */
void page_index(void *ctx, struct request *r, struct answer *a);

/* GET /targets: the active and the dropped targets. */
void page_targets(void *ctx, struct request *r, struct answer *a);

#endif
