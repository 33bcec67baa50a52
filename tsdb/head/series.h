/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series of a head, in memory: its unflushed profiles, which are only in the
 * WAL, and its chunks, which have been flushed.
 *
 * Ownership: the head owns its series.
 * Threads: the caller holds the head's lock.
 */
#ifndef TSDB_HEAD_SERIES_H
#define TSDB_HEAD_SERIES_H

#include "model/labels.h"
#include "tsdb/chunk/chunks.h"

/*
 * The 32 bytes that a head keeps in memory for an unflushed profile; the
 * profile itself is in the WAL (docs/decisions.md, 4).
 */
struct unflushed {
	int64_t ms;
	uint64_t lsn;
	uint64_t hash;
	uint32_t raw_len;
	uint32_t len; /* size of its WAL record in bytes */
};

/* Value of log_number for a series without a record in the log. */
#define SERIES_UNWRITTEN UINT32_MAX

/*
 * A series of a head. Each array has its number of elements in the member with
 * the suffix _count, and its capacity in the one with _cap.
 */
struct series {
	struct labels *labels; /* the label set, from the interner */
	uint32_t log_number;   /* number of the series in the head's log */
	uint32_t unflushed_count;
	uint32_t unflushed_cap;
	uint32_t group_count;
	uint32_t group_cap;
	struct unflushed *unflushed; /* unflushed profiles, in order of time */
	/* Chunks, in the order in which they were flushed. */
	struct chunk *groups;
	uint64_t flushed_lsn; /* all profiles up to this LSN are in chunks */
	struct tombstone_interval *gaps; /* tombstone intervals */
	uint32_t gap_count;
};

/*
 * What a series counts for in `max_series`: 1, and 1 more for each KiB of its
 * labels. So the limit bounds the memory of the labels, too.
 */
uint64_t series_weight(const struct labels *ls);

/*
 * Free the arrays and reset *s to zero. The caller returns the labels to the
 * interner.
 */
void series_fini(struct series *s);

/* Add an unflushed profile in order of time. */
void series_add(struct series *s, const struct unflushed *p);

/* Add a chunk that has been flushed. */
void series_add_group(struct series *s, const struct chunk *g);

/*
 * The unflushed profile with this time, or NULL; borrowed until the series
 * changes.
 */
const struct unflushed *series_find(const struct series *s, int64_t ms);

/*
 * Drop the entries of unflushed profiles with LSNs up to `lsn`, because these
 * profiles are in chunks now, and raise `flushed_lsn` to `lsn`.
 */
void series_flushed(struct series *s, uint64_t lsn);

/* The lowest LSN of the unflushed profiles; UINT64_MAX if there are none. */
uint64_t series_oldest(const struct series *s);

/*
 * Add a tombstone interval: unflushed profiles in the interval are dropped,
 * profiles in chunks are hidden from readers.
 */
void series_add_gap(struct series *s, const struct tombstone_interval *g);

/* Whether a tombstone interval covers the profile with this time and LSN. */
bool series_hides(const struct series *s, int64_t ms, uint64_t lsn);

/*
 * Whether the series may have a profile in [from, to]. For a chunk, only the
 * times of its first and last profile are compared.
 */
bool series_overlaps(const struct series *s, int64_t from, int64_t to);

#endif
