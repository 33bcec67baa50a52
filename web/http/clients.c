/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/clients.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define SLOTS 1024 /* lists of clients */

/* Of a budget that all share one client has at most seven eighths. */
#define SHARE_OF(max) ((max) / 8 * 7)

struct entry {
	struct client client; /* first: references are of it */
	struct entry *next;
	uint64_t key;
	unsigned refs;
};

struct clients {
	struct budget *memory;
	struct pool *pool;
	pthread_mutex_t mu;
	struct entry *slots[SLOTS];
};

uint64_t client_key(const struct sockaddr *a)
{
	uint8_t key[9] = { 0 };
	uint64_t hash;

	if (a && a->sa_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, a, sizeof(v4));
		memcpy(key + 1, &v4.sin_addr, 4);
	} else if (a && a->sa_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, a, sizeof(v6));
		if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
			memcpy(key + 1, &v6.sin6_addr.s6_addr[12], 4);
		} else {
			key[0] = 6;
			memcpy(key + 1, &v6.sin6_addr, 8);
		}
	}
	hash = hash_bytes((struct bytes){ key, sizeof(key) });
	return hash ? hash : 1;
}

struct clients *clients_new(struct budget *memory, struct pool *pool)
{
	struct clients *cs = mem_new(struct clients);

	cs->memory = memory;
	cs->pool = pool;
	pthread_mutex_init(&cs->mu, NULL);
	return cs;
}

void clients_free(struct clients *cs)
{
	if (!cs)
		return;
	pthread_mutex_destroy(&cs->mu);
	mem_free(cs);
}

static struct entry *entry_new(struct clients *cs, uint64_t key)
{
	struct entry *e = mem_new(struct entry);

	e->key = key;
	e->client.memory = (struct budget){ .name = cs->memory->name,
					    .max = SHARE_OF(cs->memory->max),
					    .parent = cs->memory };
	e->client.work = pool_group_new(cs->pool);
	return e;
}

struct client *clients_get(struct clients *cs, const struct sockaddr *a)
{
	uint64_t key = client_key(a);
	struct entry **at = &cs->slots[key % SLOTS];

	pthread_mutex_lock(&cs->mu);
	while (*at && (*at)->key != key)
		at = &(*at)->next;
	if (!*at)
		*at = entry_new(cs, key);
	(*at)->refs++;
	pthread_mutex_unlock(&cs->mu);
	return &(*at)->client;
}

void clients_put(struct clients *cs, struct client *c)
{
	struct entry *e = (struct entry *)c;
	struct entry **at = &cs->slots[e->key % SLOTS];
	bool last;

	pthread_mutex_lock(&cs->mu);
	last = !--e->refs;
	while (last && *at != e)
		at = &(*at)->next;
	if (last)
		*at = e->next;
	pthread_mutex_unlock(&cs->mu);
	if (!last)
		return;
	pool_group_free(e->client.work);
	mem_free(e);
}
