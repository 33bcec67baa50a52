/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series of a range, in memory: the profiles that are only in the WAL, and
 * the groups that have been flushed.
 *
 * Ownership: the head owns its series.
 * Threads: the range's lock.
 */
#ifndef TSDB_HEAD_SERIES_H
#define TSDB_HEAD_SERIES_H

#include "model/labels.h"
#include "tsdb/chunk/chunks.h"

/* A profile whose bytes are in the WAL. */
struct unflushed {
	int64_t ms;
	uint64_t lsn;
	uint64_t hash;
	uint32_t raw_len;
	uint32_t len; /* of its record */
};

#define SERIES_UNWRITTEN UINT32_MAX

struct series {
	struct labels *labels; /* a reference on the interned set */
	uint32_t log_number;   /* SERIES_UNWRITTEN: not in the log yet */
	uint32_t pending_count;
	uint32_t pending_cap;
	uint32_t group_count;
	uint32_t group_cap;
	struct unflushed *pending; /* by time */
	struct chunk *groups;      /* as flushed */
	uint64_t flushed_lsn;      /* what is at or below it is in groups */
	struct tombstone_interval *gaps; /* what was deleted */
	uint32_t gap_count;
};

void series_fini(struct series *s);

/* Add in time order. */
void series_add(struct series *s, const struct unflushed *p);
void series_add_group(struct series *s, const struct chunk *g);

/* The profile at this time, or NULL. */
const struct unflushed *series_find(const struct series *s, int64_t ms);

/* Forget the pending ones up to lsn: they are in groups now. */
void series_flushed(struct series *s, uint64_t lsn);

/* The lowest LSN among the pending; UINT64_MAX without any. */
uint64_t series_oldest(const struct series *s);

/* Hide what is in the gap: pending ones go, groups are looked through it. */
void series_add_gap(struct series *s, const struct tombstone_interval *g);

/* Whether the profile with that time and LSN was deleted. */
bool series_hides(const struct series *s, int64_t ms, uint64_t lsn);

/* Whether any profile may be in [from, to], by the ends of its groups. */
bool series_overlaps(const struct series *s, int64_t from, int64_t to);

#endif
