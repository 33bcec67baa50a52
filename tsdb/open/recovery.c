/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/open/recovery.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"
#include "tsdb/db/db_clock.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/loading.h"
#include "tsdb/db/open_heads.h"
#include "tsdb/db/view.h"
#include "tsdb/io/dirlock.h"
#include "tsdb/open/data_dir.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_replay.h"

/*
 * Whether a block contains the profile of a WAL record, or contained the
 * profile before it was deleted. The window and LSN range of the block must
 * include the record. For an undamaged block this is enough; in a damaged block
 * the profile is looked up (docs/decisions.md, 84).
 */
static bool block_accounts_for(struct block *b, const struct labels *ls,
			       const struct segment_entry *e)
{
	const struct meta *m = &b->meta;
	int64_t start = window_start(e->ms);
	struct part_hit hit = { 0 };
	struct err err;
	uint32_t series;
	int rc;

	if (start < m->min_ms || start >= m->max_ms || e->lsn < m->first_lsn ||
	    e->lsn > m->last_lsn)
		return false;
	if (!b->damaged)
		return true;
	rc = index_find(b->index, ls, &series, &err);
	if (!rc)
		rc = block_lookup(b, series, e->ms, &hit, &err);
	if (!rc)
		return block_values(b, hit.group.meta.place.file) != NULL;
	return rc == ERR_NOTFOUND;
}

/*
 * Whether a record that belongs to no head may be skipped, because a block or a
 * retired span (records whose profiles were removed on purpose) includes it. A
 * record whose profile is found nowhere may not be skipped (docs/decisions.md,
 * 84).
 */
static bool is_accounted_for(struct tsdb *db, const struct labels *ls,
			     const struct segment_entry *e)
{
	for (size_t i = 0; i < db->block_count; i++) {
		if (block_accounts_for(db->blocks[i], ls, e))
			return true;
	}
	return state_is_retired(&db->state, window_start(e->ms), e->lsn);
}

/*
 * Create a head for WAL records that are in no head and no block. A head takes
 * no record with an LSN below its opening LSN. The opening LSN is chosen just
 * below the record's LSN, so that the next startup finds this head for the
 * record. If an unreadable head already has the name, lower LSNs are tried:
 * LSNs are multiples of 8, so there are 7 free values between two records.
 */
static int make_recovery_range(struct tsdb *db, const struct segment_entry *e,
			       struct head **out, struct err *err)
{
	int rc = ERR_EXISTS;

	for (uint64_t k = 1; k < 8 && rc == ERR_EXISTS; k++)
		rc = head_create(&db->env, window_start(e->ms), e->lsn - k,
				 clock_ms(db->o.clock), out, err);
	if (!rc)
		db_add_head(db, *out);
	return rc;
}

/*
 * Find or create the head that a WAL record belongs to. Returns NULL if a block
 * contains the record's profile, if the profile was removed on purpose, or if
 * no head could be created for the record.
 */
static struct head *head_of(struct tsdb *db, const struct labels *ls,
			    const struct segment_entry *e)
{
	struct head *r = open_heads_find(db, window_start(e->ms), e->lsn);
	char time[40];
	struct err err;

	if (r || is_accounted_for(db, ls, e))
		return r;
	/*
	 * Nothing may be written to a read-only database, so this head exists
	 * only in memory. It may also exist on disk, if a running server has
	 * created it after the heads were listed.
	 */
	if (db->o.read_only)
		return head_in_memory(db, window_start(e->ms));
	if (make_recovery_range(db, e, &r, &err)) {
		/*
		 * The record stays in the WAL: its segment is marked, and its
		 * profiles are appended again later. On a full disk this
		 * happens to each of its records; one is reported.
		 */
		if (db->reported_segment == e->lsn >> 32)
			return NULL;
		db->reported_segment = e->lsn >> 32;
		time_format(e->ms, time);
		metric_add(db->env.corruptions, 1);
		log_event(
			db->o.log, LOG_ERROR,
			"cannot create a head block for profiles that are only in the WAL; they are missing in answers until everprof has stored them again, and their WAL segment is kept until then",
			LOG_FIELDS(log_int("segment", (int64_t)(e->lsn >> 32)),
				   log_text("time", time), log_err(&err)));
		/* wal_mark_settle() tries again. */
		(void)!wal_mark_unread(db->wal, e->lsn, NULL);
		return NULL;
	}
	r->recovery = true;
	return r;
}

/*
 * Insert a WAL record into its head. Returns false if the head already contains
 * the profile, flushed or from an earlier record.
 */
static bool replay_into(struct tsdb *db, struct head *r, struct labels *labels,
			const struct segment_entry *e)
{
	uint32_t series = head_find(r, labels);
	struct unflushed p = db_unflushed(e);
	struct part_hit hit = { 0 };

	if (series != SERIES_NONE &&
	    (head_is_done_with(r, series, e->ms, e->lsn) ||
	     !head_lookup(r, series, e->ms, NULL, &hit, NULL)))
		return false;
	head_insert(r, labels, &p, clock_ms(db->o.clock));
	return true;
}

/*
 * Callback for each WAL record at startup: insert the record into its head,
 * unless the profile is stored elsewhere.
 */
static void replay_entry(void *ctx, const struct segment_entry *e)
{
	struct tsdb *db = ctx;
	struct labels *labels = NULL;
	struct head *r;

	if (e->ms < 0 || labels_decode(e->labels, &labels, NULL)) {
		metric_add(db->env.corruptions, 1);
		return;
	}
	r = head_of(db, labels, e);
	/*
	 * `r` may be a head that was created for lost records. Such a head must
	 * not take a record of its window whose profile is in a block.
	 */
	if (r && r->recovery && is_accounted_for(db, labels, e))
		r = NULL;
	if (r && replay_into(db, r, labels, e) && r->recovery)
		db->recovered++;
	labels_unref(labels);
}

/*
 * The highest segment number in any LSN that heads and blocks refer to. The WAL
 * continues after it, so that no LSN is used twice even if the WAL was lost.
 */
static uint64_t highest_segment(const struct tsdb *db)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < db->head_count; i++) {
		uint64_t n = head_highest_lsn(db->heads[i]) >> 32;

		highest = n > highest ? n : highest;
	}
	for (size_t i = 0; i < db->block_count; i++) {
		uint64_t n = db->blocks[i]->meta.last_lsn >> 32;

		highest = n > highest ? n : highest;
	}
	return highest;
}

/*
 * Close all heads of a window except the last one, which takes samples. The
 * closed heads were about to be sealed when the last process ended.
 */
static void close_generations(struct tsdb *db)
{
	for (size_t i = 1; i < db->head_count; i++) {
		if (db->heads[i - 1]->start == db->heads[i]->start)
			db->heads[i - 1]->closed = true;
	}
}

/*
 * Log that profiles were recovered, because this means that a head or block was
 * lost.
 */
static void tell_recovered(struct tsdb *db)
{
	/*
	 * A running server may have created heads after the heads were listed.
	 * Records of these heads would be counted as recovered, although
	 * nothing was lost.
	 */
	if (db->o.read_only && dirlock_is_held(db->path))
		db->recovered = 0;
	if (!db->recovered)
		return;
	metric_add(db->metrics.recovered, (int64_t)db->recovered);
	log_event(
		db->o.log, LOG_WARN,
		db->o.read_only ?
			"profiles are only in the WAL: a head block or block that contained them is missing, damaged or unreadable" :
			"restored profiles from the WAL: a head block or block that contained them is missing, damaged or unreadable",
		LOG_FIELDS(log_int("profiles", (int64_t)db->recovered)));
}

/*
 * Set the retention clock of a database that never saved it to the time of the
 * newest stored profile. This is done before new profiles are added, because
 * their times may be wrong if the system clock is wrong. `unread`: it was saved,
 * but the disk cannot read it.
 */
static int begin_clock(struct tsdb *db, bool unread, struct err *err)
{
	int64_t now = clock_ms(db->o.clock);
	int64_t newest = INT64_MIN;
	int64_t oldest = now;
	size_t count;
	struct part *v;

	if (db->state.has_clock)
		return 0;
	v = db_parts(db, &count);
	for (size_t i = 0; i < count; i++) {
		if (part_max(v[i]) > newest)
			newest = part_max(v[i]);
		if (part_min(v[i]) < oldest)
			oldest = part_min(v[i]);
	}
	db_parts_free(v, count);
	/*
	 * The clock that was saved cannot be read, and the system clock may have
	 * been wrong already when the newest profiles were stored. With the
	 * oldest one, it is in doubt until it is confirmed.
	 */
	if (unread)
		newest = oldest;
	/*
	 * During an import (ignore_retention) profiles may be old, and say
	 * nothing about the current time.
	 */
	if (newest == INT64_MIN || newest > now || db->o.ignore_retention)
		newest = now;
	db->state.clock.trusted_ms = newest;
	db->state.has_clock = true;
	return state_save(&db->state, err);
}

/* Rename the state file, which the disk cannot read, to *.unread. */
static void state_keep_unread(const struct tsdb *db)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/state", db->path);
	struct err err;

	if (trash_rename_aside(db->o.fs, path, ASIDE_UNREAD, &err))
		log_event(
			db->o.log, LOG_ERROR,
			"cannot rename the state file, which cannot be read; a new state file will replace it",
			LOG_FIELDS(log_err(&err)));
}

/*
 * Load the file `state`. If it is damaged, the database still opens (see
 * state_load()). Returns whether the disk cannot read it.
 */
static bool load_state(struct tsdb *db)
{
	struct err err;
	int rc = state_load(&db->state, &err);

	if (!rc)
		return false;
	/* What the disk may read later must not be replaced. */
	if (rc == ERR_IO && !db->o.read_only)
		state_keep_unread(db);
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		"cannot read the state file; profiles that were removed may come back from the WAL",
		LOG_FIELDS(log_err(&err)));
	return rc == ERR_IO;
}

/*
 * Load the names of the labels that samples have. Without them, queries take more
 * time.
 */
static void load_sample_labels(struct tsdb *db, bool has_data)
{
	struct err err;

	if (!known_labels_load(&db->known_labels, has_data, db->o.read_only,
			       &err))
		return;
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		"cannot read or write the file sample-labels, which lists the names of the labels of samples; in Pyroscope's API, a query by a label that a series lacks may have to look at all samples of that series",
		LOG_FIELDS(log_err(&err)));
}

/* Refuse a directory that contains something other than a database. */
static int check_dir(const struct tsdb *db, struct err *err)
{
	bool may_be_new = !db->o.read_only && !db->o.must_exist;
	int rc = tsdb_check_dir(db->o.fs, db->path, may_be_new, err);

	return rc == ERR_NOTFOUND && may_be_new ? 0 : rc;
}

int db_load(struct tsdb *db, struct err *err)
{
	CLEANUP(mem_freep) char *wal_dir = mem_printf("%s/wal", db->path);
	struct wal_options wo = { .fs = db->o.fs,
				  .dir = wal_dir,
				  .segment_size = db_segment_size(db),
				  .read_only = db->o.read_only,
				  .hold = db->o.hold_wal,
				  .was_used =
					  tsdb_dir_was_used(db->o.fs, db->path),
				  .log = db->o.log,
				  .metrics = db->o.metrics,
				  .torn = db->metrics.torn };
	bool has_data = tsdb_dir_may_have_heads(db->o.fs, db->path);
	bool state_unread = false;
	int rc = check_dir(db, err);

	if (!rc && !db->o.read_only) {
		rc = fs_ensure_dir(db->o.fs, db->path, err);
		if (!rc)
			rc = dirlock_take(db->path, &db->lock, err);
		/* The sync of db->path below makes it durable. */
		if (!rc)
			rc = fs_add_dir(db->o.fs, db->env.dir, err);
	}
	if (!rc)
		state_unread = load_state(db);
	if (!rc)
		load_sample_labels(db, has_data);
	if (!rc)
		/*
		 * Open the WAL before the heads, and the heads before the
		 * blocks, because profiles move in this order. If a running
		 * server moves a profile in the meantime, the profile is seen
		 * twice rather than not at all.
		 */
		rc = wal_open(&wo, &db->wal, err);
	if (!rc && !db->o.read_only)
		rc = fs_sync_dir(db->o.fs, db->path, err);
	if (!rc)
		rc = loading_load_heads(db, err);
	if (!rc)
		rc = loading_load_blocks(db, err);
	if (!rc)
		rc = loading_drop_replaced(db, err);
	if (!rc)
		close_generations(db);
	if (!rc)
		rc = wal_replay(db->wal, highest_segment(db), replay_entry, db,
				err);
	if (!rc)
		tell_recovered(db);
	if (rc || db->o.read_only)
		return rc;
	/* A recovered head may be an earlier generation of its window. */
	close_generations(db);
	loading_clean_snapshots(db);
	if (begin_clock(db, state_unread, err))
		log_event(
			db->o.log, LOG_WARN,
			"cannot save the retention clock, by which the retention judges the age of profiles; everprof tries again later",
			LOG_FIELDS(log_err(err)));
	db_clock_begin(db);
	return trash_empty(&db->trash, err);
}
