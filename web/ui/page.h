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
 * Begin a page: status, headers, and everything above the content. nonce is
 * that of the page's only script, in the request's arena; NULL means that the
 * page has no script.
 */
void page_begin(struct answer *a, struct request *r, const char *nonce);

/* End a page. */
void page_end(struct answer *a);

/*
 * Write an input with a label: <label>…<input name=…>. Its value is the
 * parameter of that name, or `otherwise` when it is missing.
 */
void page_field(struct answer *a, const struct request *r, const char *label,
		const char *name, const char *fallback);

/*
 * Write a hidden input with the parameter of that name, if it is given. It
 * keeps parameters that the form does not show.
 */
void page_hidden(struct answer *a, const struct request *r, const char *name);

/* Write an option of a select element; `chosen` selects it. */
void page_option(struct buf *b, struct str name, bool chosen);

/* Show an error within a page, and set the status that stands for it. */
void page_error(struct answer *a, const struct err *err);

/* Answer 404: as a page for a browser, else as JSON. */
void page_missing(struct request *r, struct answer *a);

/* GET /: the form, and the series and times that it asks for. */
void page_index(void *ctx, struct request *r, struct answer *a);

/* GET /targets: the active and the dropped targets. */
void page_targets(void *ctx, struct request *r, struct answer *a);

#endif
