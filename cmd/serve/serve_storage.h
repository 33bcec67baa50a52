/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage of the running program: a database for everprof serve, a log
 * alone for everprof agent. Both take samples through the same interface.
 *
 * Ownership: storage_close() frees what storage_open() has opened. Flags, log
 * and metrics are borrowed.
 * Threads: one thread opens and closes; the interfaces may be used by any.
 */
#ifndef CMD_SERVE_SERVE_STORAGE_H
#define CMD_SERVE_SERVE_STORAGE_H

#include "base/log.h"
#include "base/metrics.h"
#include "cmd/serve/serve_flags.h"
#include "tsdb/open/agent_store.h"
#include "tsdb/open/tsdb.h"

/* Exactly one of the first two members is set while the storage is open. */
struct storage {
	struct tsdb *db;
	struct agent_store *agent;
	struct appender *appender;
	struct sample_log *samples; /* read by remote write */
};

/* Options of storage_open(). */
struct storage_options {
	const struct serve_flags *flags;
	bool agent;      /* whether this is everprof agent */
	int64_t sync_ms; /* see serve_flags_sync() */
	const struct log *log;
	struct metrics *metrics;
};

/*
 * Open the storage, replays its WAL, and register its metrics. Errors are
 * those of tsdb_open() or agent_store_open(), and of serve_flags_retention().
 */
NODISCARD int storage_open(const struct storage_options *o, struct storage *out,
			   struct err *err);

/*
 * Announce that the program ends: appends that wait for room fail now, so that
 * the threads that append can end.
 */
void storage_interrupt(struct storage *s);

/* Close the storage; a storage that is not open is ignored. */
void storage_close(struct storage *s);

#endif
