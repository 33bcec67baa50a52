/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file defines the internal structure of the database, which the files of
 * db/, engine/, maintain/ and query/ share.
 *
 * Ownership: tsdb_close() frees; the view holds a reference to each part.
 * Threads: see struct tsdb and docs/locking.md.
 */
#ifndef TSDB_DB_DB_H
#define TSDB_DB_DB_H

#include <pthread.h>

#include "base/mutex.h"
#include "model/appender.h"
#include "tsdb/block/block.h"
#include "tsdb/db/options.h"
#include "tsdb/db/state.h"
#include "tsdb/head/flush.h"
#include "tsdb/head/head.h"
#include "tsdb/head/window.h"
#include "tsdb/io/ballast.h"
#include "tsdb/io/trash.h"
#include "tsdb/part/part.h"
#include "tsdb/wal/wal.h"

/*
 * Bounds on the number of heads, that is, of windows of two hours that take
 * samples at once (docs/decisions.md, 17).
 */
enum {
	HEADS_OPEN = 32, /* with more, the longest idle head is sealed */
	HEADS_MAX = 40,  /* with so many, appends that need a new head wait */
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
	struct metric *damaged; /* profiles lost to damage */
	struct metric *torn;
	struct metric *recovered;
	struct metric *seals;
	struct metric *compactions;
	struct metric *compaction_failures;
	struct metric *time_retentions;
	struct metric *size_retentions;
	struct metric *deleted;
	struct metric *no_space;
	/* Damaged records and files of heads and blocks. */
	struct metric *corruptions;
};

/*
 * A background thread that runs a round at regular intervals and when it is
 * woken. Guarded by loop_mu, except the two members about logging, which only
 * db_log_failure() uses.
 */
struct worker {
	pthread_t thread;
	bool running;
	bool woken;        /* woken since its last round began */
	bool busy;         /* a round is under way */
	uint64_t rounds;   /* rounds completed */
	char logged[512];  /* message of the failure that was logged last */
	int64_t logged_ns; /* monotonic time when `logged` was logged */
};

/*
 * A database. Lock order, outer before inner: job_mu, flush_mu, append_mu,
 * view_mu, the mutex of a head or block, the mutex of the WAL. loop_mu comes
 * last: it may be taken under all of them, except under the mutex of a head or
 * block.
 */
struct tsdb {
	/*
	 * First member: db_append() and db_sync() cast a pointer to it to a
	 * pointer to struct tsdb.
	 */
	struct appender appender;
	struct tsdb_options o;
	char *path;
	uint64_t budget; /* bytes of the WAL above which it is flushed */
	struct dirlock *lock;
	struct interner *interner;
	struct head_env env;
	struct block_env benv;
	struct wal *wal;
	struct tsdb_metrics metrics;
	_Atomic int64_t queriers; /* number of open queriers */

	/*
	 * Serializes appends: a record's LSN and its place in memory are
	 * assigned together.
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

	struct mutex flush_mu; /* one flush at a time */
	struct flusher *flusher;

	/*
	 * One job at a time: seal, compaction, retention, deletion, snapshot.
	 */
	struct mutex job_mu;
	_Atomic int cancel; /* non-zero cancels a compaction under way */
	/*
	 * Shutting down: ends waits, and cancels a compaction that ignores
	 * `cancel`.
	 */
	_Atomic int quit;
	bool cancelled; /* the last compaction was cancelled */
	struct trash trash;
	struct ballast ballast;
	_Atomic bool full;   /* the last write found the disk full */
	struct ulid *failed; /* ids of the blocks whose compaction failed */
	size_t failed_count;
	size_t failed_cap;
	struct state state;
	int64_t clock_ns; /* when the retention clock was last advanced */
	int64_t saved_ns; /* when the retention clock was last saved */
	/* How long the time of day has been in doubt; 0: it is trusted. */
	_Atomic int64_t clock_doubt_ms;

	/*
	 * LSN of the first WAL record for which no head could be created; its
	 * segment and all later ones are kept. UINT64_MAX: none.
	 */
	uint64_t unplaced;
	uint64_t recovered; /* WAL records found in no head and no block */
	uint64_t set_aside; /* unreadable heads and blocks that were renamed */

	struct mutex loop_mu;
	pthread_cond_t wake;
	pthread_cond_t done; /* a worker has completed a round */
	bool interrupted; /* shutting down: no thread may wait for a worker */
	bool stopping;
	struct worker flush;
	struct worker maintenance;
};

#endif
