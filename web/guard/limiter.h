/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limiter: limit the rate of requests by client address, with a token bucket
 * for each address.
 *
 * IPv6 addresses with the same /64 prefix share a bucket. The number of buckets
 * is fixed: a new address replaces an address that was not seen for a long
 * time.
 *
 * Ownership: limiter_free() frees everything.
 * Threads: any.
 */
#ifndef WEB_GUARD_LIMITER_H
#define WEB_GUARD_LIMITER_H

#include <sys/socket.h>

#include "base/defs.h"

/* What a client is told that is not allowed to ask now. */
#define LIMITER_REFUSAL                                          \
	"too many requests from this client address: more than " \
	"--web.rate-limit allows; retry later"

struct limiter;

/*
 * Create a limiter. `rate` is the number of requests per second, 0 for no
 * limit. A client that was idle may send twice as many requests at once.
 */
struct limiter *limiter_new(int64_t rate);

/* Free a limiter; NULL is a no-op. */
void limiter_free(struct limiter *l);

/*
 * Whether a request of this client is allowed now. An allowed request takes a
 * token. An unknown client (NULL) is always allowed.
 */
bool limiter_pass(struct limiter *l, const struct sockaddr *client,
		  int64_t now_ns);

#endif
