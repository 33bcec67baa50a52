/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database: profiles by label set and time.
 *
 * Words: a range takes the samples of two hours; the WAL makes them durable;
 * a flush moves them from the WAL into their range. docs/architecture.md.
 *
 * Ownership: tsdb_close() ends everything; appender and queriers must be done.
 * Threads: any, after tsdb_open() has returned.
 */
#ifndef TSDB_TSDB_H
#define TSDB_TSDB_H

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "model/appender.h"
#include "model/matcher.h"

struct codec;
struct tsdb;

/* Zero values mean the defaults in brackets. */
struct tsdb_options {
	const char *path;
	struct fs *fs;             /* NULL: the operating system */
	const struct clock *clock; /* NULL: the real one */
	const struct log *log;     /* NULL: silent */
	struct metrics *metrics;
	int64_t retention_ms;    /* [0: any age is taken] */
	int64_t wal_budget;      /* bytes [512 MiB] */
	int64_t wal_segment;     /* bytes [1/8 of the budget, 1 to 64 MiB] */
	int64_t sync_ms;         /* between syncs [1000]; -1: on each append */
	int64_t retention_bytes; /* of everything [0: no bound] */
	int64_t max_series;      /* over all open ranges [0: no bound] */
	int64_t link_min;        /* values files below it are copied [8 MiB] */
	int64_t maintain_ms;     /* between rounds [60000]; -1: by call only */
	const struct codec *columns; /* for blocks, beside zstd [none] */
	bool read_only;        /* beside a running server; changes nothing */
	bool must_exist;       /* ERR_INVALID when there is no database yet */
	bool ignore_retention; /* for imports */
};

/*
 * Open, or make, the database in a directory. ERR_BUSY: another process has
 * it. ERR_UNSUPPORTED: written by another version. ERR_INVALID: there is
 * something else in it.
 */
NODISCARD int tsdb_open(const struct tsdb_options *o, struct tsdb **out,
			struct err *err);

/* Sync, stop, close. NULL is a no-op. */
void tsdb_close(struct tsdb *db);

/*
 * The process is about to end: appends that wait for room are refused, with
 * ERR_CLOSED, and so are those that would have to.
 */
void tsdb_interrupt(struct tsdb *db);

/* The way in; lives as long as the database. */
struct appender *tsdb_appender(struct tsdb *db);

/* Move everything from the WAL into ranges now. For tests and bench. */
NODISCARD int tsdb_flush(struct tsdb *db, struct err *err);

/*
 * One round of maintenance now: apply retention, seal the ranges that are due
 * (or all of them), compact. For imports, tests and bench.
 */
NODISCARD int tsdb_maintain(struct tsdb *db, bool seal_all, struct err *err);

/*
 * Delete the profiles in [from, to] of all series that the matchers match, and
 * that are there now. Durable when it returns 0; a failure may leave some of
 * them deleted, and is repeated safely.
 */
NODISCARD int tsdb_delete(struct tsdb *db, const struct matcher *v,
			  size_t count, int64_t from, int64_t to,
			  struct err *err);

/* Write the blocks anew that hold deleted profiles. */
NODISCARD int tsdb_clean_tombstones(struct tsdb *db, struct err *err);

/*
 * Make snapshots/<name> in the data directory a data directory of its own,
 * with all that is stored now, without what is in open ranges unless `ranges`
 * is set. Blocks' files are linked. ERR_EXISTS: there is one of that name.
 */
NODISCARD int tsdb_snapshot(struct tsdb *db, const char *name, bool ranges,
			    struct err *err);

struct tsdb_stats {
	uint64_t series;      /* label sets in open ranges */
	uint64_t head_series; /* the same, each once for each range */
	uint64_t ranges;
	uint64_t blocks;
	uint64_t block_bytes;
	uint64_t block_samples;
	uint64_t pending; /* profiles that are only in the WAL */
	uint64_t wal_bytes;
	uint64_t values_bytes;
	uint64_t groups_bytes;
	uint64_t ballast_bytes;
	uint64_t series_limit;    /* of head_series; 0: no bound */
	uint64_t pending_limit;   /* of pending */
	uint64_t wal_limit;       /* of wal_bytes */
	uint64_t retention_bytes; /* of everything; 0: no bound */
	uint64_t open_queriers;
	int64_t clock_doubt_ms; /* since a jump of the clock; 0: none */
	int64_t min_ms;         /* start of the oldest range; 0 without any */
	int64_t max_ms;         /* end of the newest */
};

void tsdb_stats(struct tsdb *db, struct tsdb_stats *out);

#endif
