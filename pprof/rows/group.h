/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group: up to 32 profiles of one series, as columns in memory. A row of a
 * group is one profile. This header also declares the workspace (coder) in
 * which groups are encoded and decoded. Format: docs/format/columns.md.
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
	/* Maximum number of keys and values together. */
	COLGROUP_VALUES_MAX = 2 * 1024 * 1024,
	COLGROUP_BYTES_MAX = 16 * 1024 * 1024, /* bytes of decoded profiles */
};

/*
 * The columns of a group. Members `keys` and `values` of each row point into
 * the columns; they are set by colgroup_link(), or when the group is decoded.
 */
struct colgroup {
	/* Number of profiles, and number of sample types in each profile. */
	size_t count;
	size_t types;
	/*
	 * Number of keys that the dictionary had before the group was encoded.
	 */
	uint32_t top;
	struct row rows[COLGROUP_ROWS_MAX];
	/*
	 * Length in bytes of each row's patch (the bytes by which the profile
	 * differs from its replay, the profile as written again from the
	 * columns); 0: there is no difference.
	 */
	uint32_t patch_lens[COLGROUP_ROWS_MAX];
	/*
	 * Key of each sample of the first row, then of the next row, and so on.
	 */
	VEC(uint32_t) keys;
	/*
	 * Value of each sample. Each sample type has a column of keys.count
	 * values.
	 */
	VEC(int64_t) values;
	struct buf patches; /* patches of all rows, one after another */
};

/* Empty the group for reuse; its memory is kept. */
void colgroup_reset(struct colgroup *g);

/* Free the columns. */
void colgroup_fini(struct colgroup *g);

/* Memory that the columns hold, in bytes. */
size_t colgroup_memory(const struct colgroup *g);

/*
 * Set `keys`, `values` and `stride` of each row to its part of the columns.
 * Must be called after the columns are filled or moved.
 */
void colgroup_link(struct colgroup *g);

/* The patch of a row, borrowed from the group; empty if there is none. */
struct bytes colgroup_patch(const struct colgroup *g, size_t row);

/* Workspace of encoding and decoding. Reusing it saves allocations. */
struct colgroup_coder;

/* Create a workspace. The caller frees it by colgroup_coder_free(). */
struct colgroup_coder *colgroup_coder_new(void);

/* Free a workspace. `c` may be NULL. */
void colgroup_coder_free(struct colgroup_coder *c);

/* Memory that the workspace holds, in bytes, without that of zstd. */
size_t colgroup_coder_memory(const struct colgroup_coder *c);

/* A request to decode a stored group, or a part of it. */
struct colgroup_request {
	struct bytes stored;
	const uint32_t *lens; /* decoded length of each profile, in bytes */
	size_t count;         /* number of profiles in the group */
	size_t begin;         /* first row whose values are wanted */
	size_t end;           /* last row to decode, + 1 */
	const bool *types;    /* wanted sample types; NULL: all */
	bool patches;         /* whether patches are wanted */
};

/* The rest of this header is for the encoder and the decoder only. */

/* How a column of values is stored (docs/format/columns.md). */
enum column_model {
	MODEL_SELF,      /* the values as they are */
	MODEL_DELTA,     /* difference to the key's previous value */
	MODEL_PERIOD,    /* difference to period * value of previous type */
	MODEL_UNSAMPLED, /* Go's heap: sampled counts, errors of estimates */
};

/*
 * The estimates of objects and space that follow from a key's sampled count
 * (heap_unscale.h). They are valid while count and period stay the same.
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
 * Workspace of encoding and decoding. It keeps the memory of its buffers from
 * group to group. Of their contents, it keeps only the cached scales
 * (heap_unscale.h).
 */
struct colgroup_coder {
	struct zstd *zstd;
	struct unsample unsample;
	/*
	 * For each key: the key that followed it last time; 0: the next number.
	 */
	VEC(uint32_t) successors;
	/* The value of each key when it last occurred in the group. */
	VEC(int64_t) previous;
	VEC(struct colgroup_estimate) estimates; /* of each key */
	struct buf head;
	struct buf column;
	struct buf other; /* column in a second model, to compare sizes */
	/*
	 * Either the parts of the current column, or the current column as a
	 * section in each of two models.
	 */
	struct buf parts[3];
};

/*
 * Return a zeroed array for the previous value of each of `keys` keys, with one
 * additional element. Borrowed from c until the next call.
 */
int64_t *colgroup_previous(struct colgroup_coder *c, size_t keys);

/*
 * Return a zeroed array for the estimates of each of `keys` keys, with one
 * additional element. Borrowed from c until the next call.
 */
struct colgroup_estimate *colgroup_estimates(struct colgroup_coder *c,
					     size_t keys);

/*
 * Return a zeroed array for the successor of each of `keys` keys, with one
 * additional element for "no key". Borrowed from c until the next call.
 */
uint32_t *colgroup_successors(struct colgroup_coder *c, size_t keys);

#endif
