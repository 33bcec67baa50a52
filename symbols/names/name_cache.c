/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/name_cache.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/enc.h"
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

struct name_cache_file name_cache_file_of(const struct bytes *parts,
					  size_t count)
{
	struct name_cache_file file;
	uint8_t digest[DIGEST_SHA256_SIZE];
	struct buf text = { 0 };

	for (size_t i = 0; i < count; i++)
		enc_str(&text, str_from(parts[i]));
	digest_sha256(buf_bytes(&text), digest);
	buf_fini(&text);
	memcpy(&file, digest, sizeof(file));
	return file;
}

static uint64_t name_cache_hash(const struct name_cache_key *key)
{
	return hash_key((struct bytes){ .ptr = (const uint8_t *)key,
					.len = sizeof(*key) });
}

/* Callback of table_find(): whether entry `number` has the key `key`. */
static bool name_cache_same(const void *ctx, uint32_t number, const void *key)
{
	const struct name_cache_half *h = ctx;

	return !memcmp(&h->keys.v[number], key, sizeof(h->keys.v[number]));
}

static uint32_t name_cache_half_find(const struct name_cache_half *h,
				     const struct name_cache_key *key)
{
	return table_find(&h->by_key, name_cache_hash(key), name_cache_same, h,
			  key);
}

static size_t name_cache_half_memory(const struct name_cache_half *h)
{
	return h->arena.used + table_memory(&h->by_key) + vec_memory(&h->keys) +
	       vec_memory(&h->answers);
}

void name_cache_add(struct name_cache *c, const struct name_cache_key *key,
		    struct bytes answer)
{
	struct name_cache_half *h = &c->young;

	if (name_cache_half_memory(h) > c->half_max) {
		name_cache_half_fini(&c->old);
		c->old = c->young;
		c->young = (struct name_cache_half){ .arena = { 0 } };
	}
	if (name_cache_half_find(h, key) != TABLE_NONE)
		return;
	table_add(&h->by_key, name_cache_hash(key), (uint32_t)h->keys.count);
	*vec_add(&h->keys) = *key;
	*vec_add(&h->answers) = arena_bytes(&h->arena, answer);
}

bool name_cache_find(struct name_cache *c, const struct name_cache_key *key,
		     struct arena *arena, struct bytes *out)
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
