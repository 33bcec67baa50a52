/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/engine/loading.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/db/view.h"
#include "tsdb/head/head_open.h"

bool ends_with(const char *s, const char *end)
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

	log_event(db->o.log, LOG_INFO,
		  "removing the directory of an unfinished operation",
		  LOG_FIELDS(log_text("directory", path)));
	trash_add_hidden(&db->trash, path);
	return trash_empty(&db->trash, err);
}

/*
 * Rename a damaged directory so that an operator can look at it. The database
 * starts without it.
 */
static int loading_set_aside(struct tsdb *db, const char *path, struct err *err)
{
	db->set_aside++;
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		db->o.read_only ?
			"skipping a damaged head block or block: its profiles are missing in all answers" :
			"skipping a damaged head block or block: its profiles are missing in all answers; it is renamed to *" ASIDE_DAMAGED,
		LOG_FIELDS(log_text("directory", path), log_err(err)));
	return db->o.read_only ?
		       0 :
		       rename_aside(db->o.fs, path, ASIDE_DAMAGED, err);
}

/* Whether a directory's name is this ULID. */
static bool loading_is_named(const char *name, const struct ulid *u)
{
	char text[ULID_TEXT + 1];

	ulid_format(u, text);
	return !strcmp(name, text);
}

/*
 * Skip a directory that the disk fails to read, and leave it in place; the next
 * startup tries again.
 */
static int loading_pass_over(struct tsdb *db, const char *path,
			     const struct err *err)
{
	db->set_aside++;
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		"the disk cannot read a head block or block: its profiles are missing in all answers; the next start tries again",
		LOG_FIELDS(log_text("directory", path), log_err(err)));
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
		return err_set(err, ERR_CORRUPT,
			       "%s is a copy of another block", path);
	}
	*out = b;
	return 0;
}

/*
 * Open one block and add it to the view. A block that cannot be used must not
 * prevent the database from opening.
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
	if (rc == ERR_IO)
		return loading_pass_over(db, path, err);
	if (rc == ERR_CORRUPT)
		return loading_set_aside(db, path, err);
	/* A running server removed the block after the directory was listed. */
	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	/* The directory has no meta.json. */
	if (rc == ERR_NOTFOUND)
		return loading_set_aside(db, path, err);
	if (!rc)
		db_add_block(db, b);
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

/* A block that was compacted from block b. NULL: there is none. */
static const struct block *loading_successor(const struct tsdb *db,
					     const struct block *b)
{
	for (size_t i = 0; i < db->block_count; i++) {
		if (has_parent(db->blocks[i], &b->meta.ulid))
			return db->blocks[i];
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

/*
 * Remove blocks that were compacted into other blocks. They exist when the last
 * process was interrupted after it published the new block, but before it
 * removed the old ones.
 */
static int drop_superseded(struct tsdb *db, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < db->block_count && !rc;) {
		struct part p = { .block = db->blocks[i] };
		const struct block *by = loading_successor(db, p.block);

		if (by)
			rc = drop_part(db, p, by, err);
		else
			i++;
	}
	return rc;
}

int load_blocks(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, db->path, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		struct ulid u;

		if (ends_with(l.names[i], BLOCK_TMP_SUFFIX) ||
		    ends_with(l.names[i], BLOCK_DELETE_SUFFIX))
			rc = db->o.read_only ? 0 :
					       remove_leftover(db, db->path,
							       l.names[i], err);
		else if (ulid_parse(str_of(l.names[i]), &u))
			rc = load_block(db, l.names[i], err);
	}
	name_list_fini(&l);
	return rc ? rc : drop_superseded(db, err);
}

/*
 * The block that was sealed from this head. NULL: there is none. A head without
 * a ULID (all zeros) matches no block.
 */
static const struct block *loading_sealed(const struct tsdb *db,
					  const struct head *r)
{
	for (size_t i = 0; i < db->block_count; i++) {
		const struct meta *m = &db->blocks[i]->meta;

		for (size_t k = 0; k < m->source_count; k++) {
			if (ulid_eq(&m->sources[k], &r->ulid) &&
			    !ulid_eq(&r->ulid, &(struct ulid){ { 0 } }))
				return db->blocks[i];
		}
	}
	return NULL;
}

int drop_sealed(struct tsdb *db, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < db->head_count && !rc;) {
		struct part p = { .head = db->heads[i] };
		const struct block *by = loading_sealed(db, p.head);

		if (by)
			rc = drop_part(db, p, by, err);
		else
			i++;
	}
	return rc;
}

/*
 * Open one head and add it to the view. A head that cannot be used must not
 * prevent the database from opening.
 */
static int load_head(struct tsdb *db, const char *name, struct err *err)
{
	CLEANUP(mem_freep) char *path = NULL;
	struct head *r = NULL;
	int rc;

	if (ends_with(name, HEAD_DELETE_SUFFIX))
		return db->o.read_only ?
			       0 :
			       remove_leftover(db, db->env.dir, name, err);
	/* This is not the name of a head: ignore the file. */
	if (strspn(name, "0123456789.abcdef") != strlen(name))
		return 0;
	path = mem_printf("%s/%s", db->env.dir, name);
	rc = head_open(&db->env, name, &r, err);
	/* Try a second time, as for blocks. */
	if (rc == ERR_CORRUPT)
		rc = head_open(&db->env, name, &r, err);
	if (rc == ERR_IO)
		return loading_pass_over(db, path, err);
	if (rc == ERR_CORRUPT)
		return loading_set_aside(db, path, err);
	/* A head that was not completely created has no records: skip it. */
	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	r->touched_ms = clock_ms(db->o.clock);
	db_add_head(db, r);
	return 0;
}

int load_heads(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, db->env.dir, &l, err);

	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	for (size_t i = 0; i < l.count && !rc; i++)
		rc = load_head(db, l.names[i], err);
	name_list_fini(&l);
	return rc;
}

void clean_snapshots(struct tsdb *db)
{
	CLEANUP(mem_freep) char *dir = mem_printf("%s/snapshots", db->path);
	struct name_list l = { 0 };

	if (fs_list(db->o.fs, dir, &l, NULL))
		/* There are no snapshots. */
		return;
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir, l.names[i]);

		if (ends_with(path, ".tmp"))
			trash_add_hidden(&db->trash, path);
	}
	name_list_fini(&l);
}
