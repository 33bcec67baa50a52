/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Head (head block): takes the samples of one window of two hours. On disk it
 * has a log of label sets and chunk metadata, and a file of values. In memory
 * it has a label index, the WAL positions of unflushed profiles, and the places
 * of chunks. Format: docs/format/head-block.md.
 *
 * Ownership: reference counted.
 * Threads: any; state in memory is protected by the head's lock. One thread at
 * a time (the flush thread) writes the head's files, and one thread at a time
 * (the appender) inserts.
 */
#ifndef TSDB_HEAD_HEAD_H
#define TSDB_HEAD_HEAD_H

#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/outage.h"
#include "tsdb/chunk/chunks.h"
#include "tsdb/head/interner.h"
#include "tsdb/head/series.h"
#include "tsdb/index/memindex.h"
#include "tsdb/index/postings.h"
#include "tsdb/io/ulid.h"

/*
 * Kinds of records in the log; HEAD_SELF is the first one and identifies the
 * head.
 */
enum {
	HEAD_SELF = 1,
	HEAD_LABELS = 2,
	HEAD_TYPES = 3,
	HEAD_CHUNK = 4,
	HEAD_TOMBSTONES = 5, /* in the file `tombstones`, not in the log */
};

/*
 * Suffix of the directory of a head that is being removed. Directories with
 * this suffix are removed when the database is opened.
 */
#define HEAD_DELETE_SUFFIX ".deleting"

/* The state that all heads of a database share. It outlives the heads. */
struct head_env {
	struct fs *fs;
	char *dir; /* directory `ranges` in the data directory */
	bool read_only;
	struct interner *interner;
	const struct log *log;
	struct metric *corruptions;
	/* Counts logs that end in a record cut short. */
	struct metric *torn;
	/* For how long failed reads put off work, in ms; see outage.h. */
	int64_t outage_ms;
	_Atomic int64_t
		weight; /* of the series of all heads: series_weight() */
	/* Number of unflushed profiles in all heads. */
	_Atomic int64_t unflushed;
};

/*
 * A head. The members from `mu` on are protected by `mu`; `start`, `lsn`,
 * `ulid`, `path`, `groups`, `values` and `salt` are set once.
 */
struct head {
	_Atomic uint32_t refs;
	struct head_env *env;
	int64_t start; /* start of the window, milliseconds since 1970 */
	/*
	 * Opening LSN: the profiles of WAL records with lower LSNs do not
	 * belong to this head.
	 */
	uint64_t lsn;
	struct ulid ulid; /* id of the block that the head will become */
	char *path;
	struct file *groups;
	struct file *values;
	uint64_t salt; /* random number that all checksums of the log include */

	/*
	 * Only the thread that writes the head's files changes the members from
	 * here to `broken`.
	 */
	uint64_t groups_end;
	uint64_t values_end;
	uint32_t next_series; /* next free series number in the log */
	uint32_t next_typeset;
	/* A failed write could not be undone yet: no flush is allowed. */
	bool broken;
	struct outage flush_outage; /* failed reads of the WAL, for the flush */
	/* Failed reads of the head's files; only sealing uses it. */
	struct outage seal_outage;

	struct mutex mu;
	struct memindex index;
	uint64_t weight;        /* of the series: series_weight() */
	struct series **series; /* the series by their numbers in the index */
	size_t series_cap;
	struct table by_labels;
	/* Encoded type sets by number, owned; unused numbers are empty. */
	struct bytes *typesets;
	size_t typeset_count;
	size_t typeset_cap;
	size_t unflushed;   /* number of unflushed profiles */
	int64_t touched_ms; /* time of the last insert */
	bool closed;        /* takes no more samples and is to be sealed */
	bool recovery;   /* created at startup for WAL records without a head */
	bool unreadable; /* part of the log could not be read from disk */
	/* The same of the file of tombstones, which is then not replaced. */
	bool tombstones_unread;
	/* Monotonic time before which a failed sealing is not retried. */
	int64_t retry_ns;
};

/*
 * Create an empty head and its files, durably, for the window that begins at
 * `start`. WAL records below `lsn` do not belong to the head. The caller owns
 * *out. ERR_EXISTS: a head with this start and LSN exists and has profiles.
 * ERR_NOSPACE, ERR_IO: nothing was created.
 */
NODISCARD int head_create(struct head_env *env, int64_t start, uint64_t lsn,
			  int64_t now_ms, struct head **out, struct err *err);

/*
 * Create an empty head without files, for head_load() to fill. The caller owns
 * the head.
 */
struct head *head_new(struct head_env *env, const char *path);

/* Take a reference and return `r`. */
struct head *head_ref(struct head *r);

/*
 * Release a reference; the last one frees the head. Its files stay on disk.
 * NULL is a no-op.
 */
void head_unref(struct head *r);

/* The highest LSN that the head's files mention. */
uint64_t head_highest_lsn(struct head *r);

/* Result of head_find() if the head has no series with the labels. */
#define SERIES_NONE UINT32_MAX

/* Number of the series with these labels in the index, or SERIES_NONE. */
uint32_t head_find(struct head *r, const struct labels *ls);

/*
 * Number of the series with these labels; if there is no such series, it is
 * added. The caller holds the lock. The head keeps the interned label set.
 */
uint32_t head_ensure_locked(struct head *r, struct labels *ls) REQUIRES(r->mu);

/*
 * Add a profile that has been written to the WAL. The caller keeps its
 * reference to `labels`; the head keeps the interned label set. `now_ms` is the
 * time of day.
 */
void head_insert(struct head *r, struct labels *labels,
		 const struct unflushed *p, int64_t now_ms);

/*
 * Correct the counts of unflushed profiles of the head and of the database
 * after a change of series `s`, which had `before` unflushed profiles. The
 * caller holds the lock.
 */
void head_recount_locked(struct head *r, const struct series *s,
			 uint32_t before) REQUIRES(r->mu);

/*
 * Drop the entries of a series' unflushed profiles with LSNs up to `lsn`, and
 * subtract them from the counts of unflushed profiles. These profiles are in
 * chunks now, or were found damaged. The caller holds the lock.
 */
void head_forget_flushed_locked(struct head *r, uint32_t series, uint64_t lsn)
	REQUIRES(r->mu);

/*
 * Whether the profile with this time and LSN has been flushed or deleted.
 * Replay of the WAL skips the records of these profiles.
 */
bool head_is_done_with(struct head *r, uint32_t series, int64_t ms,
		       uint64_t lsn);

/*
 * The lowest LSN of the head's unflushed profiles; UINT64_MAX if there are
 * none.
 */
uint64_t head_oldest(struct head *r);

/* Where a profile of a head or block was found. */
struct part_hit {
	bool unflushed; /* the profile is only in the WAL */
	/* If `unflushed`: where the profile is in the WAL. */
	struct unflushed wal;
	/* The WAL segment, with a reference, if a WAL was given. */
	struct wal_segment *segment;
	/* If not `unflushed`: where the profile is in a chunk. */
	struct chunk_hit group;
};

struct wal;

/*
 * Find the profile of a series at time `ms` that is visible (not hidden by a
 * tombstone interval). If `wal` is not NULL, out->segment is set to the WAL
 * segment of an unflushed profile, with a reference that the caller releases.
 * The reference is taken under the head's lock, so the segment cannot have been
 * removed before. ERR_NOTFOUND: there is no such profile. ERR_CORRUPT, ERR_IO:
 * chunk metadata could not be read.
 */
NODISCARD int head_lookup(struct head *r, uint32_t series, int64_t ms,
			  struct wal *wal, struct part_hit *out,
			  struct err *err);

/*
 * Add the times of the visible profiles of a series in [from, to] to *out, in
 * any order. A profile is visible unless a tombstone interval hides it. Chunks
 * with unreadable metadata are counted in out->lost.
 */
NODISCARD int head_times(struct head *r, uint32_t series, int64_t from,
			 int64_t to, struct times *out, struct err *err);

/*
 * Add to *out the chunks and the tombstone intervals of a series that overlap
 * [from, to].
 */
void head_groups(struct head *r, uint32_t series, int64_t from, int64_t to,
		 struct chunks *out);

/*
 * Callbacks that read the metadata of this head's chunks; they borrow the head.
 */
struct chunk_source head_source(struct head *r);

/*
 * The encoded type set with this number, borrowed from the head; empty if
 * unknown.
 */
struct bytes head_typeset(struct head *r, uint32_t number);

/*
 * Store a copy of a type set under a number, visible to readers at once. A
 * number that is in use keeps its type set.
 */
void head_set_typeset(struct head *r, uint32_t number, struct bytes typeset);

/* Drop the type sets with numbers >= `first`, which were never written. */
void head_drop_typesets(struct head *r, uint32_t first);

/* Number of the type set that is equal to `typeset`; UINT32_MAX: none. */
uint32_t head_typeset_number(struct head *r, struct bytes typeset);

/*
 * Whether the head's files are too short to hold a profile, because the
 * creation of the head was cut short.
 */
bool head_is_stillborn(const struct head *r);

#endif
