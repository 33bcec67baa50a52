/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner decides which head to seal, which blocks to compact, and what
 * retention removes. It decides from plain values and touches neither the clock
 * nor any file.
 *
 * Threads: pure functions; any.
 */
#ifndef TSDB_COMPACT_PLANNER_H
#define TSDB_COMPACT_PLANNER_H

#include "base/defs.h"

/*
 * PLAN_LEVELS_MAX: maximum number of levels. PLAN_NONE: returned in place of an
 * index when there is nothing to do.
 */
enum {
	PLAN_LEVELS_MAX = 8,
	PLAN_NONE = -1,
};

/* The properties of a block that the planner looks at. */
struct plan_block {
	int64_t min_ms;
	int64_t max_ms; /* end of the block's time range in ms, exclusive */
	uint64_t series;
	uint64_t tombstones; /* number of series that have a tombstone */
	uint64_t bytes;
	bool failed; /* an earlier compaction of this block failed */
};

/*
 * The levels of compaction: `ms` has the maximum time span of a block of each
 * level.
 */
struct plan_levels {
	int64_t ms[PLAN_LEVELS_MAX];
	size_t count;
	/* Maximum bytes of a compacted block; 0: no bound. */
	uint64_t bytes_max;
	/* Maximum series of a compacted block; 0: no bound. */
	uint64_t series_max;
};

/*
 * Return the levels, whose spans are two hours times powers of three. A span
 * is at most a tenth of the retention time, and at most 31 days. The result's
 * bytes_max is a tenth of retention_bytes. For both parameters 0 means that
 * there is no retention.
 */
struct plan_levels plan_levels(int64_t retention_ms, uint64_t retention_bytes);

/*
 * Choose the blocks to merge into one block, and write their indices in `v`
 * to `out`, which has room for `count` indices. Returns the number of indices
 * (0: nothing to do). `v` must be sorted by min_ms. Blocks that overlap come
 * first, then blocks that fill a level, then one block with many tombstones.
 * Rules and test cases are those of Prometheus' leveled compactor
 * (tsdb/compact.go).
 */
size_t plan_compaction(const struct plan_levels *levels,
		       const struct plan_block *v, size_t count, size_t *out);

/* The properties of a head that the planner looks at. */
struct plan_head {
	int64_t start;   /* start of its window, in ms */
	uint64_t lsn;    /* opening LSN, which distinguishes generations */
	int64_t idle_ms; /* time since its last sample */
	uint64_t weight; /* of its series: series_weight() */
	uint64_t bytes;  /* bytes of its values */
	bool closed;     /* takes no more samples */
	bool failed;     /* an attempt to seal the head failed recently */
};

/* The bounds beyond which heads are sealed early. */
struct plan_bounds {
	int64_t now_ms;
	uint64_t weight; /* maximum weight of all heads; 0: no bound */
	uint64_t bytes;  /* maximum bytes of values in all heads; 0: no bound */
	size_t heads;    /* maximum number of heads; 0: no bound */
	bool all;        /* seal every head */
};

/*
 * Return the index of the head to seal next, or PLAN_NONE. The first of these
 * rules that finds a head decides: (1) a head that is closed, or whose window
 * ended an hour ago and that has been idle for ten minutes; (2) if the heads
 * have too many series or bytes: the oldest head whose window is over, else the
 * largest head; (3) if there are too many heads: the head that has been idle
 * for longest.
 */
int plan_seal(const struct plan_bounds *b, const struct plan_head *v,
	      size_t count);

/* A head or block that retention may remove. */
struct plan_item {
	int64_t max_ms; /* end of its time range in ms, exclusive */
	uint64_t bytes;
	bool open; /* the newest head, which the planner does not remove */
};

/* The bounds of retention and the current state. */
struct plan_retention {
	int64_t now_ms;       /* current time by the retention clock */
	int64_t retention_ms; /* maximum age of profiles; 0: no bound */
	uint64_t bytes_max;   /* maximum size of the database; 0: no bound */
	uint64_t bytes;       /* size of the whole database */
};

/* Return the index of the item to remove next, or PLAN_NONE. */
int plan_removal(const struct plan_retention *p, const struct plan_item *v,
		 size_t count);

#endif
