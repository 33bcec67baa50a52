/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group: up to 32 profiles of one series as columns, and how they are stored:
 * docs/format/columns.md.
 *
 * Ownership: a group owns its arrays. Threads: one thread a group and coder.
 */
#ifndef PPROF_ROWS_GROUP_H
#define PPROF_ROWS_GROUP_H

#include "base/zstd.h"
#include "pprof/rows/heap_unscale.h"
#include "pprof/rows/reencode.h"

enum {
	COLGROUP_ROWS_MAX = 32,
	COLGROUP_VALUES_MAX = 2 * 1024 * 1024, /* of all types */
	COLGROUP_BYTES_MAX = 16 * 1024 * 1024, /* of its profiles */
};

/*
 * The columns of a group. Rows' pointers into keys and values are set by
 * group_link(), or by reading the group.
 */
struct colgroup {
	size_t count;
	size_t types;
	uint32_t top; /* keys of the dictionary before the group */
	struct row rows[COLGROUP_ROWS_MAX];
	uint32_t patch_lens[COLGROUP_ROWS_MAX]; /* 0: the replay is exact */
	VEC(uint32_t) keys;                     /* row after row */
	VEC(int64_t) values; /* a column of keys.count for each type */
	struct buf patches;  /* one behind another */
};

void colgroup_reset(struct colgroup *g);
void colgroup_fini(struct colgroup *g);
size_t colgroup_memory(const struct colgroup *g);

/* Let the rows point to their parts of the columns. */
void colgroup_link(struct colgroup *g);

/* The patch of a row; empty without one. */
struct bytes colgroup_patch(const struct colgroup *g, size_t row);

/* Workspace of encoding and decoding, worth keeping. */
struct colgroup_coder;

struct colgroup_coder *colgroup_coder_new(void);
void colgroup_coder_free(struct colgroup_coder *c);
size_t colgroup_coder_memory(const struct colgroup_coder *c);

/* What of a stored group is wanted. */
struct colgroup_request {
	struct bytes stored;
	const uint32_t *lens; /* of the profiles, decoded */
	size_t count;         /* profiles in the group */
	size_t begin;         /* of rows before it no values are wanted, */
	size_t end;           /* of those from here on nothing */
	const bool *types;    /* which columns of values; NULL: all */
	bool patches;         /* whether patches are wanted */
};

/* For the two halves of the coder. */

/* How a column of values is stored. */
enum column_model {
	MODEL_SELF,      /* as it is */
	MODEL_DELTA,     /* less the same key's value in an earlier row */
	MODEL_PERIOD,    /* less the column before, times the period */
	MODEL_UNSAMPLED, /* two columns: counts by DELTA, what they miss */
};

/* What a key's count makes, until one of the two changes. */
struct colgroup_estimate {
	int64_t count;
	int64_t period;
	int64_t objects;
	int64_t space;
	bool made;
};

struct colgroup_coder {
	struct zstd *zstd;
	struct unsample unsample;
	VEC(uint32_t)
	successors;            /* by key: what followed it last, 0: key + 1 */
	VEC(int64_t) previous; /* by key */
	VEC(struct colgroup_estimate) estimates; /* by key */
	struct buf head;
	struct buf column;
	struct buf other; /* the same column in another model */
	struct buf parts[3];
};

/* Row of a sample: group's rows in turn. */
int64_t *colgroup_previous(struct colgroup_coder *c, size_t keys);
struct colgroup_estimate *colgroup_estimates(struct colgroup_coder *c,
					     size_t keys);
uint32_t *colgroup_successors(struct colgroup_coder *c, size_t keys);

#endif
