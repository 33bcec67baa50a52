/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of a client: a list of all, and lists by their context, so that
 * the transfers of one context are found among thousands.
 *
 * Ownership: the client owns its transfers.
 * Threads: the client's loop.
 */
#ifndef CLIENT_TRANSFER_TRANSFER_LIST_H
#define CLIENT_TRANSFER_TRANSFER_LIST_H

#include "client/transfer/transfer.h"

/* Add a transfer, whose `client` and `ctx` are set, at the front. */
void transfer_list_add(struct transfer *t);

/* Remove a transfer. */
void transfer_list_remove(struct transfer *t);

/*
 * Call fn() for each transfer with a context; NULL: for all transfers. fn() may
 * remove its transfer, and add others, for which it is not called.
 */
void transfer_list_visit(struct http_client *c, const void *ctx,
			 void (*fn)(struct transfer *t));

#endif
