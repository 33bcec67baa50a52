/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builder: fills a group with profiles of one series, and compresses it.
 *
 * Ownership: builder_fini() frees. Threads: one thread a builder.
 */
#ifndef TSDB_CHUNK_CHUNK_WRITER_H
#define TSDB_CHUNK_CHUNK_WRITER_H

#include "model/codec.h"
#include "model/types.h"
#include "tsdb/chunk/chunk_meta.h"

/* A codec, and what it works with. */
struct builder_codec {
	const struct codec *codec; /* NULL: there is none */
	struct codec_encoder *encoder;
	struct codec_decoder *decoder;
};

struct builder {
	struct builder_codec zstd;
	struct builder_codec columns; /* tried first */
	unsigned refused;             /* groups of this series, by columns */
	struct head head;             /* its totals are those below */
	int64_t totals[TYPES_MAX * GROUP_PROFILES_MAX];
	struct buf raw[GROUP_PROFILES_MAX];
	size_t raw_bytes;
	struct buf typeset;
	struct buf scratch; /* the group decoded again */
};

/* columns: NULL for zstd alone. */
struct builder *builder_new(const struct codec *columns, int level);
void builder_free(struct builder *b);

/* Whether a profile like that does not belong into this group. */
bool builder_is_full(const struct builder *b, uint32_t raw_len,
		     struct bytes typeset);

/*
 * Add a profile, whose bytes are taken out of *raw (which gets another buffer
 * for them), and its totals, as many as the type set has.
 */
void builder_add(struct builder *b, const struct head_profile *p,
		 struct bytes typeset, const int64_t *totals, struct buf *raw);

/*
 * Append the group's stored bytes to out, set codec, length and CRC in the
 * head, and verify that they decode to what came.
 */
NODISCARD int builder_store(struct builder *b, struct buf *out,
			    struct err *err);

/*
 * The same of a group that was stored as columns elsewhere, of head h and table
 * `table`: append it as this stripe has it, and set its place in h.
 * ERR_UNSUPPORTED: it cannot be; it is to be copied as it is. ERR_CORRUPT.
 */
NODISCARD int builder_adopt(struct builder *b, struct head *h,
			    const struct codec_table *table,
			    struct bytes stored, struct buf *out,
			    struct err *err);

/* The table of the last adopted group goes. */
void builder_adopt_end(struct builder *b);

/* Empty it. */
void builder_reset(struct builder *b);

/* What comes is of another series: columns may suit it again. */
void builder_begin_series(struct builder *b);

/* Whether the stripe should end, for its table is large. */
bool builder_is_stripe_full(const struct builder *b);

/*
 * End the stripe: its table is appended to out (nothing, if it needs none).
 * ERR_CORRUPT: the groups since the last end cannot be read.
 */
NODISCARD int builder_end_stripe(struct builder *b, struct buf *out,
				 struct err *err);

#endif
