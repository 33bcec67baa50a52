/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limiter: limit the rate of requests by client address, with a token bucket
 * for each address.
 *
 * IPv6 addresses count by their /64 prefix. The table has a fixed number of
 * buckets: a new address replaces an address that was not seen for a long time.
 *
 * Ownership: limiter_free() frees everything.
 * Threads: any.
 */
#ifndef WEB_HTTP_LIMITER_H
#define WEB_HTTP_LIMITER_H

#include <sys/socket.h>

#include "base/defs.h"

struct limiter;

/*
 * Create a limiter. `rate` is in requests per second, 0 for no limit; a burst
 * may have twice as many requests.
 */
struct limiter *limiter_new(int64_t rate);

/* Free a limiter; NULL is a no-op. */
void limiter_free(struct limiter *l);

/*
 * Whether a request of this client may pass now. A request that passes takes a
 * token. An unknown client (NULL) always passes.
 */
bool limiter_pass(struct limiter *l, const struct sockaddr *client,
		  int64_t now_ns);

#endif
