/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/container_names.h"

#include <stdatomic.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/table.h"
#include "base/vec.h"

struct container_set {
	_Atomic uint32_t refs;
	struct arena arena;
	size_t bytes; /* of all IDs and labels */
	VEC(struct container) list;
	struct table by_id;
};

struct container_names {
	struct mutex mu;
	struct container_set *set; /* guarded by mu; NULL: none yet */
};

struct container_set *container_set_new(void)
{
	struct container_set *s = mem_new(struct container_set);

	atomic_init(&s->refs, 1);
	return s;
}

void container_set_unref(struct container_set *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	arena_fini(&s->arena);
	vec_fini(&s->list);
	table_fini(&s->by_id);
	mem_free(s);
}

/*
 * Callback of table_find(): whether container number `number` has the ID `key`.
 */
static bool container_same(const void *ctx, uint32_t number, const void *key)
{
	const struct container_set *s = ctx;

	return str_eq(s->list.v[number].id, *(const struct str *)key);
}

const struct container *container_set_find(const struct container_set *s,
					   struct str id)
{
	uint32_t n = table_find(&s->by_id, hash_key(bytes_of(id)),
				container_same, s, &id);

	return n == TABLE_NONE ? NULL : &s->list.v[n];
}

size_t container_set_count(const struct container_set *s)
{
	return s->list.count;
}

/*
 * Copy `labels` into the arena of the set, and store their hash in *hash. The
 * hash does not depend on the order of the labels, because service discovery
 * may find them in any order.
 */
static const struct label *labels_copy(struct container_set *s,
				       const struct label *labels, size_t count,
				       uint64_t *hash)
{
	struct label *copy = arena_alloc(&s->arena, count * sizeof(*copy));

	*hash = count;
	for (size_t i = 0; i < count; i++) {
		copy[i].name = arena_str(&s->arena, labels[i].name);
		copy[i].value = arena_str(&s->arena, labels[i].value);
		*hash += hash_number(hash_key(bytes_of(labels[i].name)) * 31 +
				     hash_key(bytes_of(labels[i].value)));
	}
	return copy;
}

int container_set_add(struct container_set *s, struct str id,
		      const struct label *labels, size_t count, struct err *err)
{
	struct container c = { .count = count };
	size_t bytes = id.len;

	if (container_set_find(s, id))
		return 0;
	for (size_t i = 0; i < count; i++)
		bytes += labels[i].name.len + labels[i].value.len +
			 sizeof(*labels);
	if (s->list.count == CONTAINERS_MAX ||
	    s->bytes + bytes > CONTAINERS_BYTES_MAX)
		return err_set(
			err, ERR_LIMIT,
			"there are more than %d containers, or their labels have more than %d MB; the other containers get no labels from service discovery: let the service discovery of the section \"ebpf\" find only the containers of this machine",
			CONTAINERS_MAX, CONTAINERS_BYTES_MAX >> 20);
	s->bytes += bytes;
	c.id = arena_str(&s->arena, id);
	c.labels = labels_copy(s, labels, count, &c.hash);
	*vec_add(&s->list) = c;
	table_add(&s->by_id, hash_key(bytes_of(id)),
		  (uint32_t)s->list.count - 1);
	return 0;
}

struct container_names *container_names_new(void)
{
	struct container_names *n = mem_new(struct container_names);

	mutex_init(&n->mu);
	return n;
}

void container_names_free(struct container_names *n)
{
	if (!n)
		return;
	container_set_unref(n->set);
	mutex_destroy(&n->mu);
	mem_free(n);
}

void container_names_set(struct container_names *n, struct container_set *s)
{
	struct container_set *old;

	mutex_lock(&n->mu);
	old = n->set;
	n->set = s;
	mutex_unlock(&n->mu);
	container_set_unref(old);
}

struct container_set *container_names_get(struct container_names *n)
{
	struct container_set *s;

	mutex_lock(&n->mu);
	s = n->set;
	if (s)
		atomic_fetch_add(&s->refs, 1);
	mutex_unlock(&n->mu);
	return s;
}
