/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page /remote_write: the receivers that this instance sends to, and what
 * this instance has received itself.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_UI_PAGE_REMOTE_WRITE_H
#define WEB_UI_PAGE_REMOTE_WRITE_H

#include "web/api/context.h"

/* Write the page; the handler of its route. */
void page_remote_write(void *ctx, struct request *r, struct answer *a);

#endif
