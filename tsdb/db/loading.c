/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/loading.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/db/view.h"
#include "tsdb/head/head_open.h"
#include "tsdb/wal/wal_unread.h"

bool loading_ends_with(const char *s, const char *end)
{
	size_t n = strlen(s);
	size_t m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/*
 * Remove a directory whose creation or removal the last process had not
 * finished.
 */
static int remove_leftover(struct tsdb *db, const char *dir, const char *name,
			   struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", dir, name);

	log_event(
		db->o.log, LOG_INFO,
		"removing a directory whose creation or removal was not finished; no profile is lost by this",
		LOG_FIELDS(log_text("directory", path)));
	trash_add_hidden(&db->trash, path);
	return trash_empty(&db->trash, err);
}

int loading_set_aside(struct tsdb *db, const char *dir, const char *name,
		      struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", dir, name);

	db->set_aside++;
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		db->o.read_only ?
			"skipping a head block or block that is damaged or has a wrong name; answers lack its profiles, except those that the WAL or another block has" :
			"skipping a head block or block that is damaged or has a wrong name; answers lack its profiles, except those that the WAL or another block has; it is renamed to *" ASIDE_DAMAGED,
		LOG_FIELDS(log_text("directory", path), log_err(err)));
	return db->o.read_only ?
		       0 :
		       trash_rename_aside(db->o.fs, path, ASIDE_DAMAGED, err);
}

/* Whether a directory's name is this ULID. */
static bool loading_is_named(const char *name, const struct ulid *u)
{
	char text[ULID_TEXT + 1];

	ulid_format(u, text);
	return !strcmp(name, text);
}

/* Note that the disk fails to read a directory, which stays in place. */
static void loading_note_unread(struct tsdb *db, const char *dir,
				const char *name)
{
	struct unread_dir *d;

	size_t count = atomic_load(&db->unread_count);

	db->unread = mem_grow(db->unread, count, &db->unread_cap, sizeof(*d));
	d = &db->unread[count];
	atomic_store(&db->unread_count, count + 1);
	d->parent = dir;
	d->name = mem_strdup(name);
}

/*
 * Leave out a directory that the disk fails to read; loading_retry() tries
 * again.
 */
static void loading_pass_over(struct tsdb *db, const char *dir,
			      const char *name, const struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", dir, name);

	db->set_aside++;
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		db->o.maintain_ms < 0 ?
			"cannot read a head block or block; answers lack its profiles, except those that the WAL still has" :
			"cannot read a head block or block; answers lack its profiles, except those that the WAL still has; everprof tries again every five minutes",
		LOG_FIELDS(log_text("directory", path), log_err(err)));
	loading_note_unread(db, dir, name);
}

/*
 * Deal with a directory that could not be opened at startup. Only damage and
 * failed reads are no reason to refuse the database.
 */
static int loading_failed(struct tsdb *db, const char *dir, const char *name,
			  int rc, struct err *err)
{
	if (rc == ERR_CORRUPT)
		return loading_set_aside(db, dir, name, err);
	if (rc != ERR_IO)
		return rc;
	loading_pass_over(db, dir, name, err);
	return 0;
}

/*
 * Open a block and check that its name is its ULID. Returns ERR_CORRUPT also
 * for a copy of another block under a different name.
 */
static int open_named(struct tsdb *db, const char *path, const char *name,
		      struct block **out, struct err *err)
{
	struct block *b = NULL;
	int rc = block_open(&db->benv, path, &b, err);

	if (rc)
		return rc;
	/*
	 * The original and the copy have the same ULID. Once one of them is
	 * compacted, both would be removed as superseded.
	 */
	if (!loading_is_named(name, &b->meta.ulid)) {
		block_unref(b);
		return err_set(
			err, ERR_CORRUPT,
			"%s: the directory is a copy of another block, or was renamed: its name is not the ULID in its meta.json; if it was renamed, give it its old name back",
			path);
	}
	*out = b;
	return 0;
}

/*
 * Open one block and add it to the view. ERR_CORRUPT: it is damaged. ERR_IO: the
 * disk fails to read it.
 */
static int load_block(struct tsdb *db, const char *name, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", db->path, name);
	struct block *b = NULL;
	int rc = open_named(db, path, name, &b, err);

	/*
	 * Try a second time: the bytes may have been damaged in memory, not on
	 * disk.
	 */
	if (rc == ERR_CORRUPT)
		rc = open_named(db, path, name, &b, err);
	/* A running server removed the block after the directory was listed. */
	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	/* The directory has no meta.json. */
	if (rc == ERR_NOTFOUND)
		return ERR_CORRUPT;
	if (!rc)
		db_replace(db, NULL, 0, b);
	return rc;
}

/* Whether block b was compacted from the block with the ULID u. */
static bool has_parent(const struct block *b, const struct ulid *u)
{
	for (size_t i = 0; i < b->meta.parent_count; i++) {
		if (ulid_eq(&b->meta.parents[i].ulid, u))
			return true;
	}
	return false;
}

/* Whether block b was sealed from the head with the ULID u. */
static bool loading_has_source(const struct block *b, const struct ulid *u)
{
	/* A head without a ULID has become no block. */
	if (ulid_eq(u, &(struct ulid){ { 0 } }))
		return false;
	for (size_t i = 0; i < b->meta.source_count; i++) {
		if (ulid_eq(&b->meta.sources[i], u))
			return true;
	}
	return false;
}

/* The block among some parts that was made from part p. NULL: there is none. */
static const struct block *loading_successor(const struct part *v, size_t count,
					     struct part p)
{
	for (size_t i = 0; i < count; i++) {
		const struct block *b = v[i].block;

		if (b && (p.block ? has_parent(b, &p.block->meta.ulid) :
				    loading_has_source(b, &p.head->ulid)))
			return b;
	}
	return NULL;
}

/*
 * Remove a part that the block `by` has replaced. In a read-only database the
 * part is only removed from the view.
 */
static int drop_part(struct tsdb *db, struct part p, const struct block *by,
		     struct err *err)
{
	if (!db->o.read_only)
		return by->meta.incomplete ?
			       db_set_aside(db, &p, 1, NULL, err) :
			       db_supersede(db, &p, 1, NULL, err);
	db_replace(db, &p, 1, NULL);
	return 0;
}

int loading_drop_replaced(struct tsdb *db, struct err *err)
{
	size_t count;
	struct part *v = db_parts(db, &count);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		const struct block *by = loading_successor(v, count, v[i]);

		if (by)
			rc = drop_part(db, v[i], by, err);
	}
	db_parts_free(v, count);
	return rc;
}

int loading_load_blocks(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, db->path, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		struct ulid u;

		if (loading_ends_with(l.names[i], BLOCK_TMP_SUFFIX) ||
		    loading_ends_with(l.names[i], BLOCK_DELETE_SUFFIX))
			rc = db->o.read_only ? 0 :
					       remove_leftover(db, db->path,
							       l.names[i], err);
		else if (ulid_parse(str_of(l.names[i]), &u))
			rc = loading_failed(db, db->path, l.names[i],
					    load_block(db, l.names[i], err),
					    err);
	}
	name_list_fini(&l);
	return rc;
}

/*
 * Add a head to the view. One that comes late takes no samples: others have taken
 * its place, whose profiles would be looked for in it after the next start.
 * Nothing may be written to one of which the disk cannot read all.
 */
static void loading_add_head(struct tsdb *db, struct head *r, bool late)
{
	if (late && !r->index.series) {
		trash_add(&db->trash, r->path, HEAD_DELETE_SUFFIX);
		head_unref(r);
		return;
	}
	r->touched_ms = clock_ms(db->o.clock);
	r->closed = late || r->unreadable;
	mutex_lock(&db->append_mu);
	db_add_head(db, r);
	mutex_unlock(&db->append_mu);
}

/*
 * Open one head and add it to the view, at startup or later. ERR_CORRUPT: it is
 * damaged. ERR_IO: the disk fails to read it.
 */
static int load_head(struct tsdb *db, const char *name, bool late,
		     struct err *err)
{
	struct head *r = NULL;
	int rc = head_open(&db->env, name, &r, err);

	/* Try a second time, as for blocks. */
	if (rc == ERR_CORRUPT)
		rc = head_open(&db->env, name, &r, err);
	if (!rc)
		loading_add_head(db, r, late);
	/* A head that was not completely created has no records: skip it. */
	return rc == ERR_NOTFOUND ? 0 : rc;
}

int loading_load_heads(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, db->env.dir, &l, err);

	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	for (size_t i = 0; i < l.count && !rc; i++) {
		const char *name = l.names[i];

		if (loading_ends_with(name, HEAD_DELETE_SUFFIX))
			rc = db->o.read_only ? 0 :
					       remove_leftover(db, db->env.dir,
							       name, err);
		/* Other files, and what was set aside, have other names. */
		else if (strspn(name, "0123456789.abcdef") == strlen(name))
			rc = loading_failed(db, db->env.dir, name,
					    load_head(db, name, false, err),
					    err);
	}
	name_list_fini(&l);
	return rc;
}

/*
 * Whether the view has a head in this directory. One without profiles gives way
 * to a new one of its name, as of one whose creation was cut short.
 */
static bool loading_has_head(struct tsdb *db, const char *path)
{
	bool found = false;

	mutex_lock(&db->view_mu);
	for (size_t i = 0; i < db->head_count && !found; i++)
		found = !strcmp(db->heads[i]->path, path);
	mutex_unlock(&db->view_mu);
	return found;
}

/* Open something that the disk failed to read before. */
static int loading_open_late(struct tsdb *db, const struct unread_dir *d,
			     struct err *err)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/%s", d->parent, d->name);
	int rc;

	if (loading_has_head(db, path))
		return 0;
	rc = d->parent == db->env.dir ? load_head(db, d->name, true, err) :
					load_block(db, d->name, err);
	if (rc == ERR_CORRUPT)
		return loading_set_aside(db, d->parent, d->name, err);
	wal_unread_report(db->o.log, path, rc, err);
	return rc;
}

int loading_retry(struct tsdb *db, struct err *err)
{
	size_t count = atomic_load(&db->unread_count);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct unread_dir *d = &db->unread[i];

		if (loading_open_late(db, d, err)) {
			db->unread[kept++] = *d;
			continue;
		}
		db->set_aside--;
		mem_free(d->name);
	}
	atomic_store(&db->unread_count, kept);
	return kept < count ? loading_drop_replaced(db, err) : 0;
}

void loading_forget(struct tsdb *db)
{
	for (size_t i = 0; i < db->unread_count; i++)
		mem_free(db->unread[i].name);
	mem_free(db->unread);
}

void loading_clean_snapshots(struct tsdb *db)
{
	CLEANUP(mem_freep) char *dir = mem_printf("%s/snapshots", db->path);
	struct name_list l = { 0 };

	if (fs_list(db->o.fs, dir, &l, NULL))
		/* There are no snapshots. */
		return;
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir, l.names[i]);

		if (loading_ends_with(path, ".tmp"))
			trash_add_hidden(&db->trash, path);
	}
	name_list_fini(&l);
}
