/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients: limit how much of the resources that all requests share (query
 * memory, worker threads, memory of uploads, hashing of passwords) the requests
 * from one address may use, so that one client cannot use all of them.
 *
 * IPv6 addresses with the same /64 prefix are one client, because a host can
 * choose among all addresses of its prefix.
 *
 * Ownership: reference-counted; a client is freed with its last reference.
 * Threads: any.
 */
#ifndef WEB_GUARD_CLIENTS_H
#define WEB_GUARD_CLIENTS_H

#include <sys/socket.h>

#include "base/budget.h"
#include "base/ingest_limiter.h"
#include "base/pool.h"
#include "web/auth/auth.h"

struct clients;

/* The resources of one client. */
struct client {
	/* the part of the query memory that the client may use */
	struct budget memory;
	/* the part of the worker threads that the client may use */
	struct pool_group *work;
	/* the part of the threads that store uploads */
	struct pool_group *store;
	/* the memory of the bodies that the client uploads */
	struct ingest_sender uploads;
	/*
	 * bytes of the client's forms in memory, like the members of struct
	 * server with these names
	 */
	_Atomic int64_t forms;
	_Atomic int64_t strange_forms;
	/* number of the client's passwords that are being verified */
	_Atomic int hashing;
};

/*
 * Create the table of clients. `memory`, `pool` and `body_pool` are the
 * resources that all clients share; they are borrowed.
 */
struct clients *clients_new(struct budget *memory, struct pool *pool,
			    struct pool *body_pool);

/*
 * Free the table; NULL is a no-op. All references must have been returned
 * before.
 */
void clients_free(struct clients *cs);

/*
 * Get a reference to the client with the address `a`. If the address is
 * unknown, `a` is NULL; all requests from unknown addresses are one client.
 */
struct client *clients_get(struct clients *cs, const struct sockaddr *a);

/* Return a reference. */
void clients_put(struct clients *cs, struct client *c);

/*
 * Decide on credentials by hashing their password, as auth_verify() does. Each client may
 * have only one password hashed at a time, or gets AUTH_BUSY: so a client that guesses
 * passwords does not lock out users at other addresses.
 */
enum auth_verdict client_verify(struct client *c, struct auth *auth,
				const struct credentials *credentials,
				struct identity *out);

/*
 * Return the IP address of a client as text in the arena, "" if it is unknown (NULL). An
 * IPv4 address that is mapped to IPv6 is shown as what it is.
 */
const char *client_text(const struct sockaddr *a, struct arena *arena);

/*
 * A hash that identifies the client with an address, never 0. Two clients may
 * have the same key, though that is unlikely.
 */
uint64_t client_key(const struct sockaddr *a);

#endif
