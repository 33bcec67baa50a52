/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/consul/consul_services.h"

#include "base/hash.h"
#include "base/mem.h"

/* Return how many bytes of memory the targets of a service take. */
static size_t service_bytes(const struct consul_watch *w)
{
	return w->groups ? w->groups->arena.used : 0;
}

/* Cancel the query of a watch, and free the watch. */
static void consul_watch_drop(struct consul_watch *w)
{
	http_cancel(w->p->client, w);
	target_groups_unref(w->groups);
	mem_free(w->service);
	mem_free(w);
}

/* Comparison function of the table of watches. */
static bool same_service(const void *ctx, uint32_t number, const void *key)
{
	const struct consul_services *s = ctx;

	return str_is(*(const struct str *)key, s->v.v[number]->service);
}

struct consul_watch *consul_services_find(const struct consul_services *s,
					  struct str name)
{
	uint32_t n = table_find(&s->by_name, hash_key(bytes_of(name)),
				same_service, s, &name);

	return n == TABLE_NONE ? NULL : s->v.v[n];
}

/* Return the hash of the name of watch number `i`. */
static uint64_t watch_hash(const struct consul_services *s, size_t i)
{
	return hash_key(bytes_of(str_of(s->v.v[i]->service)));
}

struct consul_watch *consul_services_add(struct consul_services *s,
					 struct provider *p, struct str name)
{
	struct consul_watch *w;

	if (s->v.count >= CONSUL_SERVICES_MAX)
		return NULL;
	w = mem_new(struct consul_watch);
	w->p = p;
	w->service = mem_strndup(name);
	w->is_due = true;
	*vec_add(&s->v) = w;
	table_add(&s->by_name, watch_hash(s, s->v.count - 1),
		  (uint32_t)s->v.count - 1);
	return w;
}

void consul_services_remove(struct consul_services *s, size_t i)
{
	size_t last = s->v.count - 1;

	table_remove(&s->by_name, watch_hash(s, i), (uint32_t)i);
	if (i != last)
		table_move(&s->by_name, watch_hash(s, last), (uint32_t)last,
			   (uint32_t)i);
	s->bytes -= service_bytes(s->v.v[i]);
	consul_watch_drop(s->v.v[i]);
	s->v.v[i] = s->v.v[last];
	s->v.count--;
}

int consul_services_set(struct consul_services *s, struct consul_watch *w,
			struct target_groups *groups, struct err *err)
{
	size_t bytes = s->bytes - service_bytes(w) + groups->arena.used;

	if (bytes > TARGET_GROUPS_BYTES_MAX) {
		target_groups_unref(groups);
		return err_set(
			err, ERR_TOOBIG,
			"the targets of all services together would take more than %ld MB of memory, so the new ones of this service are left out: select fewer with \"services\", \"tags\", \"filter\" or \"health_filter\"",
			TARGET_GROUPS_BYTES_MAX / MIB);
	}
	s->bytes = bytes;
	target_groups_unref(w->groups);
	w->groups = groups;
	return 0;
}

bool consul_services_are_failing(const struct consul_services *s)
{
	for (size_t i = 0; i < s->v.count; i++) {
		if (s->v.v[i]->is_failing)
			return true;
	}
	return false;
}

bool consul_services_are_known(const struct consul_services *s)
{
	for (size_t i = 0; i < s->v.count; i++) {
		if (!s->v.v[i]->known)
			return false;
	}
	return true;
}

void consul_services_share(const struct consul_services *s,
			   struct target_groups_list *all)
{
	for (size_t i = 0; i < s->v.count; i++) {
		if (s->v.v[i]->groups)
			*vec_add(all) = target_groups_ref(s->v.v[i]->groups);
	}
}

void consul_services_fini(struct consul_services *s)
{
	for (size_t i = 0; i < s->v.count; i++)
		consul_watch_drop(s->v.v[i]);
	vec_fini(&s->v);
	table_fini(&s->by_name);
}
