/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database from the inside: what tsdb.c, its opening, its view, its
 * maintenance and the querier share.
 *
 * Ownership: tsdb_close() frees; the view holds a reference to each part.
 * Threads: see struct tsdb and docs/locking.md.
 */
#ifndef TSDB_DB_DB_H
#define TSDB_DB_DB_H

#include <pthread.h>

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

enum {
	HEADS_OPEN = 32, /* beyond it the one idle longest is sealed */
	HEADS_MAX = 40,  /* beyond it appends wait for that */
};

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
};

/* A thread that does something when it is woken, and now and then. */
struct worker {
	pthread_t thread;
	bool running;
	bool kicked;
	bool busy;       /* in a round */
	uint64_t rounds; /* done */
	char told[512];  /* the last failure that was logged, */
	int64_t told_ns; /* and when */
};

/*
 * Locks, outer before inner: job_mu, flush_mu, append_mu, view_mu, a range's
 * or block's mu, the WAL's. loop_mu is inside of all but a part's.
 */
struct tsdb {
	struct appender appender; /* first: its calls cast back */
	struct tsdb_options o;
	char *path;
	uint64_t budget;
	struct dirlock *lock;
	struct interner *interner;
	struct head_env env;
	struct block_env benv;
	struct wal *wal;
	struct tsdb_metrics metrics;
	_Atomic int64_t queriers;

	/* One appender at a time: a record's LSN and its place in memory. */
	pthread_mutex_t append_mu;

	/* Changed with append_mu held too. */
	pthread_mutex_t view_mu;
	struct head **heads; /* by start, then LSN */
	size_t head_count;
	size_t head_cap;
	struct block **blocks; /* older first, by LSN */
	size_t block_count;
	size_t block_cap;

	pthread_mutex_t flush_mu; /* one flush at a time */
	struct flusher *flusher;

	/* One job at a time: seal, compact, retain, delete, snapshot. */
	pthread_mutex_t job_mu;
	_Atomic int cancel; /* the compaction under way, if not 0 */
	_Atomic int quit;   /* the same, and any wait: the process ends */
	bool cancelled;     /* the last compaction was */
	struct trash trash;
	struct ballast ballast;
	_Atomic bool full;   /* the disk was, at the last try */
	struct ulid *failed; /* blocks whose compaction failed */
	size_t failed_count;
	size_t failed_cap;
	struct state state;
	int64_t clock_ns; /* when the retention clock was last looked at, */
	int64_t saved_ns; /* and written */
	_Atomic int64_t clock_doubt_ms; /* how long it has been in doubt */

	uint64_t unplaced;  /* LSN of a record that has no range; UINT64_MAX */
	uint64_t recovered; /* records that no range or block accounted for */
	uint64_t set_aside; /* blocks and ranges, at this start */

	pthread_mutex_t loop_mu;
	pthread_cond_t wake;
	pthread_cond_t done; /* a worker's round */
	bool interrupted;    /* nobody waits any more */
	bool stopping;
	struct worker flush;
	struct worker maintenance;
};

/* The view (view.c). */

/* Opening (db_open.c). */

/* Maintenance (maintain.c). */

/* Workers (tsdb.c). */

#endif
