/* SPDX-License-Identifier: Apache-2.0 */
#include "web/guard/clients.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"

#define SLOTS 1024 /* number of slots of the hash table */

/*
 * The largest part of a shared budget of `max` that one client may use: seven
 * eighths (docs/decisions.md, 92).
 */
#define SHARE_OF(max) ((max) / 8 * 7)

/* An entry of the hash table: a client with its key and reference count. */
struct entry {
	/* must be first: clients_put() casts it to the entry */
	struct client client;
	struct entry *next; /* next entry in the same slot */
	uint64_t key;       /* client_key() of its address */
	unsigned refs;      /* number of references; guarded by clients.mu */
};

/* A hash table of the clients that have requests in progress. */
struct clients {
	struct budget *memory;
	struct pool *pool;
	struct pool *body_pool;
	struct mutex mu;
	struct entry *slots[SLOTS];
};

uint64_t client_key(const struct sockaddr *a)
{
	uint8_t key[9] = { 0 };
	/* Byte 0 is the kind of address: 0 for IPv4, 6 for IPv6. */
	uint64_t hash;

	if (a && a->sa_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, a, sizeof(v4));
		memcpy(key + 1, &v4.sin_addr, 4);
	} else if (a && a->sa_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, a, sizeof(v6));
		/* Use the IPv4 address of an IPv4 address mapped into IPv6. */
		if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
			memcpy(key + 1, &v6.sin6_addr.s6_addr[12], 4);
		} else {
			key[0] = 6;
			memcpy(key + 1, &v6.sin6_addr, 8);
		}
	}
	hash = hash_key((struct bytes){ key, sizeof(key) });
	return hash ? hash : 1;
}

struct clients *clients_new(struct budget *memory, struct pool *pool,
			    struct pool *body_pool)
{
	struct clients *cs = mem_new(struct clients);

	cs->memory = memory;
	cs->pool = pool;
	cs->body_pool = body_pool;
	mutex_init(&cs->mu);
	return cs;
}

void clients_free(struct clients *cs)
{
	if (!cs)
		return;
	mutex_destroy(&cs->mu);
	mem_free(cs);
}

/* Create a client with its part of memory and of worker threads. */
static struct entry *entry_new(struct clients *cs, uint64_t key)
{
	struct entry *e = mem_new(struct entry);

	e->key = key;
	e->client.memory = (struct budget){ .name = cs->memory->name,
					    .max = SHARE_OF(cs->memory->max),
					    .parent = cs->memory };
	e->client.work = pool_group_new(cs->pool);
	e->client.store = pool_group_new(cs->body_pool);
	return e;
}

struct client *clients_get(struct clients *cs, const struct sockaddr *a)
{
	uint64_t key = client_key(a);
	struct entry **at = &cs->slots[key % SLOTS];

	mutex_lock(&cs->mu);
	while (*at && (*at)->key != key)
		at = &(*at)->next;
	if (!*at)
		*at = entry_new(cs, key);
	(*at)->refs++;
	mutex_unlock(&cs->mu);
	return &(*at)->client;
}

void clients_put(struct clients *cs, struct client *c)
{
	struct entry *e = (struct entry *)c;
	struct entry **at = &cs->slots[e->key % SLOTS];
	bool last;

	mutex_lock(&cs->mu);
	last = !--e->refs;
	while (last && *at != e)
		at = &(*at)->next;
	if (last)
		*at = e->next;
	mutex_unlock(&cs->mu);
	/*
	 * After the last reference is returned, the entry is not in the table,
	 * so no other thread can find it: it is freed without the lock.
	 */
	if (!last)
		return;
	pool_group_free(e->client.work);
	pool_group_free(e->client.store);
	mem_free(e);
}

enum auth_verdict client_verify(struct client *c, struct auth *auth,
				const struct credentials *credentials,
				struct identity *out)
{
	enum auth_verdict v = AUTH_BUSY;

	if (!atomic_fetch_add(&c->hashing, 1))
		v = auth_verify(auth, credentials, out);
	atomic_fetch_sub(&c->hashing, 1);
	return v;
}

const char *client_text(const struct sockaddr *a, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (a && a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
	} else if (a && a->sa_family == AF_INET6) {
		memcpy(&v6, a, sizeof(v6));
		if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
			inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text,
				  sizeof(text));
		else
			inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
	}
	return arena_strndup(arena, str_of(text));
}
