/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lookup of a name by getaddrinfo(), in a thread of its own.
 *
 * Ownership: a lookup is its thread's until it is done.
 * Threads: each lookup is one thread.
 */
#ifndef CLIENT_ADDRESS_RESOLVER_LOOKUP_H
#define CLIENT_ADDRESS_RESOLVER_LOOKUP_H

#include "client/address/resolver_private.h"

void shared_unref(struct shared *s);

void lookup_free(struct lookup *l);

void *lookup_run(void *arg);

#endif
