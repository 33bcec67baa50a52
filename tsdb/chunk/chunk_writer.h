/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builder: fills a group with profiles of one series, and compresses it.
 *
 * Ownership: chunk_writer_fini() frees. Threads: one thread a builder.
 */
#ifndef TSDB_CHUNK_CHUNK_WRITER_H
#define TSDB_CHUNK_CHUNK_WRITER_H

#include "model/codec.h"
#include "model/types.h"
#include "tsdb/chunk/chunk_meta.h"

/* A codec, and what it works with. */
struct chunk_codec {
	const struct codec *codec; /* NULL: there is none */
	struct codec_encoder *encoder;
	struct codec_decoder *decoder;
};

struct chunk_writer {
	struct chunk_codec zstd;
	struct chunk_codec columns; /* tried first */
	unsigned refused;           /* groups of this series, by columns */
	struct chunk_meta meta;     /* its totals are those below */
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	struct buf raw[CHUNK_PROFILES_MAX];
	size_t raw_bytes;
	struct buf typeset;
	struct buf scratch; /* the group decoded again */
};

/* columns: NULL for zstd alone. */
struct chunk_writer *chunk_writer_new(const struct codec *columns, int level);
void chunk_writer_free(struct chunk_writer *b);

/* Whether a profile like that does not belong into this group. */
bool chunk_writer_is_full(const struct chunk_writer *b, uint32_t raw_len,
			  struct bytes typeset);

/*
 * Add a profile, whose bytes are taken out of *raw (which gets another buffer
 * for them), and its totals, as many as the type set has.
 */
void chunk_writer_add(struct chunk_writer *b, const struct chunk_profile *p,
		      struct bytes typeset, const int64_t *totals,
		      struct buf *raw);

/*
 * Append the group's stored bytes to out, set codec, length and CRC in the
 * head, and verify that they decode to what came.
 */
NODISCARD int chunk_writer_store(struct chunk_writer *b, struct buf *out,
				 struct err *err);

/*
 * The same of a group that was stored as columns elsewhere, of head h and table
 * `table`: append it as this stripe has it, and set its place in h.
 * ERR_UNSUPPORTED: it cannot be; it is to be copied as it is. ERR_CORRUPT.
 */
NODISCARD int chunk_writer_adopt(struct chunk_writer *b, struct chunk_meta *h,
				 const struct codec_table *table,
				 struct bytes stored, struct buf *out,
				 struct err *err);

/* The table of the last adopted group goes. */
void chunk_writer_adopt_end(struct chunk_writer *b);

/* Empty it. */
void chunk_writer_reset(struct chunk_writer *b);

/* What comes is of another series: columns may suit it again. */
void chunk_writer_begin_series(struct chunk_writer *b);

/* Whether the stripe should end, for its table is large. */
bool chunk_writer_is_stripe_full(const struct chunk_writer *b);

/*
 * End the stripe: its table is appended to out (nothing, if it needs none).
 * ERR_CORRUPT: the groups since the last end cannot be read.
 */
NODISCARD int chunk_writer_end_stripe(struct chunk_writer *b, struct buf *out,
				      struct err *err);

#endif
