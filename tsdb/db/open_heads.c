/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/open_heads.h"

#include "base/mem.h"
#include "tsdb/db/view.h"

/*
 * The heads of a window are sorted by opening LSN, so the last head that
 * matches is the right generation. One of which the disk cannot read all cannot
 * say what it has, and nothing may be written to it.
 */
struct head *open_heads_find(const struct tsdb *db, int64_t start, uint64_t lsn)
{
	struct head *found = NULL;

	for (size_t i = 0; i < db->head_count; i++) {
		if (db->heads[i]->start == start && db->heads[i]->lsn <= lsn &&
		    !db->heads[i]->unreadable)
			found = db->heads[i];
	}
	return found;
}

/* The newest head of the window, if it still takes samples; otherwise NULL. */
struct head *db_open_head(const struct tsdb *db, int64_t start)
{
	for (size_t i = db->head_count; i--;) {
		if (db->heads[i]->start == start && !db->heads[i]->closed)
			return db->heads[i];
	}
	return NULL;
}

/*
 * Create a head on disk and add it to the view. ERR_EXISTS becomes ERR_IO,
 * because callers treat ERR_EXISTS as a conflicting profile.
 */
static int make_head(struct tsdb *db, int64_t start, uint64_t lsn,
		     struct head **out, struct err *err)
{
	struct head *r = NULL;
	int rc = head_create(&db->env, start, lsn, clock_ms(db->o.clock), &r,
			     err);

	if (rc == ERR_EXISTS)
		return err_wrap(err, ERR_IO, "cannot create a head block");
	if (rc)
		return rc;
	db_add_head(db, r);
	*out = r;
	return 0;
}

int db_head_for(struct tsdb *db, int64_t start, uint64_t lsn, struct head **out,
		struct err *err)
{
	*out = db_open_head(db, start);
	if (*out)
		return 0;
	if (db->head_count >= HEADS_MAX)
		return err_set(
			err, ERR_LIMIT,
			"%d head blocks are already open; profiles of other two-hour windows are refused until one of these blocks is sealed",
			HEADS_MAX);
	return make_head(db, start, lsn, out, err);
}

/*
 * The head has a path, but nothing is written there, because the database is
 * read-only.
 */
struct head *head_in_memory(struct tsdb *db, int64_t start)
{
	struct head *r = head_new(&db->env, "(WAL)");

	r->start = start;
	r->recovery = true;
	db_add_head(db, r);
	return r;
}

/*
 * The result has only 32 bytes, because a head keeps it in memory for each
 * unflushed profile; everything else is read from the WAL record when needed
 * (docs/decisions.md, 4).
 */
struct unflushed db_unflushed(const struct segment_entry *e)
{
	return (struct unflushed){ .ms = e->ms,
				   .lsn = e->lsn,
				   .hash = e->hash,
				   .raw_len = e->raw_len,
				   .len = e->len };
}
