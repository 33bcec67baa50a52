/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database from the inside: what tsdb.c shares with querier.c.
 */
#ifndef TSDB_DB_H
#define TSDB_DB_H

#include <pthread.h>

#include "tsdb/flush.h"
#include "tsdb/range.h"
#include "tsdb/tsdb.h"
#include "tsdb/wal.h"
#include "tsdb/window.h"

struct tsdb_metrics {
	struct metric *appended;
	struct metric *duplicates;
	struct metric *conflicts;
	struct metric *out_of_bounds;
	struct metric *flush_failures;
	struct metric *flushes;
	struct metric *value_bytes;
	struct metric *series_created;
};

/*
 * Locks, outer before inner: flush_mu, append_mu, view_mu, a range's mu, the
 * WAL's.
 */
struct tsdb {
	struct appender appender; /* first: its calls cast back */
	struct tsdb_options o;
	char *path;
	uint64_t budget;
	struct dirlock *lock;
	struct interner *interner;
	struct range_env env;
	struct wal *wal;
	struct tsdb_metrics metrics;
	_Atomic int64_t queriers;

	/* One appender at a time: a record's LSN and its place in memory. */
	pthread_mutex_t append_mu;

	/* Changed with append_mu held too. */
	pthread_mutex_t view_mu;
	struct range *ranges[WINDOW_RANGES_MAX]; /* by start, then LSN */
	size_t range_count;

	pthread_mutex_t flush_mu; /* one flush at a time */
	struct flusher *flusher;

	pthread_mutex_t loop_mu;
	pthread_cond_t loop_wake;
	pthread_cond_t flushed;
	bool stopping;
	bool kicked;
	uint64_t flush_rounds;
	bool running;
	pthread_t loop;
};

#endif
