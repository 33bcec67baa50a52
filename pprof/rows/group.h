/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group holds up to 32 profiles of one series as columns: in memory, and the
 * workspace to encode and decode them. Format: docs/format/columns.md.
 *
 * Ownership: a group owns its arrays; a coder owns its workspace.
 * Threads: one thread per group and coder.
 */
#ifndef PPROF_ROWS_GROUP_H
#define PPROF_ROWS_GROUP_H

#include "base/zstd.h"
#include "pprof/rows/heap_unscale.h"
#include "pprof/rows/reencode.h"

/* Limits of a group. */
enum {
	COLGROUP_ROWS_MAX = 32,
	COLGROUP_VALUES_MAX = 2 * 1024 * 1024, /* keys and values */
	COLGROUP_BYTES_MAX = 16 * 1024 * 1024, /* decoded bytes */
};

/*
 * The columns of a group. The rows' pointers into keys and values are set by
 * colgroup_link(), or by decoding the group.
 */
struct colgroup {
	/* Number of profiles, and of sample types in each. */
	size_t count;
	size_t types;
	uint32_t top; /* keys in the dictionary before the group */
	struct row rows[COLGROUP_ROWS_MAX];
	uint32_t patch_lens[COLGROUP_ROWS_MAX]; /* 0: replay is exact */
	VEC(uint32_t) keys;                     /* samples of all rows */
	VEC(int64_t) values; /* one column of keys.count per type */
	struct buf patches;  /* patches of all rows, without gaps */
};

/* Empty the group for reuse; its memory is kept. */
void colgroup_reset(struct colgroup *g);

/* Free the columns. */
void colgroup_fini(struct colgroup *g);

/* Memory that the columns hold, in bytes. */
size_t colgroup_memory(const struct colgroup *g);

/*
 * Set the rows' pointers and stride to their parts of the columns. Must be
 * called after the columns are filled or moved.
 */
void colgroup_link(struct colgroup *g);

/* The patch of a row, borrowed from the group; empty if there is none. */
struct bytes colgroup_patch(const struct colgroup *g, size_t row);

/* Workspace of encoding and decoding. Reusing it saves allocations. */
struct colgroup_coder;

/* Create a workspace. The caller frees it by colgroup_coder_free(). */
struct colgroup_coder *colgroup_coder_new(void);

/* Free a workspace; c may be NULL. */
void colgroup_coder_free(struct colgroup_coder *c);

/* Memory that the workspace holds, in bytes, without that of zstd. */
size_t colgroup_coder_memory(const struct colgroup_coder *c);

/* A stored group, and the part of it to decode. */
struct colgroup_request {
	struct bytes stored;
	const uint32_t *lens; /* length of each profile, decoded */
	size_t count;         /* profiles in the group */
	size_t begin;         /* first row whose values are wanted */
	size_t end;           /* end of the rows to decode */
	const bool *types;    /* wanted sample types; NULL: all */
	bool patches;         /* whether patches are wanted */
};

/* Shared by encoder and decoder; not for other callers. */

/* How a column of values is stored (docs/format/columns.md). */
enum column_model {
	MODEL_SELF,      /* the values themselves */
	MODEL_DELTA,     /* difference to the key's last value */
	MODEL_PERIOD,    /* difference to type before * period */
	MODEL_UNSAMPLED, /* heap: sampled counts, and errors */
};

/*
 * The estimates of objects and space that follow from a key's sampled count;
 * valid while count and period stay the same.
 */
struct colgroup_estimate {
	int64_t count;
	int64_t period;
	int64_t objects;
	int64_t space;
	/* Whether objects and space have been computed. */
	bool made;
};

/*
 * Workspace that is reused from call to call. Nothing but cached scales is kept
 * from one group to the next.
 */
struct colgroup_coder {
	struct zstd *zstd;
	struct unsample unsample;
	VEC(uint32_t)
	successors; /* by key: the key that followed it last; 0: key + 1 */
	VEC(int64_t) previous;                   /* by key */
	VEC(struct colgroup_estimate) estimates; /* by key */
	struct buf head;
	struct buf column;
	struct buf other; /* the column in another model, to compare */
	/* Sections of the current column. */
	struct buf parts[3];
};

/*
 * Zeroed array of the last value of each of `keys` keys, and one more. Borrowed
 * from c until the next call.
 */
int64_t *colgroup_previous(struct colgroup_coder *c, size_t keys);

/*
 * Zeroed array of the estimates of each of `keys` keys, and one more. Borrowed
 * from c until the next call.
 */
struct colgroup_estimate *colgroup_estimates(struct colgroup_coder *c,
					     size_t keys);

/*
 * Zeroed array of the last successor of each of `keys` keys, and one more for
 * "no key". Borrowed from c until the next call.
 */
uint32_t *colgroup_successors(struct colgroup_coder *c, size_t keys);

#endif
