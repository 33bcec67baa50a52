/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/string_set.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

/* Compare text `number` of the set with a key, for the hash table. */
static bool string_set_same_text(const void *ctx, uint32_t number,
				 const void *key)
{
	const struct string_set *t = ctx;

	return str_eq(t->v[number].text, *(const struct str *)key);
}

/* A text is copied into the arena only if it is new. */
bool string_set_add(struct string_set *t, struct str s)
{
	uint64_t hash = hash_key(bytes_of(s));

	uint32_t at = table_find(&t->index, hash, string_set_same_text, t, &s);

	if (at != TABLE_NONE) {
		t->v[at].added++;
		return false;
	}
	t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
	table_add(&t->index, hash, (uint32_t)t->count);
	t->v[t->count++] =
		(struct string_count){ .text = arena_str(&t->arena, s),
				       .added = 1 };
	return true;
}

/* Comparison for qsort(): byte order. */
static int string_set_by_text(const void *a, const void *b)
{
	const struct string_count *x = a;
	const struct string_count *y = b;

	return str_cmp(x->text, y->text);
}

/* Comparison for qsort(): largest count first, then byte order. */
static int string_set_by_count(const void *a, const void *b)
{
	const struct string_count *x = a;
	const struct string_count *y = b;

	if (x->added != y->added)
		return x->added > y->added ? -1 : 1;
	return str_cmp(x->text, y->text);
}

void string_set_sort(struct string_set *t)
{
	/*
	 * An empty set has no array, and qsort() does not accept a null
	 * pointer.
	 */
	if (t->count)
		qsort(t->v, t->count, sizeof(*t->v), string_set_by_text);
}

void string_set_sort_by_count(struct string_set *t)
{
	if (t->count)
		qsort(t->v, t->count, sizeof(*t->v), string_set_by_count);
}

size_t string_set_memory(const struct string_set *t)
{
	return t->arena.used + t->cap * sizeof(*t->v);
}

void string_set_fini(struct string_set *t)
{
	mem_free(t->v);
	table_fini(&t->index);
	arena_fini(&t->arena);
	*t = (struct string_set){ .count = 0 };
}
