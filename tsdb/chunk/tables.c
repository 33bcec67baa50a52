/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/chunk/tables.h"

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"

/*
 * Maximum size of a stored table in bytes; writers end the stripe before a
 * table gets so large.
 */
#define STORED_MAX (64 * MIB)

enum {
	TABLES_BUCKETS = 1024,
};

/* A cached table. */
struct entry {
	/* Must be the first member: pointers to it are cast to entries. */
	struct table_ref ref;
	struct tables *cache;
	/*
	 * Block that owns the file; NULL after tables_forget(): the entry is in
	 * no bucket, and is freed with its last reference.
	 */
	const void *owner;
	uint32_t file;
	uint64_t offset;
	/* Memory of the open table in bytes, and the number of references. */
	size_t bytes;
	uint32_t users;
	uint64_t used; /* time of the last use, in units of tables.tick */
	/* Next entry of the bucket, in no particular order. */
	struct entry *next;
};

/* A cache of tables: a hash table of lists. */
struct tables {
	const struct codec *codec;
	size_t max;
	struct mutex mu;
	struct entry *buckets[TABLES_BUCKETS];
	size_t bytes;
	/* Number of uses of all tables so far; serves as a clock. */
	uint64_t tick;
};

struct tables *tables_new(const struct codec *codec, size_t max)
{
	struct tables *t = mem_new(struct tables);

	t->codec = codec;
	t->max = max;
	mutex_init(&t->mu);
	return t;
}

/* Free an entry that is in no bucket. */
static void tables_entry_free(struct tables *t, struct entry *e)
{
	t->codec->table_free(e->ref.table);
	mem_free(e);
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < TABLES_BUCKETS; i++) {
		while (t->buckets[i]) {
			struct entry *e = t->buckets[i];

			t->buckets[i] = e->next;
			tables_entry_free(t, e);
		}
	}
	mutex_destroy(&t->mu);
	mem_free(t);
}

/* Return the bucket of the table at a place; the lock is held. */
static struct entry **tables_bucket(struct tables *t,
				    const struct table_place *p) REQUIRES(t->mu)
{
	const uint64_t words[] = { (uintptr_t)p->owner, p->number,
				   p->at.offset };
	uint64_t hash = hash_key(
		(struct bytes){ (const uint8_t *)words, sizeof(words) });

	return &t->buckets[hash % TABLES_BUCKETS];
}

/*
 * Find the entry of the table at place *p, and take a reference to it. NULL:
 * the table is not cached. The lock is held.
 */
static struct entry *tables_find(struct tables *t, const struct table_place *p)
	REQUIRES(t->mu)
{
	struct entry *e = *tables_bucket(t, p);

	while (e && (e->owner != p->owner || e->file != p->number ||
		     e->offset != p->at.offset))
		e = e->next;
	if (e) {
		e->users++;
		e->used = ++t->tick;
	}
	return e;
}

/*
 * Find the least recently used entry without users. NULL: all entries have
 * users. The lock is held.
 */
static struct entry **tables_find_oldest(struct tables *t) REQUIRES(t->mu)
{
	struct entry **found = NULL;

	for (size_t i = 0; i < TABLES_BUCKETS; i++) {
		for (struct entry **e = &t->buckets[i]; *e; e = &(*e)->next) {
			if (!(*e)->users &&
			    (!found || (*e)->used < (*found)->used))
				found = e;
		}
	}
	return found;
}

/* Free an entry that has no users and is in no bucket; the lock is held. */
static void tables_drop(struct tables *t, struct entry *e) REQUIRES(t->mu)
{
	t->bytes -= e->bytes;
	tables_entry_free(t, e);
}

/* Evict until the limit is met or all tables are in use; the lock is held. */
static void tables_shrink(struct tables *t) REQUIRES(t->mu)
{
	while (t->bytes > t->max) {
		struct entry **at = tables_find_oldest(t);
		struct entry *e;

		if (!at)
			return;
		e = *at;
		*at = e->next;
		tables_drop(t, e);
	}
}

/*
 * Read, verify and open a table. Runs without the lock, because it reads from
 * disk. A table that is too large for the codec counts as damaged.
 */
static int tables_load(const struct tables *t, const struct table_place *p,
		       struct codec_table **out, struct err *err)
{
	const struct chunk_table *place = &p->at;
	const struct file *f = p->file;
	struct buf stored = { 0 };
	int rc;

	if (place->len > STORED_MAX || !buf_reserve(&stored, place->len))
		return err_set(
			err, ERR_CORRUPT,
			"%s: the table of shared data at offset %llu cannot have %u bytes (the most is %ld): the metadata of the chunk is damaged",
			file_path(f), (unsigned long long)place->offset,
			place->len, STORED_MAX);
	rc = file_read(f, place->offset, stored.ptr, place->len, err);
	stored.len = place->len;
	if (!rc && crc32c_extend(0, buf_bytes(&stored)) != place->crc)
		rc = err_set(
			err, ERR_CORRUPT,
			"%s: checksum mismatch in the table of shared data at offset %llu",
			file_path(f), (unsigned long long)place->offset);
	if (!rc) {
		rc = t->codec->table_open(buf_bytes(&stored), out, err);
		if (rc)
			err_wrap(err, rc,
				 "%s: the table of shared data at offset %llu",
				 file_path(f),
				 (unsigned long long)place->offset);
	}
	buf_fini(&stored);
	return rc == ERR_TOOBIG ? ERR_CORRUPT : rc;
}

int tables_get(struct tables *t, const struct table_place *place,
	       struct table_ref **out, struct err *err)
{
	struct entry **bucket;
	struct entry *other;
	struct entry *e;
	int rc;

	mutex_lock(&t->mu);
	e = tables_find(t, place);
	mutex_unlock(&t->mu);
	if (e) {
		*out = &e->ref;
		return 0;
	}
	e = mem_new(struct entry);
	rc = tables_load(t, place, &e->ref.table, err);
	if (rc) {
		mem_free(e);
		return rc;
	}
	e->cache = t;
	e->owner = place->owner;
	e->file = place->number;
	e->offset = place->at.offset;
	/* The memory limit is for open tables, not for their stored bytes. */
	e->bytes = t->codec->table_memory(e->ref.table);
	e->users = 1;
	mutex_lock(&t->mu);
	/* Another thread may have loaded the same table by now. */
	other = tables_find(t, place);
	if (!other) {
		e->used = ++t->tick;
		bucket = tables_bucket(t, place);
		e->next = *bucket;
		*bucket = e;
		t->bytes += e->bytes;
		tables_shrink(t);
	}
	mutex_unlock(&t->mu);
	/* Two threads loaded the same table: use the cached copy. */
	if (other)
		tables_entry_free(t, e);
	*out = other ? &other->ref : &e->ref;
	return 0;
}

struct table_ref *table_ref(struct table_ref *ref)
{
	struct entry *e = (struct entry *)ref;

	if (!ref)
		return NULL;
	mutex_lock(&e->cache->mu);
	e->users++;
	mutex_unlock(&e->cache->mu);
	return ref;
}

/* Entries without users stay until memory is needed. */
void table_unref(struct table_ref *ref)
{
	struct entry *e = (struct entry *)ref;
	struct tables *t;

	if (!ref)
		return;
	t = e->cache;
	mutex_lock(&t->mu);
	e->users--;
	if (!e->owner && !e->users)
		tables_drop(t, e);
	tables_shrink(t);
	mutex_unlock(&t->mu);
}

/* Forget the tables of an owner that are in a bucket; the lock is held. */
static void tables_forget_bucket(struct tables *t, struct entry **at,
				 const void *owner) REQUIRES(t->mu)
{
	while (*at) {
		struct entry *e = *at;

		if (e->owner != owner) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		e->owner = NULL;
		if (!e->users)
			tables_drop(t, e);
	}
}

void tables_forget(struct tables *t, const void *owner)
{
	mutex_lock(&t->mu);
	for (size_t i = 0; i < TABLES_BUCKETS; i++)
		tables_forget_bucket(t, &t->buckets[i], owner);
	mutex_unlock(&t->mu);
}
