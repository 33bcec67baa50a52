/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients: what those who share an address have together of what all share,
 * so that one of them cannot take it all: memory of queries, workers, and the
 * hashing of passwords.
 *
 * Addresses of version 6 count by their /64.
 *
 * Ownership: a client lives as long as somebody has a reference on it.
 * Threads: any.
 */
#ifndef WEB_HTTP_CLIENTS_H
#define WEB_HTTP_CLIENTS_H

#include <sys/socket.h>

#include "base/budget.h"
#include "base/pool.h"

struct clients;

struct client {
	struct budget memory;    /* a share of the budget of all */
	struct pool_group *work; /* a share of the pool */
	_Atomic int hashing;     /* passwords that are being verified */
};

/* memory and pool: what is shared; borrowed. */
struct clients *clients_new(struct budget *memory, struct pool *pool);

/* All references must be given back. NULL is a no-op. */
void clients_free(struct clients *cs);

/* The client of an address; NULL: not known, these share one, too. */
struct client *clients_get(struct clients *cs, const struct sockaddr *a);
void clients_put(struct clients *cs, struct client *c);

/* What identifies the client of an address; never 0. */
uint64_t client_key(const struct sockaddr *a);

#endif
