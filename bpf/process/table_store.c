/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/table_store.h"

#include "base/hash.h"
#include "bpf/process/table_room.h"

enum {
	/*
	 * To join free pieces into one, sampled tables are evicted, but only if
	 * the free and idle entries suffice for the new table and a reserve of
	 * 1/ROOM_FOR_PIECES of the array. Otherwise, the evicted tables might
	 * find no other place when their files are read again.
	 */
	ROOM_FOR_PIECES = 8,
};

static uint64_t table_key_hash(const struct table_key *key)
{
	return hash_key((struct bytes){ .ptr = key->bytes, .len = key->len });
}

/*
 * Callback of table_find(): whether table number `number` has the struct
 * table_key `key`.
 */
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

/*
 * Remove a table that has no users. The kernel may read the entries of the
 * table until EXTENTS_DELAY_MS after the table was used last.
 */
static void table_store_evict(struct table_store *s, uint32_t number,
			      uint64_t now)
{
	struct stored_table *t = &s->tables.v[number];
	uint64_t free_at = t->used_at + EXTENTS_DELAY_MS;

	if (!t->crowded_out)
		table_remove(&s->by_key, table_key_hash(&t->key), number);
	extents_give(&s->extents, t->entries, free_at > now ? free_at : now);
	t->live = false;
	*vec_add(&s->gaps) = number;
}

/*
 * Take the entries away from a table that has users; the table is then crowded
 * out. The kernel may read the entries until the mappings of the processes that
 * have the file of the table are published again. The table is added to
 * `withdrawn`, so that process_table_publish() publishes these mappings.
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
 * Find the owner other than root whose tables have more than half of the array,
 * and store it in *winner. Returns by how many entries these tables exceed half
 * of the array; 0: there is no such owner. Only the winner of a majority vote
 * (the algorithm of Boyer and Moore) can be this owner.
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

/* List the parts of the array that tables have. No part has `may_go` yet. */
static void table_store_list(const struct table_store *s,
			     struct table_room *room)
{
	*room = (struct table_room){ .capacity = s->capacity };
	for (uint32_t i = 0; i < s->tables.count; i++) {
		const struct stored_table *t = &s->tables.v[i];

		if (t->live && t->entries.count)
			*vec_add(&room->parts) = (struct room_part){
				.extent = t->entries,
				.table = i,
				.used_at = t->used_at,
			};
	}
}

/*
 * Set `may_go` of the parts that idle tables have. A table that no process has
 * is idle if it was not used for EXTENTS_DELAY_MS. If `users` is true, a table
 * that processes have is idle, too, if it was not used for TABLE_IDLE_MS.
 */
static void table_store_offer_idle(const struct table_store *s,
				   struct table_room *room, bool users,
				   uint64_t now)
{
	for (size_t i = 0; i < room->parts.count; i++) {
		struct room_part *p = &room->parts.v[i];
		bool in_use = s->tables.v[p->table].users;
		/* The kernel may still read what was used a moment ago. */
		uint64_t idle_ms = in_use ? TABLE_IDLE_MS : EXTENTS_DELAY_MS;

		p->may_go = (users || !in_use) && p->used_at + idle_ms <= now;
	}
}

/*
 * Also set `may_go` of the parts that the tables of *owner have or, if `owner`
 * is NULL, of all parts.
 */
static void table_store_offer(const struct table_store *s,
			      struct table_room *room, const uint32_t *owner)
{
	for (size_t i = 0; i < room->parts.count; i++) {
		struct room_part *p = &room->parts.v[i];

		p->may_go |= !owner || s->tables.v[p->table].owner == *owner;
	}
}

/*
 * Evict the tables of adjacent parts with `may_go`, so that one piece of at
 * least `count` entries becomes free (table_room_find()). False: nothing was
 * evicted, because no adjacent parts that may go leave such a piece, even if
 * all parts that may go would together be large enough.
 */
static bool table_store_clear(struct table_store *s, struct table_room *room,
			      uint32_t count, uint64_t now)
{
	size_t end;
	size_t i;

	if (!table_room_find(room, count, &i, &end))
		return false;
	for (; i < end; i++) {
		uint32_t number = room->parts.v[i].table;

		if (s->tables.v[number].users)
			table_store_withdraw(s, number, now);
		else
			table_store_evict(s, number, now);
		s->evicted++;
	}
	return true;
}

/*
 * Evict tables that no process has, so that a piece of `count` entries is free
 * at once. False: no adjacent tables of this kind leave such a piece.
 */
static bool table_store_make_room(struct table_store *s, uint32_t count,
				  uint64_t now)
{
	struct table_room room;
	bool made;

	table_store_list(s, &room);
	table_store_offer_idle(s, &room, false, now);
	for (size_t i = 0; i < s->extents.held.count; i++)
		*vec_add(&room.parts) = (struct room_part){
			.extent = s->extents.held.v[i].extent
		};
	made = table_store_clear(s, &room, count, now);
	table_room_fini(&room);
	return made;
}

/*
 * Evict tables, even if processes have them, so that later, when the kernel
 * does not read their entries any more, there is a piece of `count` entries for
 * a table of `owner`. If idle tables can leave such a piece, only they are
 * evicted. If they cannot, although the free and idle entries suffice for the
 * new table and a reserve of 1/ROOM_FOR_PIECES of the array, any tables may go.
 * Their files are read again later, and thanks to the reserve, their entries
 * mostly fit into the remaining pieces. Otherwise, if another owner, who is not
 * root, has more than half of the array, and the free and idle entries and the
 * surplus of this other owner together suffice for the new table, tables of the
 * other owner may go.
 */
static void table_store_make_room_later(struct table_store *s, uint32_t count,
					uint32_t owner, uint64_t now)
{
	struct table_room room;
	uint32_t winner;
	uint32_t surplus = table_store_surplus(s, &winner);
	uint64_t left;
	bool pieces;

	table_store_list(s, &room);
	table_store_offer_idle(s, &room, true, now);
	left = table_room_left(&room);
	pieces = left >= (uint64_t)count + s->capacity / ROOM_FOR_PIECES;
	if (!table_store_clear(s, &room, count, now) &&
	    (pieces ||
	     (winner != owner && surplus && count <= left + surplus))) {
		table_store_offer(s, &room, pieces ? NULL : &winner);
		(void)table_store_clear(s, &room, count, now);
	}
	table_room_fini(&room);
}

/* Return the number of a new table. */
static uint32_t table_store_number(struct table_store *s)
{
	if (s->gaps.count)
		return s->gaps.v[--s->gaps.count];
	vec_add(&s->tables);
	return (uint32_t)s->tables.count - 1;
}

/*
 * Take room for `count` entries, and evict tables for it if necessary. False:
 * there is no room now, but perhaps later.
 */
static bool table_store_room(struct table_store *s, uint32_t count,
			     uint32_t owner, uint64_t now, struct extent *out)
{
	if (extents_take(&s->extents, count, now, out))
		return true;
	if (table_store_make_room(s, count, now))
		return extents_take(&s->extents, count, now, out);
	table_store_make_room_later(s, count, owner, now);
	return false;
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
