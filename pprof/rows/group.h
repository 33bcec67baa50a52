/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group: up to 32 profiles of one series, as columns in memory. Also the
 * workspace in which groups are encoded and decoded. Format:
 * docs/format/columns.md.
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
	COLGROUP_VALUES_MAX = 2 * 1024 * 1024, /* number of keys and values */
	COLGROUP_BYTES_MAX = 16 * 1024 * 1024, /* bytes of decoded profiles */
};

/*
 * The columns of a group. A row is one profile. Its pointers into keys and
 * values are set by colgroup_link(), or when the group is decoded.
 */
struct colgroup {
	/* Number of profiles, and of sample types in each. */
	size_t count;
	size_t types;
	/*
	 * Number of keys that the dictionary had before the group was encoded.
	 */
	uint32_t top;
	struct row rows[COLGROUP_ROWS_MAX];
	/*
	 * Length of each row's patch (the bytes by which the profile differs
	 * from its replay); 0: the replay is exact.
	 */
	uint32_t patch_lens[COLGROUP_ROWS_MAX];
	/* Key of each sample, row by row. */
	VEC(uint32_t) keys;
	/*
	 * Value of each sample: one column of keys.count values per sample
	 * type.
	 */
	VEC(int64_t) values;
	struct buf patches; /* patches of all rows, without gaps */
};

/* Empty the group for reuse; its memory is kept. */
void colgroup_reset(struct colgroup *g);

/* Free the columns. */
void colgroup_fini(struct colgroup *g);

/* Memory that the columns hold, in bytes. */
size_t colgroup_memory(const struct colgroup *g);

/*
 * Set the pointers and the stride of each row to its part of the columns. Must
 * be called after the columns are filled or moved.
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

/* A request to decode a stored group, or a part of it. */
struct colgroup_request {
	struct bytes stored;
	const uint32_t *lens; /* decoded length of each profile, in bytes */
	size_t count;         /* number of profiles in the group */
	size_t begin;         /* first row whose values are wanted */
	size_t end;           /* number after the last row to decode */
	const bool *types;    /* wanted sample types; NULL: all */
	bool patches;         /* whether patches are wanted */
};

/* The rest of this header is for the encoder and the decoder only. */

/* How a column of values is stored (docs/format/columns.md). */
enum column_model {
	MODEL_SELF,      /* the values as they are */
	MODEL_DELTA,     /* differences to the key's previous value */
	MODEL_PERIOD,    /* differences to value of previous type * period */
	MODEL_UNSAMPLED, /* Go's heap: sampled counts, errors of estimates */
};

/*
 * The estimates of objects and space that are computed from a key's sampled
 * count (heap_unscale.h); valid while count and period stay the same.
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
 * Workspace of encoding and decoding. From one group to the next only cached
 * scales are kept (heap_unscale.h).
 */
struct colgroup_coder {
	struct zstd *zstd;
	struct unsample unsample;
	/* Successor of each key: the key that followed it last; 0: key + 1. */
	VEC(uint32_t) successors;
	/* Previous value of each key. */
	VEC(int64_t) previous;
	VEC(struct colgroup_estimate) estimates; /* of each key */
	struct buf head;
	struct buf column;
	struct buf other; /* the column in a second model, to compare */
	/*
	 * Parts of the current column, or the column as a section in each
	 * model.
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
