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
	HEAD_SELF = 1,
	HEAD_LABELS = 2,
	HEAD_TYPES = 3,
	HEAD_CHUNK = 4,
	HEAD_TOMBSTONES = 5, /* in the file of tombstones */
};

#define HEAD_DELETE_SUFFIX ".deleting"

/* What all ranges of a database share; outlives them. */
struct head_env {
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

struct head {
	_Atomic uint32_t refs;
	struct head_env *env;
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
NODISCARD int head_create(struct head_env *env, int64_t start, uint64_t lsn,
			  int64_t now_ms, struct head **out, struct err *err);

/* A range without files, for head_load(). */
struct head *head_new(struct head_env *env, const char *path);

struct head *head_ref(struct head *r);
void head_unref(struct head *r);

/* The highest LSN that the range has heard of. */
uint64_t head_highest_lsn(struct head *r);

/* The number of a series in the index, SERIES_NONE without one. */
#define SERIES_NONE UINT32_MAX
uint32_t head_find(struct head *r, const struct labels *ls);

/* The same, made if need be; with the lock held. */
uint32_t head_ensure_locked(struct head *r, struct labels *ls);

/*
 * Add a profile that is in the WAL. labels may be any equal set: the range
 * keeps the interned one.
 */
void head_insert(struct head *r, struct labels *labels,
		 const struct unflushed *p, int64_t now_ms);

/* Count profiles that came to be, or are no more, only in the WAL. */
void head_pending_locked(struct head *r, int64_t change);

/* Whether the profile at ms with that LSN was flushed, or deleted. */
bool head_is_done_with(struct head *r, uint32_t series, int64_t ms,
		       uint64_t lsn);

/* The lowest LSN of what is only in the WAL; UINT64_MAX without any. */
uint64_t head_oldest(struct head *r);

/* Where a profile is, in a range or in a block. */
struct part_hit {
	bool pending;
	struct unflushed wal;        /* when pending */
	struct wal_segment *segment; /* when pending and wal was given */
	struct chunk_hit group;      /* else */
};

struct wal;

/*
 * Find the profile of a series at ms. With wal, the segment of a pending one
 * is referenced too (the caller gives it back): taken under the range's lock,
 * it cannot have gone yet. ERR_NOTFOUND, ERR_CORRUPT.
 */
NODISCARD int head_lookup(struct head *r, uint32_t series, int64_t ms,
			  struct wal *wal, struct part_hit *out,
			  struct err *err);

/* Add the times in [from, to], in any order. */
NODISCARD int head_times(struct head *r, uint32_t series, int64_t from,
			 int64_t to, struct times *out, struct err *err);

/* The groups that touch [from, to], and what hides parts of them. */
void head_groups(struct head *r, uint32_t series, int64_t from, int64_t to,
		 struct chunks *out);

/* How the heads of its groups are read. */
struct chunk_source head_source(struct head *r);

/* A type set's encoding, borrowed from the range; empty when not known. */
struct bytes head_typeset(struct head *r, uint32_t number);

/* A copy of a type set under this number, for readers from now on. */
void head_set_typeset(struct head *r, uint32_t number, struct bytes typeset);

/* Forget the type sets from number first on: none of them was written. */
void head_drop_typesets(struct head *r, uint32_t first);

/* The number of an equal type set; UINT32_MAX without one. */
uint32_t head_typeset_number(struct head *r, struct bytes typeset);

#endif
