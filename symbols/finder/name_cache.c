/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/finder/name_cache.h"

#include "base/hash.h"

static void name_cache_half_fini(struct name_cache_half *h)
{
	table_fini(&h->by_key);
	vec_fini(&h->keys);
	vec_fini(&h->answers);
	arena_fini(&h->arena);
}

void name_cache_fini(struct name_cache *c)
{
	name_cache_half_fini(&c->young);
	name_cache_half_fini(&c->old);
}

uint64_t name_cache_key(uint64_t file, uint64_t address)
{
	const uint64_t key[2] = { file, address };

	return hash_bytes((struct bytes){ .ptr = (const uint8_t *)key,
					  .len = sizeof(key) });
}

/* For table_find(). */
static bool name_cache_same(const void *ctx, uint32_t number, const void *key)
{
	const struct name_cache_half *h = ctx;

	return h->keys.v[number] == *(const uint64_t *)key;
}

static uint32_t name_cache_half_find(const struct name_cache_half *h,
				     uint64_t key)
{
	return table_find(&h->by_key, key, name_cache_same, h, &key);
}

static size_t name_cache_half_memory(const struct name_cache_half *h)
{
	return h->arena.used + table_memory(&h->by_key) + vec_memory(&h->keys) +
	       vec_memory(&h->answers);
}

void name_cache_add(struct name_cache *c, uint64_t key, struct bytes answer)
{
	struct name_cache_half *h = &c->young;

	if (name_cache_half_memory(h) > c->half_max) {
		name_cache_half_fini(&c->old);
		c->old = c->young;
		c->young = (struct name_cache_half){ .arena = { 0 } };
	}
	if (name_cache_half_find(h, key) != TABLE_NONE)
		return;
	table_add(&h->by_key, key, (uint32_t)h->keys.count);
	*vec_add(&h->keys) = key;
	*vec_add(&h->answers) = arena_bytes(&h->arena, answer);
}

bool name_cache_find(struct name_cache *c, uint64_t key, struct arena *arena,
		     struct bytes *out)
{
	uint32_t at = name_cache_half_find(&c->young, key);

	if (at != TABLE_NONE) {
		*out = arena_bytes(arena, c->young.answers.v[at]);
		return true;
	}
	at = name_cache_half_find(&c->old, key);
	if (at == TABLE_NONE)
		return false;
	*out = arena_bytes(arena, c->old.answers.v[at]);
	name_cache_add(c, key, *out);
	return true;
}
