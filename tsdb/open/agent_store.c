/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/open/agent_store.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/units.h"
#include "model/types.h"
#include "tsdb/io/dirlock.h"
#include "tsdb/open/data_dir.h"
#include "tsdb/wal/wal.h"
#include "tsdb/wal/wal_log.h"
#include "tsdb/wal/wal_replay.h"
#include "tsdb/wal/wal_unread.h"

/* The default size of a segment, in bytes, on disks of any size. */
#define SEGMENT_SIZE_MAX (16 * MIB)
#define SEGMENT_SIZE_MIN (64 * KIB)
#define SEGMENTS_ON_DISK 64   /* that fit on a smaller disk */
#define SYNC_MS          1000 /* default time between syncs, in ms */

struct agent_store {
	/*
	 * Must be the first member: append and sync cast a pointer to it to
	 * struct agent_store *.
	 */
	struct appender appender;
	struct agent_store_options o;
	char *path;
	struct dirlock *lock;
	bool was_used; /* the directory was one of an agent before */
	struct wal *wal;
	struct metric *appended;
	struct metric *torn;

	struct mutex append_mu; /* one append at a time */
	int64_t readmitted_ns;  /* of the thread that syncs; 0: not yet */

	/* Guards the thread that syncs. */
	struct mutex sync_mu;
	pthread_cond_t stop;
	pthread_t syncer;
	bool syncing;         /* whether the thread runs */
	_Atomic int stopping; /* asked without the lock, too */
};

/* Implement appender.append. */
static int agent_store_append(struct appender *a, const struct sample *s,
			      uint64_t *lsn, struct err *err)
{
	struct agent_store *st = (struct agent_store *)a;
	struct segment_entry e = { 0 };
	int rc;

	/*
	 * The receiver decides which times are too old or too new. The clock of
	 * an agent may be wrong until its machine has reached a time server.
	 */
	if (s->ms < 0)
		return err_set(err, ERR_INVALID, "time %lld ms is before 1970",
			       (long long)s->ms);
	mutex_lock(&st->append_mu);
	rc = wal_append(st->wal, s, &e, err);
	*lsn = wal_end(st->wal);
	mutex_unlock(&st->append_mu);
	if (rc)
		return rc;
	metric_add(st->appended, 1);
	return st->o.sync_ms < 0 ? wal_sync(st->wal, *lsn, err) : 0;
}

/* Implement appender.sync. */
static int agent_store_sync(struct appender *a, uint64_t from, uint64_t lsn,
			    struct err *err)
{
	return wal_sync_range(((struct agent_store *)a)->wal, from, lsn, err);
}

/* Append a profile of an unread segment again; the receiver finds duplicates. */
static int agent_store_readmit(void *ctx, const struct segment_profile *p,
			       bool partial UNUSED, struct err *err)
{
	struct agent_store *st = ctx;
	int64_t totals[TYPES_MAX];
	struct sample s = segment_profile_sample(p, totals);
	uint64_t lsn;
	int rc;

	rc = labels_decode(p->entry.labels, &s.labels, err);
	if (!rc)
		rc = st->appender.append(&st->appender, &s, &lsn, err);
	labels_unref(s.labels);
	return rc;
}

/* Every five minutes, and at the start: try to read what the disk could not. */
static void agent_store_readmit_all(struct agent_store *s)
{
	const struct wal_unread_taker taker = { .profile = agent_store_readmit,
						.ctx = s,
						.whole = true,
						.quit = &s->stopping };
	struct err err;
	int rc;

	if (s->readmitted_ns &&
	    clock_mono_ns() - s->readmitted_ns < 5 * CLOCK_MINUTE_NS)
		return;
	rc = wal_unread_take_all(s->wal, &taker, &err);
	if (rc && rc != ERR_CLOSED)
		log_event(
			s->o.log, LOG_ERROR,
			"cannot append again the profiles of WAL segments that the disk could not read earlier (wal/*.unread); everprof tries again in five minutes",
			LOG_FIELDS(log_err(&err)));
	s->readmitted_ns = clock_mono_ns();
}

/*
 * The thread that makes appended samples durable at regular intervals, and takes
 * back what the disk could not read.
 */
static void *agent_store_run(void *arg)
{
	struct agent_store *s = arg;
	struct err err;

	mutex_lock(&s->sync_mu);
	while (!s->stopping) {
		int64_t every_ms = s->o.sync_ms < 0 ? SYNC_MS : s->o.sync_ms;
		struct timespec at =
			clock_mono_at(clock_mono_ns() + every_ms * 1000000);

		(void)mutex_wait_until(&s->sync_mu, &s->stop, &at);
		mutex_unlock(&s->sync_mu);
		if (wal_sync(s->wal, wal_end(s->wal), &err))
			log_event(
				s->o.log, LOG_ERROR,
				"cannot sync the WAL; until its newest profiles are sent, a crash of the machine may lose them",
				LOG_FIELDS(log_err(&err)));
		agent_store_readmit_all(s);
		mutex_lock(&s->sync_mu);
	}
	mutex_unlock(&s->sync_mu);
	return NULL;
}

/*
 * Callback of the replay. It does nothing, because an agent keeps no index of
 * its samples.
 */
static void ignore_entry(void *ctx UNUSED, const struct segment_entry *e UNUSED)
{
}

/* Refuse the directory of a database, which contains a folder `ranges`. */
static int check_no_database(struct agent_store *s, struct err *err)
{
	CLEANUP(mem_freep) char *ranges = mem_printf("%s/ranges", s->path);
	struct name_list l = { 0 };
	int rc = fs_list(s->o.fs, ranges, &l, err);

	name_list_fini(&l);
	if (rc == ERR_NOTFOUND)
		return 0;
	return rc ? rc :
		    err_set(err, ERR_INVALID,
			    "%s is the data directory of everprof serve: use another --storage.agent.path",
			    s->path);
}

/* Open the directory and lock it. */
static int open_dir(struct agent_store *s, struct err *err)
{
	int rc = tsdb_check_dir(s->o.fs, s->path, true, err);

	s->was_used = tsdb_dir_was_used(s->o.fs, s->path);
	if (rc == ERR_NOTFOUND)
		rc = fs_mkdir(s->o.fs, s->path, err);
	if (!rc)
		rc = check_no_database(s, err);
	return rc ? rc : dirlock_take(s->path, &s->lock, err);
}

/*
 * Open the log. wal_replay() seals the segments of the last run, so that later
 * starts need not scan them.
 */
static int open_log(struct agent_store *s, struct err *err)
{
	CLEANUP(mem_freep) char *dir = mem_printf("%s/wal", s->path);
	const struct wal_options o = { .fs = s->o.fs,
				       .dir = dir,
				       .segment_size =
					       (uint64_t)s->o.segment_size,
				       .no_heads = true,
				       .was_used = s->was_used,
				       .log = s->o.log,
				       .metrics = s->o.metrics,
				       .torn = s->torn };
	int rc = wal_open(&o, &s->wal, err);

	if (!rc)
		rc = fs_sync_dir(s->o.fs, s->path, err);
	return rc ? rc : wal_replay(s->wal, 0, ignore_entry, NULL, err);
}

int64_t agent_store_segment_size(uint64_t disk)
{
	uint64_t size = disk / SEGMENTS_ON_DISK;

	if (size > SEGMENT_SIZE_MAX)
		return (int64_t)SEGMENT_SIZE_MAX;
	return (int64_t)(size < SEGMENT_SIZE_MIN ? SEGMENT_SIZE_MIN : size);
}

/* The size of segments on the disk of the store. */
static int64_t agent_store_size_by_disk(const struct agent_store *s)
{
	uint64_t total = UINT64_MAX;
	uint64_t available;

	/* It is as large as any. */
	(void)!fs_space(s->path, &total, &available, NULL);
	return agent_store_segment_size(total);
}

static void start_syncer(struct agent_store *s)
{
	s->syncing = true;
	s->syncer = thread_start("agent-sync", agent_store_run, s);
}

int agent_store_open(const struct agent_store_options *o,
		     struct agent_store **out, struct err *err)
{
	struct agent_store *s = mem_new(struct agent_store);
	int rc;

	s->appender = (struct appender){ .append = agent_store_append,
					 .sync = agent_store_sync };
	s->o = *o;
	s->path = mem_strdup(o->path);
	s->o.sync_ms = o->sync_ms ?: SYNC_MS;
	mutex_init(&s->append_mu);
	mutex_init(&s->sync_mu);
	clock_cond_init(&s->stop);
	s->appended = metrics_counter(
		o->metrics, "everprof_tsdb_head_samples_appended_total",
		"Profiles written to the WAL.", NULL);
	s->torn = metrics_counter(
		o->metrics, "everprof_tsdb_torn_ends_total",
		"Torn ends of logs (incomplete last records) that were cut off at startup; normal after a crash or a power cut.",
		NULL);
	rc = open_dir(s, err);
	if (!rc)
		s->o.segment_size = o->segment_size ?:
						      agent_store_size_by_disk(s);
	if (!rc)
		rc = open_log(s, err);
	if (rc) {
		agent_store_close(s);
		return rc;
	}
	start_syncer(s);
	*out = s;
	return 0;
}

void agent_store_close(struct agent_store *s)
{
	if (!s)
		return;
	if (s->syncing) {
		mutex_lock(&s->sync_mu);
		atomic_store(&s->stopping, 1);
		pthread_cond_signal(&s->stop);
		mutex_unlock(&s->sync_mu);
		pthread_join(s->syncer, NULL);
	}
	wal_close(s->wal);
	dirlock_release(s->lock);
	pthread_cond_destroy(&s->stop);
	mutex_destroy(&s->sync_mu);
	mutex_destroy(&s->append_mu);
	mem_free(s->path);
	mem_free(s);
}

struct appender *agent_store_appender(struct agent_store *s)
{
	return &s->appender;
}

struct sample_log *agent_store_log(struct agent_store *s)
{
	return wal_sample_log(s->wal);
}

uint64_t agent_store_bytes(struct agent_store *s)
{
	return wal_bytes(s->wal);
}
