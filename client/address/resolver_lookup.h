/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A single lookup of a name with getaddrinfo(), in a thread of its own.
 *
 * Ownership: a lookup belongs to its thread until it is done, then to the loop.
 * Threads: one thread for each lookup.
 */
#ifndef CLIENT_ADDRESS_RESOLVER_LOOKUP_H
#define CLIENT_ADDRESS_RESOLVER_LOOKUP_H

#include "client/address/resolver_private.h"

/*
 * Drops a reference to the state that is shared with the resolver; the last one
 * frees it.
 */
void shared_unref(struct shared *s);

/* Frees a lookup, but not its entry or its reference to the shared state. */
void lookup_free(struct lookup *l);

/*
 * The thread's function: performs the struct lookup in arg and hands it back to
 * the resolver, or frees it if the resolver is gone. Returns NULL.
 */
void *lookup_run(void *arg);

#endif
