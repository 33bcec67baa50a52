/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/profile/strtab.h"

#include "base/hash.h"

/* Equality callback of the hash index: compares string i with *key. */
static bool strtab_is_same(const void *ctx, uint32_t i, const void *key)
{
	const struct strtab *t = ctx;

	return str_eq(t->strings.v[i], *(const struct str *)key);
}

uint32_t strtab_intern(struct strtab *t, struct str s)
{
	uint64_t hash = hash_key(bytes_of(s));
	uint32_t i;

	/* Number 0 must stay the empty string, as profile.proto requires. */
	if (!t->strings.count) {
		*vec_add(&t->strings) = str_of("");
		table_add(&t->index, hash_key((struct bytes){ 0 }), 0);
	}
	i = table_find(&t->index, hash, strtab_is_same, t, &s);
	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)t->strings.count;
	*vec_add(&t->strings) = arena_str(&t->text, s);
	table_add(&t->index, hash, i);
	return i;
}

/*
 * If string *next is not s, only the time of one comparison is lost: the result
 * is correct in any case (docs/decisions.md, 40).
 */
uint32_t strtab_intern_next(struct strtab *t, struct str s, uint32_t *next)
{
	uint32_t i = *next;

	if (i >= t->strings.count || !str_eq(t->strings.v[i], s))
		i = strtab_intern(t, s);
	*next = i + 1;
	return i;
}

/*
 * Remove strings from the end, so that the remaining ones keep their numbers.
 */
void strtab_truncate(struct strtab *t, size_t count)
{
	while (t->strings.count > count) {
		uint32_t last = (uint32_t)--t->strings.count;

		table_remove(&t->index, hash_key(bytes_of(t->strings.v[last])),
			     last);
	}
}

void strtab_fini(struct strtab *t)
{
	vec_fini(&t->strings);
	table_fini(&t->index);
	arena_fini(&t->text);
}

size_t strtab_memory(const struct strtab *t)
{
	return vec_memory(&t->strings) + table_memory(&t->index) + t->text.used;
}
