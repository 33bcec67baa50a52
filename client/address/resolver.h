/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolver: addresses of names, looked up by threads of its own.
 *
 * libcurl's own resolver has a thread for each lookup, and waits for it in the
 * loop when a transfer ends first: one name server that does not answer would
 * stop all scraping. Here a lookup may take as long as it likes: who asked goes
 * on without it. One lookup serves all who ask for the same name. Names that were
 * quick, those that were slow, and new ones have threads of their own each: they
 * cannot keep out the others.
 *
 * An answer is new for half a minute. Up to five minutes after it came it is
 * given at once, and renewed meanwhile; up to an hour when lookups take long, or
 * fail for another reason than that the name is gone: a name server that does
 * not answer stops nobody who asked within the hour.
 *
 * Ownership: callbacks' contexts are the callers'.
 * Threads: the loop's, which alone asks, forgets and polls.
 */
#ifndef CLIENT_ADDRESS_RESOLVER_H
#define CLIENT_ADDRESS_RESOLVER_H

#include "base/err.h"

struct resolver;

/* wake() is called from a lookup's thread: resolver_poll() has work. */
struct resolver *resolver_new(void (*wake)(void *ctx), void *ctx);

/* Lookups that still run are left to themselves. NULL is a no-op. */
void resolver_free(struct resolver *r);

/* addresses: "192.0.2.1,[2001:db8::1]"; or NULL, and why. It does not ask. */
typedef void (*resolver_fn)(void *ctx, const char *addresses,
			    const struct err *err);

/* fn is called once, now or from resolver_poll(). */
void resolver_ask(struct resolver *r, const char *name, resolver_fn fn,
		  void *ctx);

/* Whoever asked for the name with that ctx does not want to know any more. */
void resolver_forget(struct resolver *r, const char *name, const void *ctx);

/* Names that are known. */
size_t resolver_names(const struct resolver *r);

/* In place of the monotonic clock; for tests. */
void resolver_set_now(struct resolver *r, int64_t (*now)(void));

/* Tell those whose answers have come, or who have waited enough for them. */
void resolver_poll(struct resolver *r);

/* When it has to be polled without a wake; 0: need not. */
int64_t resolver_due_ns(const struct resolver *r);

#endif
