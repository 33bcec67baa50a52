/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range: the profiles of one window of time, taking samples. A log of label
 * sets and heads and a file of values on disk, an index and the positions of
 * all profiles in memory. Format: docs/format/range.md.
 *
 * Ownership: reference counted.
 * Threads: any; in-memory state is under the range's lock. One thread at a
 * time writes its files (the flush thread), and one inserts (the appender).
 */
#ifndef TSDB_HEAD_HEAD_H
#define TSDB_HEAD_HEAD_H

#include <pthread.h>

#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "tsdb/chunk/chunks.h"
#include "tsdb/head/interner.h"
#include "tsdb/head/series.h"
#include "tsdb/index/memindex.h"
#include "tsdb/index/postings.h"
#include "tsdb/io/ulid.h"

/* Kinds of records in the log. */
enum {
	RANGE_SELF = 1,
	RANGE_LABELS = 2,
	RANGE_TYPES = 3,
	RANGE_HEAD = 4,
	RANGE_GAPS = 5, /* in the file of tombstones */
};

#define RANGE_DELETE_SUFFIX ".deleting"

/* What all ranges of a database share; outlives them. */
struct range_env {
	struct fs *fs;
	char *dir; /* …/ranges */
	bool read_only;
	struct interner *interner;
	const struct log *log;
	struct metric *corruptions;
	struct metric *torn;     /* ends of logs */
	_Atomic int64_t series;  /* over all ranges in memory */
	_Atomic int64_t pending; /* profiles of theirs only in the WAL */
};

struct range {
	_Atomic uint32_t refs;
	struct range_env *env;
	int64_t start;
	uint64_t lsn; /* at its opening */
	struct ulid ulid;
	char *path;
	struct file *groups;
	struct file *values;
	uint64_t salt; /* of groups */

	/* The writer's. */
	uint64_t groups_end;
	uint64_t values_end;
	uint32_t next_series; /* numbers in the log */
	uint32_t next_typeset;
	bool broken; /* a failed write could not be undone: no more flushes */

	pthread_mutex_t mu;
	struct memindex index;
	struct series **series; /* by number in the index */
	size_t series_cap;
	struct table by_labels;
	struct bytes *typesets; /* owned copies by number; gaps are empty */
	size_t typeset_count;
	size_t typeset_cap;
	size_t pending;     /* profiles that are only in the WAL */
	int64_t touched_ms; /* of the clock, at the last insert */
	bool closed;        /* takes no more: to be sealed */
	bool recovery;    /* made at this start, for records without a range */
	bool unreadable;  /* the disk did not give all of its log back */
	int64_t retry_ns; /* maintenance's: not before, sealing has failed */
};

/*
 * Make an empty range, durable with its directory. ERR_EXISTS: there is one of
 * that name, with profiles.
 */
NODISCARD int range_create(struct range_env *env, int64_t start, uint64_t lsn,
			   int64_t now_ms, struct range **out, struct err *err);

/* A range without files, for range_load(). */
struct range *range_new(struct range_env *env, const char *path);

struct range *range_ref(struct range *r);
void range_unref(struct range *r);

/* The highest LSN that the range has heard of. */
uint64_t range_highest_lsn(struct range *r);

/* The number of a series in the index, SERIES_NONE without one. */
#define SERIES_NONE UINT32_MAX
uint32_t range_find(struct range *r, const struct labels *ls);

/* The same, made if need be; with the lock held. */
uint32_t range_ensure_locked(struct range *r, struct labels *ls);

/*
 * Add a profile that is in the WAL. labels may be any equal set: the range
 * keeps the interned one.
 */
void range_insert(struct range *r, struct labels *labels,
		  const struct pending *p, int64_t now_ms);

/* Count profiles that came to be, or are no more, only in the WAL. */
void range_pending_locked(struct range *r, int64_t change);

/* Whether the profile at ms with that LSN was flushed, or deleted. */
bool range_is_done_with(struct range *r, uint32_t series, int64_t ms,
			uint64_t lsn);

/* The lowest LSN of what is only in the WAL; UINT64_MAX without any. */
uint64_t range_oldest(struct range *r);

/* Where a profile is, in a range or in a block. */
struct part_hit {
	bool pending;
	struct pending wal;          /* when pending */
	struct wal_segment *segment; /* when pending and wal was given */
	struct group_hit group;      /* else */
};

struct wal;

/*
 * Find the profile of a series at ms. With wal, the segment of a pending one
 * is referenced too (the caller gives it back): taken under the range's lock,
 * it cannot have gone yet. ERR_NOTFOUND, ERR_CORRUPT.
 */
NODISCARD int range_lookup(struct range *r, uint32_t series, int64_t ms,
			   struct wal *wal, struct part_hit *out,
			   struct err *err);

/* Add the times in [from, to], in any order. */
NODISCARD int range_times(struct range *r, uint32_t series, int64_t from,
			  int64_t to, struct times *out, struct err *err);

/* The groups that touch [from, to], and what hides parts of them. */
void range_groups(struct range *r, uint32_t series, int64_t from, int64_t to,
		  struct groups *out);

/* How the heads of its groups are read. */
struct group_source range_source(struct range *r);

/* A type set's encoding, borrowed from the range; empty when not known. */
struct bytes range_typeset(struct range *r, uint32_t number);

/* A copy of a type set under this number, for readers from now on. */
void range_set_typeset(struct range *r, uint32_t number, struct bytes typeset);

/* Forget the type sets from number first on: none of them was written. */
void range_drop_typesets(struct range *r, uint32_t first);

/* The number of an equal type set; UINT32_MAX without one. */
uint32_t range_typeset_number(struct range *r, struct bytes typeset);

#endif
