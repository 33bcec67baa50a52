/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planner: which range to seal, which blocks to compact, what retention
 * removes. Decisions from values alone: no clock, no file.
 *
 * Ownership: borrows its inputs.
 * Threads: pure functions.
 */
#ifndef TSDB_COMPACT_PLANNER_H
#define TSDB_COMPACT_PLANNER_H

#include "base/defs.h"

enum {
	PLAN_LEVELS_MAX = 8,
	PLAN_NONE = -1,
};

/* A block, as the planner sees it. */
struct plan_block {
	int64_t min_ms;
	int64_t max_ms; /* not in it */
	uint64_t series;
	uint64_t tombstones; /* series that have one */
	uint64_t bytes;
	bool failed; /* an earlier compaction of it failed */
};

/* Spans of time that blocks grow to. */
struct plan_levels {
	int64_t ms[PLAN_LEVELS_MAX];
	size_t count;
	uint64_t bytes_max;  /* of a block by levels; 0: no bound */
	uint64_t series_max; /* likewise: compaction keeps 32 bytes of each */
};

/*
 * Two hours times powers of three, up to a tenth of the retention (0: none),
 * in time and in bytes, and 31 days.
 */
struct plan_levels plan_levels(int64_t retention_ms, uint64_t retention_bytes);

/*
 * The blocks to make one of, as indices of v, which is in the order of
 * min_ms: what overlaps first; then what fills a level; then one block with
 * many tombstones. 0: nothing to do. The rules, and their table of tests, are
 * those of Prometheus' leveled compactor (tsdb/compact.go).
 */
size_t plan_compaction(const struct plan_levels *levels,
		       const struct plan_block *v, size_t count, size_t *out);

/* A range, as the planner sees it. */
struct plan_head {
	int64_t start;
	uint64_t lsn;
	int64_t idle_ms; /* since its last sample */
	uint64_t series;
	uint64_t bytes; /* of values */
	bool closed;
	bool failed; /* sealing it did, a while ago */
};

struct plan_bounds {
	int64_t now_ms;
	uint64_t series; /* over all ranges; 0: no bound */
	uint64_t bytes;  /* likewise */
	size_t heads;    /* that are open */
	bool all;        /* seal everything */
};

/*
 * The range to seal next, PLAN_NONE without one: one that is closed; one whose
 * window has been over for an hour and that has been idle for ten minutes; or,
 * when a bound is passed, the oldest one that is over, else the largest.
 */
int plan_seal(const struct plan_bounds *b, const struct plan_head *v,
	      size_t count);

/* A range or a block that may have to go. */
struct plan_item {
	int64_t max_ms; /* not in it */
	uint64_t bytes;
	bool open; /* the newest range: stays */
};

struct plan_retention {
	int64_t now_ms;       /* of the retention clock */
	int64_t retention_ms; /* 0: any age */
	uint64_t bytes_max;   /* 0: any size */
	uint64_t bytes;       /* of everything */
};

/* The item to remove next, PLAN_NONE without one. */
int plan_removal(const struct plan_retention *p, const struct plan_item *v,
		 size_t count);

/*
 * The retention clock: what retention by time takes for now. A clock that
 * jumps must not make profiles old. So the time of day is believed while it
 * goes on as fast as the process runs, give or take a day; after a jump the
 * clock goes on from where it was, until a person confirms the time of day, or
 * it has stayed what it is for a week.
 */
struct plan_clock {
	int64_t trusted_ms; /* the time of day that was believed last, plus
			       what has run since */
	int64_t doubt_ms;   /* how long it has been in doubt; 0: it is not */
};

/*
 * Move the clock on by elapsed_ms of running, at the time of day now_ms.
 * Returns what retention by time takes for now: never more than now_ms.
 */
int64_t plan_clock(struct plan_clock *c, int64_t now_ms, int64_t elapsed_ms);

#endif
