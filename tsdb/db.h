/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database from the inside: what tsdb.c, its opening, its view, its
 * maintenance and the querier share.
 */
#ifndef TSDB_DB_H
#define TSDB_DB_H

#include <pthread.h>

#include "tsdb/ballast.h"
#include "tsdb/block.h"
#include "tsdb/flush.h"
#include "tsdb/part.h"
#include "tsdb/range.h"
#include "tsdb/state.h"
#include "tsdb/trash.h"
#include "tsdb/tsdb.h"
#include "tsdb/wal.h"
#include "tsdb/window.h"

enum {
	RANGES_OPEN = 32, /* beyond it the one idle longest is sealed */
	RANGES_MAX = 40,  /* beyond it appends wait for that */
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
	struct range_env env;
	struct block_env benv;
	struct wal *wal;
	struct tsdb_metrics metrics;
	_Atomic int64_t queriers;

	/* One appender at a time: a record's LSN and its place in memory. */
	pthread_mutex_t append_mu;

	/* Changed with append_mu held too. */
	pthread_mutex_t view_mu;
	struct range **ranges; /* by start, then LSN */
	size_t range_count;
	size_t range_cap;
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

void db_add_range(struct tsdb *db, struct range *r);
void db_add_block(struct tsdb *db, struct block *b);

/* Put a block (may be NULL) in the place of parts, whose references go. */
void db_replace(struct tsdb *db, const struct part *parts, size_t count,
		struct block *b);

/* The same with append_mu held. */
void db_replace_locked(struct tsdb *db, const struct part *parts, size_t count,
		       struct block *b);

/* Take parts out of the view, put child (may be NULL) in, remove their files. */
NODISCARD int db_supersede(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * The same of parts that the disk did not give back whole: their directories
 * are renamed, for a person to look at.
 */
NODISCARD int db_set_aside(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * The same of parts that are removed on purpose, with nothing in their place:
 * a start does not take what the WAL still has of them for lost.
 */
NODISCARD int db_retire(struct tsdb *db, const struct part *parts, size_t count,
			struct err *err);

/* All parts, referenced: blocks, then ranges, each older first. */
struct part *db_parts(struct tsdb *db, size_t *count);
void db_parts_free(struct part *v, size_t count);

/* The ranges alone. */
struct part *db_ranges(struct tsdb *db, size_t *count);

/* Opening (db_open.c). */

NODISCARD int db_load(struct tsdb *db, struct err *err);

/* Bytes of a WAL segment: an eighth of the budget, 1 to 64 MiB. */
uint64_t db_segment_size(const struct tsdb *db);

/* The window's range that takes samples; NULL without one. */
struct range *db_open_range(struct tsdb *db, int64_t start);

/*
 * The window's range that takes samples, opened with this LSN if need be.
 * ERR_LIMIT: too many are open.
 */
NODISCARD int db_range_for(struct tsdb *db, int64_t start, uint64_t lsn,
			   struct range **out, struct err *err);
struct pending db_pending(const struct segment_entry *e);

/* Maintenance (maintain.c). */

/* Move all that a range has only in the WAL into its groups. */
NODISCARD int db_flush_range(struct tsdb *db, struct range *r, struct err *err);

/* Drop segments up to this number, but none whose records have no range. */
NODISCARD int db_drop_segments(struct tsdb *db, uint64_t upto, struct err *err);

/* Drop the WAL segments that hold nothing but what is in ranges and blocks. */
NODISCARD int db_drop_wal(struct tsdb *db, struct err *err);

/* Bytes of values in open ranges beyond which they are sealed early. */
uint64_t db_open_values_max(const struct tsdb *db);

/* What retention by time takes for now. */
int64_t db_retention_now(struct tsdb *db);

/* One round: seal what is due, compact, apply retention. */
NODISCARD int db_maintain(struct tsdb *db, bool seal_all, struct err *err);

/* Have the jobs to oneself; a compaction under way is cancelled. */
void db_begin_job(struct tsdb *db);
void db_end_job(struct tsdb *db);

/* Workers (tsdb.c). */

/* Log a failure; the same again and again once a minute. */
void db_tell(struct tsdb *db, struct worker *w, const char *what,
	     const struct err *err);

void db_kick(struct tsdb *db, struct worker *w);

/* The disk refused for want of space: give the ballast back, make room. */
void db_no_space(struct tsdb *db);

#endif
