/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/append.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "base/units.h"
#include "tsdb/db/db_clock.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/open_heads.h"
#include "tsdb/db/worker.h"
#include "tsdb/head/window.h"
#include "tsdb/wal/wal_trim.h"

#define STALL_MS 10000 /* maximum time in ms that an append waits for sealing */
#define RETRY_MS 250   /* ms between attempts of a waiting append */

/*
 * Look in a part for a profile with the series and the time of the sample.
 * Returns 1 and sets *hash to the hash of the profile; 0 if there is none; or
 * an error if the part cannot be read.
 */
static int stored_hash(struct tsdb *db, struct part part,
		       const struct sample *s, uint64_t *hash, struct err *err)
{
	struct part_hit hit = { 0 };
	uint32_t series = 0;
	int rc = part_find(part, s->labels, &series, err);

	if (!rc)
		rc = part_lookup(part, series, s->ms, NULL, &hit, err);
	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	/*
	 * A copy in a WAL segment whose sync failed may not survive a crash, so
	 * it does not count: the profile is written again (docs/decisions.md,
	 * 7).
	 */
	if (hit.unflushed && wal_may_be_lost(db->wal, hit.wal.lsn))
		return 0;
	*hash = hit.unflushed ? hit.wal.hash :
				hit.group.meta.profiles[hit.group.index].hash;
	return 1;
}

/*
 * Part number `i` of the view, borrowed: append_mu keeps the part in the view.
 */
static struct part part_at(const struct tsdb *db, size_t i)
{
	if (i < db->block_count)
		return (struct part){ .block = db->blocks[i] };
	return (struct part){ .head = db->heads[i - db->block_count] };
}

/*
 * Return 1 if the sample's profile is stored already; 0 if the series has no
 * profile at the sample's time; ERR_EXISTS if the series has a different
 * profile at that time. A part that cannot be read decides nothing: the profile
 * may then be stored twice, which does no harm, whereas a refused one is lost.
 */
static int check_duplicate(struct tsdb *db, const struct sample *s,
			   struct err *err)
{
	for (size_t i = 0; i < db->block_count + db->head_count; i++) {
		struct part p = part_at(db, i);
		uint64_t hash = 0;
		char text[40];
		int rc;

		if (s->ms < part_min(p) || s->ms > part_max(p))
			continue;
		rc = stored_hash(db, p, s, &hash, err);
		/* Of two different profiles, answers would show the older. */
		if (rc == ERR_IO)
			rc = stored_hash(db, p, s, &hash, err);
		if (rc == ERR_CORRUPT || rc == ERR_IO)
			continue;
		if (rc < 0)
			return rc;
		if (rc && hash == s->hash)
			return 1;
		time_format(s->ms, text);
		if (rc)
			return err_set(
				err, ERR_EXISTS,
				"this series already has a different profile with the time %s; the new one is dropped; do two targets or senders have the same labels?",
				text);
	}
	return 0;
}

/*
 * Whether the sample would add a series while the number of series is above the
 * hard bound, `max_series` plus an eighth. If so, a head must be sealed first.
 */
static bool must_wait(struct tsdb *db, struct head *r, const struct sample *s)
{
	return db->o.max_series &&
	       atomic_load(&db->env.weight) >
		       db->o.max_series + db->o.max_series / 8 &&
	       (!r || head_find(r, s->labels) == SERIES_NONE);
}

/*
 * Append under append_mu, so that the order of LSNs is the order in which
 * profiles appear in memory (docs/decisions.md, 3). Returns 1 if the profile is
 * stored already.
 */
static int append_locked(struct tsdb *db, const struct sample *s, uint64_t *lsn,
			 struct err *err) REQUIRES(db->append_mu)
{
	struct segment_entry e = { 0 };
	struct unflushed p;
	struct head *r = NULL;
	int rc = check_duplicate(db, s, err);

	if (rc == 1) {
		/*
		 * The stored copy may not be durable yet. The caller's sync up
		 * to the end of the WAL makes it durable.
		 */
		metric_add(db->metrics.duplicates, 1);
		*lsn = wal_end(db->wal);
		return 1;
	}
	if (rc == ERR_EXISTS && !s->may_move)
		metric_add(db->metrics.conflicts, 1);
	if (!rc && must_wait(db, db_open_head(db, window_start(s->ms)), s))
		rc = err_set(
			err, ERR_LIMIT,
			"the open head blocks have more series than --storage.tsdb.max-series allows, or longer labels (each KiB counts as a series); new series are refused until a head block is sealed");
	if (!rc)
		rc = db_head_for(db, window_start(s->ms), wal_end(db->wal), &r,
				 err);
	if (!rc)
		rc = wal_append(db->wal, s, &e, err);
	if (rc)
		return rc;
	p = db_unflushed(&e);
	head_insert(r, s->labels, &p, clock_ms(db->o.clock));
	metric_add(db->metrics.appended, 1);
	*lsn = wal_end(db->wal);
	return 0;
}

/*
 * Set and return ERR_CLOSED, for an append that would have to wait while the
 * database is shutting down.
 */
static int is_closing(struct err *err)
{
	return err_set(err, ERR_CLOSED, "everprof is shutting down");
}

/*
 * Back-pressure. When the size of the WAL or the number of unflushed profiles
 * exceeds its bound, a flush is started. When it exceeds the bound by a
 * quarter, the append waits for a flush, and is refused if the flush did not
 * help.
 */
static int append_make_room(struct tsdb *db, struct err *err)
{
	uint64_t hard = db->budget + db->budget / 4;
	bool over = wal_bytes(db->wal) > db->budget &&
		    wal_overdue(db->wal, db->budget);

	if (!over && !unflushed_exceed(db, UNFLUSHED_MAX))
		return 0;
	if (wal_bytes(db->wal) <= hard &&
	    !unflushed_exceed(db, UNFLUSHED_MAX + UNFLUSHED_MAX / 4)) {
		db_wake(db, &db->flush);
		return 0;
	}
	if (atomic_load(&db->quit))
		return is_closing(err);
	worker_await_round(db, &db->flush);
	if (unflushed_exceed(db, UNFLUSHED_MAX + UNFLUSHED_MAX / 4))
		return err_set(
			err, ERR_LIMIT,
			"too many profiles in the WAL wait to be flushed to head blocks; profiles are refused until the flush catches up");
	if (wal_bytes(db->wal) <= hard || !wal_overdue(db->wal, db->budget))
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"the WAL has %llu MB, more than the maximum of %llu MB; profiles are refused until the flush catches up (this maximum is 1.25 times the smallest of three sizes: --storage.tsdb.wal-budget, an eighth of --storage.tsdb.retention.size, and an eighth of the disk)",
		(unsigned long long)(wal_bytes(db->wal) / MIB),
		(unsigned long long)(hard / MIB));
}

/* Whether a head should be sealed early to make room. */
static bool is_crowded(struct tsdb *db)
{
	return (db->o.max_series &&
		atomic_load(&db->env.weight) > db->o.max_series) ||
	       db->head_count > HEADS_OPEN;
}

/* One attempt to append. Maintenance is woken if it is needed to make room. */
static int append_try(struct tsdb *db, const struct sample *s, uint64_t *lsn,
		      struct err *err)
{
	bool crowded;
	int rc;

	mutex_lock(&db->append_mu);
	rc = append_locked(db, s, lsn, err);
	crowded = is_crowded(db);
	mutex_unlock(&db->append_mu);
	if (crowded)
		db_wake(db, &db->maintenance);
	return rc == 1 ? 0 : rc;
}

/*
 * Whether a sample may be stored now, by its time and by what is full. One that
 * was stored before (`again`) is not too new: the clock was another one then.
 */
static int append_admit(struct tsdb *db, const struct sample *s, bool again,
			struct err *err)
{
	int64_t retention = db->o.ignore_retention ? 0 : db->o.retention_ms;
	struct trusted_time now = db_clock_time(db);
	int rc;

	if (again && s->ms > now.latest_ms)
		now.latest_ms = s->ms;
	rc = window_check(s->ms, &now, retention, err);
	if (rc) {
		metric_add(db->metrics.out_of_bounds, 1);
		return rc;
	}
	if (atomic_load(&db->full)) {
		/*
		 * Wake the flush thread, which checks whether there is space
		 * again.
		 */
		db_wake(db, &db->flush);
		return err_set(
			err, ERR_NOSPACE,
			"%s: no space: the disk is full, or a quota or a limit on the size of files is reached; profiles are refused until there is space",
			db->path);
	}
	return append_make_room(db, err);
}

int db_resend(struct tsdb *db, const struct sample *s, struct err *err)
{
	int rc = 0;

	mutex_lock(&db->append_mu);
	if (db->o.hold_wal)
		rc = wal_append_resend(db->wal, s, err);
	mutex_unlock(&db->append_mu);
	return rc;
}

int db_append_again(struct tsdb *db, const struct sample *s, bool resend,
		    struct err *err)
{
	uint64_t lsn;
	int rc = append_admit(db, s, true, err);

	mutex_lock(&db->append_mu);
	if (!rc)
		rc = append_locked(db, s, &lsn, err);
	mutex_unlock(&db->append_mu);
	/* What is stored, or too old to be stored, may not have been sent. */
	if ((rc == 1 || rc == ERR_INVALID) && resend)
		rc = db_resend(db, s, err);
	return rc == 1 || rc == ERR_INVALID || rc == ERR_EXISTS ? 0 : rc;
}

/*
 * Sealing makes room for series and windows, but the series of a sealed head
 * still count until the last query that uses the head ends: try again for a
 * while.
 */
static int append_after_sealing(struct tsdb *db, const struct sample *s,
				uint64_t *lsn, struct err *err)
{
	int64_t until = clock_mono_ns() + STALL_MS * 1000000LL;
	int rc = ERR_LIMIT;

	while (rc == ERR_LIMIT && db->maintenance.running &&
	       clock_mono_ns() < until) {
		if (atomic_load(&db->quit))
			return is_closing(err);
		worker_await_round(db, &db->maintenance);
		rc = append_try(db, s, lsn, err);
		/*
		 * Maintenance may have found nothing to do and returned at
		 * once: pause, instead of trying again without a break.
		 */
		if (rc == ERR_LIMIT)
			worker_pause_for(db, RETRY_MS);
	}
	return rc;
}

int db_append(struct appender *a, const struct sample *s, uint64_t *lsn,
	      struct err *err)
{
	struct tsdb *db = (struct tsdb *)a;
	int rc = append_admit(db, s, false, err);

	if (!rc)
		rc = known_labels_note(&db->known_labels, s, err);
	if (rc == ERR_NOSPACE)
		db_no_space(db);
	if (rc)
		return rc;
	rc = append_try(db, s, lsn, err);
	if (rc == ERR_LIMIT)
		rc = append_after_sealing(db, s, lsn, err);
	if (rc == ERR_NOSPACE)
		db_no_space(db);
	if (!rc && db->o.sync_ms < 0)
		rc = wal_sync(db->wal, *lsn, err);
	return rc;
}

int db_sync(struct appender *a, uint64_t from, uint64_t lsn, struct err *err)
{
	return wal_sync_range(((struct tsdb *)a)->wal, from, lsn, err);
}
