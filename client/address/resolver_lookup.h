/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A single lookup of a name with getaddrinfo(), in its own thread.
 *
 * Ownership: until the lookup is done, it belongs to its thread; then to the
 * loop.
 * Threads: one thread for each lookup.
 */
#ifndef CLIENT_ADDRESS_RESOLVER_LOOKUP_H
#define CLIENT_ADDRESS_RESOLVER_LOOKUP_H

#include "client/address/resolver_private.h"

/*
 * Drop a reference to the state that lookups share with the resolver. The last
 * reference frees the state.
 */
void shared_unref(struct shared *s);

/*
 * Free a lookup, but neither the entry nor the shared state that it points to.
 */
void lookup_free(struct lookup *l);

/*
 * The function of a lookup's thread: performs the lookup `arg` (a struct
 * lookup) and hands it back to the resolver, or frees it if the resolver is
 * gone. Returns NULL.
 */
void *lookup_run(void *arg);

#endif
