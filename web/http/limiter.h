/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limiter: requests by client address, a bucket of tokens for each.
 *
 * Addresses of version 6 count by their /64. The table has a bounded number of
 * buckets: an address that was not seen for long gives its own to another.
 *
 * Ownership: limiter_free() frees.
 * Threads: any.
 */
#ifndef WEB_HTTP_LIMITER_H
#define WEB_HTTP_LIMITER_H

#include <sys/socket.h>

#include "base/defs.h"

struct limiter;

/* rate: requests a second; twice as many at once. 0: no limit. */
struct limiter *limiter_new(int64_t rate);
void limiter_free(struct limiter *l); /* NULL is a no-op */

/* Whether a request of that client is let through now. */
bool limiter_pass(struct limiter *l, const struct sockaddr *client,
		  int64_t now_ns);

#endif
