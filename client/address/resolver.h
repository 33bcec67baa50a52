/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolver: looks up host names in its own threads.
 *
 * libcurl's threaded resolver is not used: when a transfer ends before its
 * lookup, libcurl joins the lookup's thread in the event loop, so that one
 * silent name server would stop all scraping (docs/decisions.md, 74). Here
 * nothing waits for the thread of a lookup, however long the lookup takes. One
 * lookup serves all callers that ask for the same name. There are separate
 * threads for names whose last lookup was quick, for names whose last lookup
 * was slow, and for new names, so that slow names cannot starve the others.
 *
 * An answer is fresh for 30 seconds; after that it is stale. For up to five
 * minutes a stale answer is returned at once, while a lookup refreshes it in
 * the background. For up to an hour it is used if the new lookup is slow or
 * fails, except if the name no longer exists. Callers therefore do not notice a
 * short outage of the name server.
 *
 * Ownership: contexts of callbacks belong to the callers.
 * Threads: only the thread of the loop calls these functions. The threads of
 * lookups call only wake().
 */
#ifndef CLIENT_ADDRESS_RESOLVER_H
#define CLIENT_ADDRESS_RESOLVER_H

#include "base/err.h"

struct resolver;

/*
 * Create a resolver. wake(ctx) is called from the thread of a lookup when
 * resolver_poll() has work to do.
 */
struct resolver *resolver_new(void (*wake)(void *ctx), void *ctx);

/*
 * Free a resolver without waiting for lookups in progress, which finish on
 * their own. Callbacks of pending requests are not called. NULL is a no-op.
 */
void resolver_free(struct resolver *r);

/*
 * Callback that receives the answer: addresses such as
 * "192.0.2.1,[2001:db8::1]", or NULL and the reason in `err`. It must not call
 * resolver_ask().
 */
typedef void (*resolver_fn)(void *ctx, const char *addresses,
			    const struct err *err);

/*
 * Look up a name. `fn` is called exactly once, either before resolver_ask()
 * returns or later from resolver_poll(), unless resolver_forget() comes first.
 * The errors passed to `fn` are ERR_AGAIN (the lookup failed) and ERR_INVALID
 * (the name is too long).
 */
void resolver_ask(struct resolver *r, const char *name, resolver_fn fn,
		  void *ctx);

/* Withdraw the requests for a name that were made with this `ctx`. */
void resolver_forget(struct resolver *r, const char *name, const void *ctx);

/* Return the number of names in the cache. */
size_t resolver_names(const struct resolver *r);

/* Replace the monotonic clock, in nanoseconds; for tests. */
void resolver_set_now(struct resolver *r, int64_t (*now)(void));

/*
 * Deliver answers that have arrived. Also delivers stale answers to callers
 * whose lookup is slow.
 */
void resolver_poll(struct resolver *r);

/*
 * Return the time, on the monotonic clock, at which resolver_poll() must be
 * called even if wake() was not called; 0 if there is no such time.
 */
int64_t resolver_due_ns(const struct resolver *r);

#endif
