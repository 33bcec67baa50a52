/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pages share: rendered here, their state in the URL.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_H
#define WEB_UI_PAGE_H

#include "web/handler/context.h"

/*
 * Begin a page. nonce: of the one script that it has, in the request's arena;
 * NULL: it has none.
 */
void page_begin(struct answer *a, struct request *r, const char *nonce);
void page_end(struct answer *a);

/* <label>…<input name=…>, filled with the parameter of that name. */
void page_field(struct answer *a, const struct request *r, const char *label,
		const char *name, const char *otherwise);

/* The same, not to be seen: what the form does not show stays as it is. */
void page_hidden(struct answer *a, const struct request *r, const char *name);

void page_option(struct buf *b, struct str name, bool chosen);
void page_error(struct answer *a, const struct err *err);

/* There is no such path: a page for a browser, else an error as JSON. */
void page_missing(struct request *r, struct answer *a);

/* / and /targets: plain pages. */
void page_index(void *ctx, struct request *r, struct answer *a);
void page_targets(void *ctx, struct request *r, struct answer *a);

#endif
