/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file defines struct tsdb, the state of an open database, which the files
 * of db/, engine/, maintain/ and query/ share.
 *
 * Ownership: tsdb_close() frees the database; the view holds a reference to
 * each part.
 * Threads: see struct tsdb and docs/locking.md.
 */
#ifndef TSDB_DB_DB_H
#define TSDB_DB_DB_H

#include <pthread.h>

#include "base/mutex.h"
#include "model/appender.h"
#include "tsdb/block/block.h"
#include "tsdb/block/part.h"
#include "tsdb/db/options.h"
#include "tsdb/db/state.h"
#include "tsdb/head/flush.h"
#include "tsdb/head/head.h"
#include "tsdb/head/window.h"
#include "tsdb/io/ballast.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal.h"

/*
 * Bounds on the number of heads that exist at once. Each takes the samples of
 * one window of two hours (docs/decisions.md, 17).
 */
enum {
	HEADS_OPEN = 32, /* with more heads, the longest idle one is sealed */
	/* Maximum number of heads: an append that needs another one waits. */
	HEADS_MAX = 40,
};

/* The counters of the storage engine; db_metrics.c describes each. */
struct tsdb_metrics {
	struct metric *appended;
	struct metric *duplicates;
	struct metric *conflicts;
	struct metric *out_of_bounds;
	struct metric *flush_failures;
	struct metric *flushes;
	struct metric *value_bytes;
	struct metric *damaged; /* number of profiles lost to damage */
	struct metric *torn;
	struct metric *recovered;
	struct metric *seals;
	struct metric *compactions;
	struct metric *compaction_failures;
	struct metric *time_retentions;
	struct metric *size_retentions;
	struct metric *deleted;
	struct metric *no_space;
	/* Number of damaged records and files of heads and blocks. */
	struct metric *corruptions;
};

/*
 * A background thread that does a round of work at regular intervals and when
 * it is woken. loop_mu guards all members except `logged` and `logged_ns`,
 * which only db_log_failure() uses.
 */
struct worker {
	pthread_t thread;
	bool running;
	bool woken;        /* whether it was woken since its last round began */
	bool busy;         /* whether a round is under way */
	uint64_t rounds;   /* number of rounds completed */
	char logged[512];  /* message of the failure that was logged last */
	int64_t logged_ns; /* monotonic time when `logged` was logged */
};

/* A directory that the disk failed to read when it was to be opened. */
struct unread_dir {
	const char *parent; /* that of the heads or of the blocks; borrowed */
	char *name;
};

/*
 * A database. Lock order, outer before inner: job_mu, flush_mu, append_mu,
 * view_mu, the mutex of a head or block, the mutex of the WAL. loop_mu comes
 * last: it may be taken under all of them, except under the mutex of a head or
 * block.
 */
struct tsdb {
	/*
	 * Must be the first member: db_append() and db_sync() get a pointer to
	 * it, and cast the pointer to struct tsdb *.
	 */
	struct appender appender;
	struct tsdb_options o;
	char *path;
	/* Size of the WAL in bytes above which it is flushed. */
	uint64_t budget;
	struct dirlock *lock;
	struct interner *interner;
	struct head_env env;
	struct block_env benv;
	struct known_labels known_labels;
	struct wal *wal;
	struct tsdb_metrics metrics;
	/*
	 * The last WAL segment of which recovery has reported that there is no
	 * head block for a record.
	 */
	uint64_t reported_segment;
	_Atomic int64_t queriers; /* number of open queriers */

	/*
	 * Serializes appends, so that profiles are written to the WAL and
	 * inserted into heads in the same order.
	 */
	struct mutex append_mu;

	/*
	 * Guards the lists of parts. A change needs append_mu as well, so
	 * either of the two locks suffices to read the lists.
	 */
	struct mutex view_mu;
	struct head **heads; /* sorted by start, then by LSN */
	size_t head_count;
	size_t head_cap;
	struct block **blocks; /* oldest first, by LSN */
	size_t block_count;
	size_t block_cap;

	/* guards `clock`; no other lock is taken under it */
	struct mutex clock_mu;
	struct trusted_clock clock;

	struct mutex flush_mu; /* one flush at a time */
	struct flusher *flusher;

	/*
	 * One job at a time: seal, compaction, retention, deletion, snapshot.
	 */
	struct mutex job_mu;
	_Atomic int cancel; /* if not 0, a compaction under way is cancelled */
	/*
	 * If not 0, the database is shutting down: waits end, and even a
	 * compaction that ignores `cancel` is cancelled.
	 */
	_Atomic int quit;
	bool cancelled; /* the last compaction was cancelled */
	struct trash trash;
	struct ballast ballast;
	_Atomic bool full;   /* the disk is full: appends are refused */
	struct ulid *failed; /* ids of the blocks whose compaction failed */
	size_t failed_count;
	size_t failed_cap;
	struct state state;
	int64_t saved_ns;      /* when the retention clock was last saved */
	int64_t readmitted_ns; /* see readmission_next(); 0: not yet */
	bool clock_doubted;    /* a doubt about the clock has been logged */
	/*
	 * For how many ms the time of day has been in doubt; 0: it is trusted.
	 */
	_Atomic int64_t clock_doubt_ms;

	/* Number of WAL records found in no head or block. */
	uint64_t recovered;
	/* Number of heads and blocks that could not be opened. */
	uint64_t set_aside;
	/* Of these, those that loading_retry() tries again; job_mu guards them. */
	struct unread_dir *unread;
	_Atomic size_t unread_count;
	size_t unread_cap;

	struct mutex loop_mu;
	pthread_cond_t wake;
	pthread_cond_t done; /* signalled when a worker has completed a round */
	/*
	 * Whether the database is shutting down: no thread may wait for a
	 * worker.
	 */
	bool interrupted;
	bool stopping;
	struct worker flush;
	struct worker maintenance;
};

/*
 * Register all counters of the database, and store pointers to them in
 * db->metrics and db->env.
 */
void db_register_metrics(struct tsdb *db);

#endif
