/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients: limit what requests from one address may take of the resources that
 * all requests share (query memory, workers, hashing of passwords), so that one
 * client cannot take all of them.
 *
 * IPv6 addresses count by their /64 prefix, since a host can choose among all
 * addresses in it.
 *
 * Ownership: reference-counted; a client is freed with its last reference.
 * Threads: any.
 */
#ifndef WEB_HTTP_CLIENTS_H
#define WEB_HTTP_CLIENTS_H

#include <sys/socket.h>

#include "base/budget.h"
#include "base/pool.h"

struct clients;

/* The resources of one client. */
struct client {
	struct budget memory;    /* its share of the query memory */
	struct pool_group *work; /* its share of the workers */
	_Atomic int hashing;     /* number of passwords being verified */
};

/*
 * Create the table of clients. `memory` and `pool` are the resources that the
 * clients share; both are borrowed.
 */
struct clients *clients_new(struct budget *memory, struct pool *pool);

/* Free the table; NULL is a no-op. All references must have been returned. */
void clients_free(struct clients *cs);

/*
 * Get a reference to the client with an address. NULL is an unknown address;
 * all requests from unknown addresses are one client.
 */
struct client *clients_get(struct clients *cs, const struct sockaddr *a);

/* Return a reference. */
void clients_put(struct clients *cs, struct client *c);

/*
 * The key of the client with an address, never 0. Different clients may share a
 * key, though that is unlikely.
 */
uint64_t client_key(const struct sockaddr *a);

#endif
