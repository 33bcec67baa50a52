/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/table_store.h"

#include "base/hash.h"

static uint64_t table_key_hash(const struct table_key *key)
{
	return hash_key((struct bytes){ .ptr = key->bytes, .len = key->len });
}

/* For table_find(). */
static bool table_key_same(const void *ctx, uint32_t number, const void *key)
{
	const struct table_store *s = ctx;
	const struct table_key *a = &s->tables.v[number].key;
	const struct table_key *b = key;

	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

void table_store_init(struct table_store *s, struct unwind_row *entries,
		      uint32_t count)
{
	*s = (struct table_store){ .entries = entries, .capacity = count };
	extents_init(&s->extents, count);
}

void table_store_fini(struct table_store *s)
{
	extents_fini(&s->extents);
	vec_fini(&s->tables);
	vec_fini(&s->gaps);
	vec_fini(&s->withdrawn);
	table_fini(&s->by_key);
}

uint32_t table_store_find(struct table_store *s, const struct table_key *key)
{
	uint32_t number = table_find(&s->by_key, table_key_hash(key),
				     table_key_same, s, key);

	if (number == TABLE_NONE)
		return TABLE_STORE_NONE;
	s->tables.v[number].users++;
	return number;
}

/* Remove a table that has no users. */
static void table_store_evict(struct table_store *s, uint32_t number,
			      uint64_t now)
{
	struct stored_table *t = &s->tables.v[number];

	if (!t->crowded_out)
		table_remove(&s->by_key, table_key_hash(&t->key), number);
	extents_give(&s->extents, t->entries, now);
	t->live = false;
	*vec_add(&s->gaps) = number;
}

/*
 * Take the entries of a table that has users. The kernel may read them until the
 * owner has published the processes without them.
 */
static void table_store_withdraw(struct table_store *s, uint32_t number,
				 uint64_t now)
{
	struct stored_table *t = &s->tables.v[number];

	table_remove(&s->by_key, table_key_hash(&t->key), number);
	extents_give(&s->extents, t->entries, now + EXTENTS_DELAY_MS);
	t->entries = (struct extent){ 0 };
	t->pages = 0;
	t->crowded_out = true;
	*vec_add(&s->withdrawn) = number;
}

/*
 * Find the table with or without users that was not used for the longest time,
 * and for at least `idle_ms`, of one owner or (NULL) of any. TABLE_STORE_NONE:
 * there is none.
 */
static uint32_t table_store_oldest(const struct table_store *s, bool users,
				   const uint32_t *owner, uint64_t idle_ms,
				   uint64_t now)
{
	uint32_t oldest = TABLE_STORE_NONE;

	for (uint32_t i = 0; i < s->tables.count; i++) {
		const struct stored_table *t = &s->tables.v[i];

		if (t->live && t->entries.count && !t->users == !users &&
		    (!owner || t->owner == *owner) &&
		    t->used_at + idle_ms <= now &&
		    (oldest == TABLE_STORE_NONE ||
		     t->used_at < s->tables.v[oldest].used_at))
			oldest = i;
	}
	return oldest;
}

/*
 * Evict the table without users that was not used for the longest time. False:
 * each was used a moment ago, so that the program in the kernel may still read
 * it.
 */
static bool table_store_evict_oldest(struct table_store *s, uint64_t now)
{
	uint32_t oldest =
		table_store_oldest(s, false, NULL, EXTENTS_DELAY_MS, now);

	if (oldest == TABLE_STORE_NONE)
		return false;
	table_store_evict(s, oldest, now);
	s->evicted++;
	return true;
}

/* Return how many entries the tables of an owner have. */
static uint64_t table_store_share(const struct table_store *s, uint32_t owner)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->tables.count; i++) {
		if (s->tables.v[i].live && s->tables.v[i].owner == owner)
			sum += s->tables.v[i].entries.count;
	}
	return sum;
}

/*
 * Find the owner other than root whose tables have more than half of the room.
 * Returns by how many entries; 0: there is none. Only the winner of a vote can
 * have so many (the algorithm of Boyer and Moore).
 */
static uint32_t table_store_surplus(const struct table_store *s,
				    uint32_t *winner)
{
	uint32_t owner = 0;
	uint32_t votes = 0;
	uint64_t share;

	for (size_t i = 0; i < s->tables.count; i++) {
		const struct stored_table *t = &s->tables.v[i];
		uint32_t count = t->live ? t->entries.count : 0;

		if (t->owner == owner) {
			votes += count;
		} else if (count > votes) {
			owner = t->owner;
			votes = count - votes;
		} else {
			votes -= count;
		}
	}
	*winner = owner;
	share = table_store_share(s, owner);
	return owner && share > s->capacity / 2 ?
		       (uint32_t)share - s->capacity / 2 :
		       0;
}

/*
 * Withdraw tables of one owner, or (NULL) of any, that are idle for a time and
 * have `count` entries together. Returns how many are still missing.
 */
static uint32_t table_store_withdraw_some(struct table_store *s, uint32_t count,
					  const uint32_t *owner,
					  uint64_t idle_ms, uint64_t now)
{
	while (count) {
		uint32_t n = table_store_oldest(s, true, owner, idle_ms, now);
		uint32_t freed;

		if (n == TABLE_STORE_NONE)
			break;
		freed = s->tables.v[n].entries.count;
		table_store_withdraw(s, n, now);
		s->evicted++;
		count -= freed < count ? freed : count;
	}
	return count;
}

/*
 * Withdraw tables for one with `count` entries that belongs to an owner: idle
 * ones, and then those of another owner who has more than half of the room.
 */
static void table_store_withdraw_for(struct table_store *s, uint32_t count,
				     uint32_t owner, uint64_t now)
{
	uint32_t winner;
	uint32_t surplus;

	if (count > s->capacity)
		return;
	count = table_store_withdraw_some(s, count, NULL, TABLE_IDLE_MS, now);
	surplus = table_store_surplus(s, &winner);
	if (winner != owner)
		(void)table_store_withdraw_some(
			s, count < surplus ? count : surplus, &winner, 0, now);
}

/* Return the number of a new table. */
static uint32_t table_store_number(struct table_store *s)
{
	if (s->gaps.count)
		return s->gaps.v[--s->gaps.count];
	vec_add(&s->tables);
	return (uint32_t)s->tables.count - 1;
}

/* Take room for entries, and evict tables for it. */
static bool table_store_room(struct table_store *s, uint32_t count,
			     uint32_t owner, uint64_t now, struct extent *out)
{
	while (!extents_take(&s->extents, count, now, out)) {
		if (table_store_evict_oldest(s, now))
			continue;
		table_store_withdraw_for(s, count, owner, now);
		return false;
	}
	return true;
}

uint32_t table_store_add(struct table_store *s, const struct table_key *key,
			 uint32_t owner, const struct unwind_pack *pack,
			 uint64_t now)
{
	struct stored_table t = {
		.key = *key,
		.owner = owner,
		.users = 1,
		.used_at = now,
		.live = true,
	};
	uint32_t number;

	if (pack->count &&
	    table_store_room(s, pack->count, owner, now, &t.entries)) {
		memcpy(&s->entries[t.entries.first], pack->entries,
		       pack->count * sizeof(*pack->entries));
		t.pages = pack->pages;
	}
	t.crowded_out = pack->count && !t.entries.count;
	s->crowded_out += t.crowded_out;
	number = table_store_number(s);
	s->tables.v[number] = t;
	if (!t.crowded_out)
		table_add(&s->by_key, table_key_hash(key), number);
	return number;
}

bool table_store_sampled(struct table_store *s, uint32_t number, uint64_t now)
{
	s->tables.v[number].used_at = now;
	return s->tables.v[number].crowded_out;
}

const struct stored_table *table_store_at(const struct table_store *s,
					  uint32_t number)
{
	return &s->tables.v[number];
}

void table_store_drop(struct table_store *s, uint32_t number, uint64_t now)
{
	struct stored_table *t = &s->tables.v[number];

	t->used_at = now;
	t->users--;
	if (!t->users && t->crowded_out)
		table_store_evict(s, number, now);
}
