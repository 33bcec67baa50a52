/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/open/tsdb.h"
#include "base/mutex.h"

#include "base/mem.h"
#include "tsdb/db/append.h"
#include "tsdb/db/db.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/loading.h"
#include "tsdb/db/worker.h"
#include "tsdb/io/dirlock.h"
#include "tsdb/maintain/maintenance.h"
#include "tsdb/open/recovery.h"
#include "tsdb/wal/wal_log.h"
#include "tsdb/wal/wal_trim.h"

#define SYNC_MS     1000  /* time between syncs of the WAL, in ms */
#define MAINTAIN_MS 60000 /* time between rounds of maintenance, in ms */
/* Maximum bytes of the cache of stripes' tables, which all readers share. */
#define TABLES_MAX (32 * MIB)

struct appender *tsdb_appender(struct tsdb *db)
{
	return &db->appender;
}

struct sample_log *tsdb_sample_log(struct tsdb *db)
{
	return wal_sample_log(db->wal);
}

bool tsdb_samples_may_have(struct tsdb *db, struct str name)
{
	return known_labels_may_have(&db->known_labels, name);
}

bool tsdb_sample_labels(struct tsdb *db, void (*fn)(void *ctx, struct str name),
			void *ctx)
{
	return known_labels_each(&db->known_labels, fn, ctx);
}

int tsdb_flush(struct tsdb *db, struct err *err)
{
	return flush_everything(db, err);
}

int tsdb_maintain(struct tsdb *db, bool seal_all, struct err *err)
{
	struct err unwanted;

	return db_maintain(db, seal_all, err ? err : &unwanted);
}

/* Run a round of maintenance. db_maintain() logs the errors. */
static int maintenance_round(struct tsdb *db)
{
	struct err err;

	return db_maintain(db, false, &err);
}

/* The flush thread: syncs the WAL once a second, and flushes. */
static void *flush_run(void *arg)
{
	struct tsdb *db = arg;

	worker_loop(db, &db->flush, db->o.sync_ms > 0 ? db->o.sync_ms : SYNC_MS,
		    flush_round);
	return NULL;
}

/* The maintenance thread. */
static void *maintenance_run(void *arg)
{
	struct tsdb *db = arg;

	worker_loop(db, &db->maintenance,
		    db->o.maintain_ms > 0 ? db->o.maintain_ms : MAINTAIN_MS,
		    maintenance_round);
	return NULL;
}

/* Wake the appends that wait; they then check `interrupted` and `quit`. */
void tsdb_interrupt(struct tsdb *db)
{
	mutex_lock(&db->loop_mu);
	db->interrupted = true;
	atomic_store(&db->quit, 1);
	pthread_cond_broadcast(&db->wake);
	pthread_cond_broadcast(&db->done);
	mutex_unlock(&db->loop_mu);
}

/*
 * The maintenance thread is joined first. Then the flush thread runs its last
 * round and is joined.
 */
static void stop_workers(struct tsdb *db)
{
	tsdb_interrupt(db);
	mutex_lock(&db->loop_mu);
	db->stopping = true;
	atomic_fetch_add(&db->cancel, 1);
	pthread_cond_broadcast(&db->wake);
	pthread_cond_broadcast(&db->done);
	mutex_unlock(&db->loop_mu);
	if (db->maintenance.running)
		pthread_join(db->maintenance.thread, NULL);
	if (db->flush.running)
		pthread_join(db->flush.thread, NULL);
}

/*
 * The condition variables use the monotonic clock, so that a jump of the system
 * clock does not affect waiting times.
 */
static void init_locks(struct tsdb *db)
{
	mutex_init(&db->append_mu);
	mutex_init(&db->clock_mu);
	mutex_init(&db->view_mu);
	mutex_init(&db->flush_mu);
	mutex_init(&db->job_mu);
	mutex_init(&db->loop_mu);
	clock_cond_init(&db->wake);
	clock_cond_init(&db->done);
}

int tsdb_open(const struct tsdb_options *o, struct tsdb **out, struct err *err)
{
	struct tsdb *db = mem_new(struct tsdb);
	struct err unwanted;
	int rc;

	db->o = *o;
	db->appender =
		(struct appender){ .append = db_append, .sync = db_sync };
	db->path = mem_strdup(o->path);
	db->budget = wal_budget(o);
	db->interner = interner_new();
	/* The file system is all that the trash list needs. */
	db->trash.fs = o->fs;
	state_init(&db->state, o->fs, db->path);
	known_labels_init(&db->known_labels, o->fs, db->path);
	init_locks(db);
	db->env = (struct head_env){ .fs = o->fs,
				     .dir = mem_printf("%s/ranges", o->path),
				     .read_only = o->read_only,
				     .interner = db->interner,
				     .outage_ms = o->outage_ms,
				     .log = o->log };
	db_register_metrics(db);
	db->benv = (struct block_env){ .fs = o->fs,
				       .dir = db->path,
				       .log = o->log,
				       .corruptions = db->env.corruptions,
				       .columns = o->columns,
				       .known_labels = &db->known_labels };
	if (o->columns)
		db->benv.tables = tables_new(o->columns, TABLES_MAX);
	/*
	 * Functions below also log their errors, so they need an err that is
	 * not NULL.
	 */
	rc = db_load(db, err ? err : &unwanted);
	if (rc) {
		tsdb_close(db);
		return rc;
	}
	db->flusher =
		flusher_new(db->wal, o->log, o->metrics, db->metrics.damaged);
	if (!o->read_only) {
		ballast_init(&db->ballast, o->fs, db->path,
			     db_segment_size(db));
		/*
		 * Reserve disk space now, because when the space is needed, the
		 * disk is full.
		 */
		ballast_make(&db->ballast);
		worker_start(&db->flush, "tsdb-flush", flush_run, db);
		if (o->maintain_ms >= 0)
			worker_start(&db->maintenance, "tsdb-maintain",
				     maintenance_run, db);
	}
	*out = db;
	return 0;
}

/*
 * Remove WAL segments at a clean shutdown if all of their profiles are in heads
 * or blocks. If there are no unflushed profiles, an empty segment is begun, so
 * that all others can be removed.
 */
static void retire_wal(struct tsdb *db)
{
	struct err err;

	if (!atomic_load(&db->env.unflushed) && wal_retire(db->wal, &err))
		log_event(
			db->o.log, LOG_WARN,
			"cannot begin a new WAL segment at shutdown; the WAL is kept",
			LOG_FIELDS(log_err(&err)));
	if (db_drop_wal(db, &err))
		log_event(
			db->o.log, LOG_WARN,
			"cannot remove WAL segments at shutdown; they are kept",
			LOG_FIELDS(log_err(&err)));
}

/*
 * tsdb_open() also calls this when it fails half-way, so any member may be
 * missing.
 */
void tsdb_close(struct tsdb *db)
{
	if (!db)
		return;
	stop_workers(db);
	if (db->flusher && !db->o.read_only)
		retire_wal(db);
	flusher_free(db->flusher);
	wal_close(db->wal);
	for (size_t i = 0; i < db->head_count; i++)
		head_unref(db->heads[i]);
	for (size_t i = 0; i < db->block_count; i++)
		block_unref(db->blocks[i]);
	mem_free(db->heads);
	mem_free(db->blocks);
	trash_fini(&db->trash);
	ballast_fini(&db->ballast);
	mem_free(db->failed);
	loading_forget(db);
	state_fini(&db->state);
	known_labels_fini(&db->known_labels);
	interner_free(db->interner);
	dirlock_release(db->lock);
	pthread_cond_destroy(&db->done);
	pthread_cond_destroy(&db->wake);
	mutex_destroy(&db->loop_mu);
	mutex_destroy(&db->job_mu);
	mutex_destroy(&db->flush_mu);
	mutex_destroy(&db->view_mu);
	mutex_destroy(&db->append_mu);
	mutex_destroy(&db->clock_mu);
	mem_free(db->env.dir);
	tables_free(db->benv.tables);
	mem_free(db->path);
	mem_free(db);
}
