/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/view.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/wal/wal_trim.h"

/* Whether head `a` comes before head `b` in the list of heads. */
static bool head_is_before(const struct head *a, const struct head *b)
{
	return a->start != b->start ? a->start < b->start : a->lsn < b->lsn;
}

/*
 * The head is inserted at its place in the sorted list. The list is short, so a
 * linear search is enough.
 */
void db_add_head(struct tsdb *db, struct head *r)
{
	size_t at;

	mutex_lock(&db->view_mu);
	db->heads = mem_grow(db->heads, db->head_count, &db->head_cap,
			     sizeof(struct head *));
	at = db->head_count++;
	for (; at && head_is_before(r, db->heads[at - 1]); at--)
		db->heads[at] = db->heads[at - 1];
	db->heads[at] = r;
	mutex_unlock(&db->view_mu);
}

/*
 * Insert a block into the list, which is sorted by first LSN; view_mu is held.
 */
static void add_block_locked(struct tsdb *db, struct block *b)
	REQUIRES(db->view_mu)
{
	size_t at;

	db->blocks = mem_grow(db->blocks, db->block_count, &db->block_cap,
			      sizeof(struct block *));
	at = db->block_count++;
	for (; at && b->meta.first_lsn < db->blocks[at - 1]->meta.first_lsn;
	     at--)
		db->blocks[at] = db->blocks[at - 1];
	db->blocks[at] = b;
}

/* Whether `parts` contains the part `p`. */
static bool is_among(const struct part *parts, size_t count, struct part p)
{
	for (size_t i = 0; i < count; i++) {
		if (parts[i].head == p.head && parts[i].block == p.block)
			return true;
	}
	return false;
}

/* Remove the heads among `parts` from the list of heads; view_mu is held. */
static void drop_ranges_locked(struct tsdb *db, const struct part *parts,
			       size_t count) REQUIRES(db->view_mu)
{
	size_t kept = 0;

	for (size_t i = 0; i < db->head_count; i++) {
		struct part p = { .head = db->heads[i] };

		if (is_among(parts, count, p))
			part_unref(p);
		else
			db->heads[kept++] = p.head;
	}
	db->head_count = kept;
}

/* Remove the blocks among `parts` from the list of blocks; view_mu is held. */
static void drop_blocks_locked(struct tsdb *db, const struct part *parts,
			       size_t count) REQUIRES(db->view_mu)
{
	size_t kept = 0;

	for (size_t i = 0; i < db->block_count; i++) {
		struct part p = { .block = db->blocks[i] };

		if (is_among(parts, count, p))
			part_unref(p);
		else
			db->blocks[kept++] = p.block;
	}
	db->block_count = kept;
}

/*
 * Removal and insertion are one step: no reader may see a profile twice or not
 * at all.
 */
void db_replace_locked(struct tsdb *db, const struct part *parts, size_t count,
		       struct block *b)
{
	mutex_lock(&db->view_mu);
	drop_ranges_locked(db, parts, count);
	drop_blocks_locked(db, parts, count);
	if (b)
		add_block_locked(db, b);
	mutex_unlock(&db->view_mu);
}

void db_replace(struct tsdb *db, const struct part *parts, size_t count,
		struct block *b)
{
	mutex_lock(&db->append_mu);
	db_replace_locked(db, parts, count, b);
	mutex_unlock(&db->append_mu);
}

int db_supersede(struct tsdb *db, const struct part *parts, size_t count,
		 struct block *child, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct part p = parts[i];

		/*
		 * The directory is listed as trash before the view changes: a
		 * removal that fails is retried before any other job runs
		 * (docs/decisions.md, 22).
		 */
		trash_add(&db->trash, p.head ? p.head->path : p.block->path,
			  p.head ? HEAD_DELETE_SUFFIX : BLOCK_DELETE_SUFFIX);
	}
	db_replace(db, parts, count, child);
	return trash_empty(&db->trash, err);
}

/* The directory of a part. */
static const char *view_path_of(struct part p)
{
	return p.head ? p.head->path : p.block->path;
}

/*
 * The directories are kept because another machine may be able to read them
 * (docs/decisions.md, 88).
 */
int db_set_aside(struct tsdb *db, const struct part *parts, size_t count,
		 struct block *child, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		log_event(
			db->o.log, LOG_ERROR,
			"some profiles or deletions of a head block or block could not be read; the readable profiles are in a new block, and the directory is kept as *" ASIDE_UNREAD,
			LOG_FIELDS(
				log_text("directory", view_path_of(parts[i]))));
		rc = trash_rename_aside(db->o.fs, view_path_of(parts[i]),
					ASIDE_UNREAD, err);
		db->set_aside += !rc;
	}
	db_replace(db, parts, count, child);
	return rc;
}

/*
 * Return the span, for state_retire(), of the WAL records whose profiles the
 * part has.
 */
static struct retired_span view_span_of(struct tsdb *db, struct part p)
{
	if (p.block)
		return (struct retired_span){
			.from_ms = p.block->meta.min_ms,
			.to_ms = p.block->meta.max_ms,
			.first_lsn = p.block->meta.first_lsn,
			.last_lsn = p.block->meta.last_lsn,
		};
	return (struct retired_span){ .from_ms = p.head->start,
				      .to_ms = p.head->start + WINDOW_MS,
				      .first_lsn = p.head->lsn,
				      .last_lsn = wal_end(db->wal) };
}

/*
 * The spans are saved before the files are removed: otherwise, after a crash,
 * the removed profiles would be recovered from the WAL.
 */
int db_retire(struct tsdb *db, const struct part *parts, size_t count,
	      struct err *err)
{
	/* Spans of segments that come back after a crash must stay. */
	int rc = wal_drop_sync(db->wal, err);

	for (size_t i = 0; i < count && !rc; i++) {
		struct retired_span span = view_span_of(db, parts[i]);

		rc = state_retire(&db->state, &span, wal_begin(db->wal), err);
	}
	return rc ? rc : db_supersede(db, parts, count, NULL, err);
}

struct part *db_parts(struct tsdb *db, size_t *count)
{
	struct part *v;
	size_t n = 0;

	mutex_lock(&db->view_mu);
	v = mem_zalloc(db->block_count + db->head_count, sizeof(*v));
	for (size_t i = 0; i < db->block_count; i++)
		v[n++] = part_ref((struct part){ .block = db->blocks[i] });
	for (size_t i = 0; i < db->head_count; i++)
		v[n++] = part_ref((struct part){ .head = db->heads[i] });
	mutex_unlock(&db->view_mu);
	*count = n;
	return v;
}

struct part *db_heads(struct tsdb *db, size_t *count)
{
	struct part *v;

	mutex_lock(&db->view_mu);
	v = mem_zalloc(db->head_count, sizeof(*v));
	for (size_t i = 0; i < db->head_count; i++)
		v[i] = part_ref((struct part){ .head = db->heads[i] });
	*count = db->head_count;
	mutex_unlock(&db->view_mu);
	return v;
}

void db_parts_free(struct part *v, size_t count)
{
	for (size_t i = 0; i < count; i++)
		part_unref(v[i]);
	mem_free(v);
}
