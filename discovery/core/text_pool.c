/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/text_pool.h"

#include "base/hash.h"
#include "base/mem.h"

#define POOL_BYTES_MAX (2 * MIB) /* a pool with this many bytes is full */
#define SHARED_LEN_MAX 256       /* longest text that text_pool_share() adds */
#define SEEN_COUNT     16384     /* a power of two */

struct text_pool *text_pool_new(void)
{
	struct text_pool *p = mem_new(struct text_pool);

	atomic_init(&p->refs, 1);
	p->seen = mem_zalloc(SEEN_COUNT, sizeof(*p->seen));
	return p;
}

struct text_pool *text_pool_ref(struct text_pool *p)
{
	atomic_fetch_add(&p->refs, 1);
	return p;
}

/* Free what is only needed to add texts. */
static void text_pool_close(struct text_pool *p)
{
	table_fini(&p->by_hash);
	vec_fini(&p->texts);
	mem_free(p->seen);
	p->seen = NULL;
}

void text_pool_unref(struct text_pool *p)
{
	if (!p || atomic_fetch_sub(&p->refs, 1) > 1)
		return;
	text_pool_close(p);
	arena_fini(&p->arena);
	mem_free(p);
}

void text_pool_renew(struct text_pool **p)
{
	struct text_pool *old = *p;

	if (old->arena.used < POOL_BYTES_MAX)
		return;
	*p = text_pool_new();
	text_pool_close(old);
	text_pool_unref(old);
}

/* Callback of table_find(): whether text number `number` equals `key`. */
static bool text_pool_same(const void *ctx, uint32_t number, const void *key)
{
	const struct text_pool *p = ctx;
	const struct str *text = key;

	return str_eq(p->texts.v[number], *text);
}

struct str text_pool_add(struct text_pool *p, struct str text)
{
	uint64_t hash = hash_key(bytes_of(text));
	uint32_t n = table_find(&p->by_hash, hash, text_pool_same, p, &text);

	if (n != TABLE_NONE)
		return p->texts.v[n];
	table_add(&p->by_hash, hash, (uint32_t)p->texts.count);
	*vec_add(&p->texts) = arena_str(&p->arena, text);
	return p->texts.v[p->texts.count - 1];
}

bool text_pool_share(struct text_pool *p, struct str *text)
{
	uint64_t hash = hash_key(bytes_of(*text));
	uint32_t *seen = &p->seen[hash & (SEEN_COUNT - 1)];
	uint32_t mark = (uint32_t)(hash >> 32);

	if (text->len > SHARED_LEN_MAX)
		return false;
	if (*seen != mark) {
		*seen = mark;
		return false;
	}
	*text = text_pool_add(p, *text);
	return true;
}
