/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunk writer: collects profiles of one series into a chunk and compresses it,
 * as columns if that codec accepts the profiles, else with zstd.
 *
 * Ownership: chunk_writer_free() frees the writer.
 * Threads: one thread per writer.
 */
#ifndef TSDB_CHUNK_CHUNK_WRITER_H
#define TSDB_CHUNK_CHUNK_WRITER_H

#include "model/codec.h"
#include "model/types.h"
#include "tsdb/chunk/chunk_meta.h"

/* A codec with its encoder and decoder. */
struct chunk_codec {
	const struct codec *codec; /* NULL: this codec is not used */
	struct codec_encoder *encoder;
	struct codec_decoder *decoder;
};

/* A writer and the chunk that it is filling. */
struct chunk_writer {
	struct chunk_codec zstd;
	struct chunk_codec columns; /* tried before zstd; may be unused */
	/* Chunks of this series that the columns codec refused. */
	unsigned refused;
	/* Metadata of the chunk; meta.totals points to totals. */
	struct chunk_meta meta;
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	/* Uncompressed profiles of the chunk, and their total size. */
	struct buf raw[CHUNK_PROFILES_MAX];
	size_t raw_bytes;
	struct buf typeset; /* encoded sample types of the chunk */
	struct buf scratch; /* the stored chunk decoded again, for comparison */
};

/*
 * Create a writer; the caller owns it. columns is the codec to try first, or
 * NULL for zstd alone; level is the compression level of both.
 */
struct chunk_writer *chunk_writer_new(const struct codec *columns, int level);

/* Free a writer with everything in it. NULL is a no-op. */
void chunk_writer_free(struct chunk_writer *b);

/*
 * Whether the chunk must be stored before a profile of this length and type set
 * is added: it is full, or has another type set. Never true of an empty chunk.
 */
bool chunk_writer_is_full(const struct chunk_writer *b, uint32_t raw_len,
			  struct bytes typeset);

/*
 * Add a profile and its totals, as many as the type set has. The bytes are
 * taken from *raw, which gets another buffer in exchange. The caller must have
 * checked chunk_writer_is_full().
 */
void chunk_writer_add(struct chunk_writer *b, const struct chunk_profile *p,
		      struct bytes typeset, const int64_t *totals,
		      struct buf *raw);

/*
 * Compress the chunk, append the stored bytes to out, and set codec, length and
 * CRC in meta. The result is decoded and compared with the hashes before it is
 * accepted. ERR_CORRUPT: it does not decode to the same profiles.
 */
NODISCARD int chunk_writer_store(struct chunk_writer *b, struct buf *out,
				 struct err *err);

/*
 * Take over a stored chunk from another stripe without decoding its profiles:
 * append it to out, rewritten for this stripe's table, and set its codec,
 * length and CRC in h. table is the table it was written with. ERR_UNSUPPORTED:
 * the codec cannot; the caller copies the stored bytes as they are.
 * ERR_CORRUPT: the chunk is damaged.
 */
NODISCARD int chunk_writer_adopt(struct chunk_writer *b, struct chunk_meta *h,
				 const struct codec_table *table,
				 struct bytes stored, struct buf *out,
				 struct err *err);

/* Discard the chunk's profiles. The stripe goes on. */
void chunk_writer_reset(struct chunk_writer *b);

/*
 * Begin another series: the columns codec is tried again even if it refused
 * chunks of the last one.
 */
void chunk_writer_begin_series(struct chunk_writer *b);

/* Whether the stripe's table has grown so large that the stripe should end. */
bool chunk_writer_is_stripe_full(const struct chunk_writer *b);

/*
 * End the stripe and append its table to out, or nothing if no chunk needs one.
 * ERR_CORRUPT: the table cannot be read back, and so neither can the chunks
 * stored since the last call.
 */
NODISCARD int chunk_writer_end_stripe(struct chunk_writer *b, struct buf *out,
				      struct err *err);

#endif
