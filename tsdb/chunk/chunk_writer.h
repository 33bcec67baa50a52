/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunk writer: collects profiles of one series into a chunk and compresses it,
 * with the columns codec if it accepts the profiles, otherwise with zstd.
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
	const struct codec *codec; /* the codec; NULL: not used */
	struct codec_encoder *encoder;
	struct codec_decoder *decoder;
};

/* A writer and the chunk that it is filling. */
struct chunk_writer {
	struct chunk_codec zstd;
	struct chunk_codec columns; /* columns codec, tried before zstd */
	/*
	 * Number of chunks of the current series that the columns codec
	 * refused.
	 */
	unsigned refused;
	/* Metadata of the chunk; meta.totals points to totals. */
	struct chunk_meta meta;
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	/* Uncompressed profiles of the chunk, and their total size in bytes. */
	struct buf raw[CHUNK_PROFILES_MAX];
	size_t raw_bytes;
	struct buf typeset; /* encoded sample types of the chunk */
	/* Profiles decoded from the stored chunk, to verify it. */
	struct buf scratch;
};

/*
 * Create a writer, which the caller owns. `columns` is the codec to try first;
 * NULL: only zstd is used. `level` is the compression level of both codecs.
 */
struct chunk_writer *chunk_writer_new(const struct codec *columns, int level);

/* Free a writer with everything in it. NULL is a no-op. */
void chunk_writer_free(struct chunk_writer *b);

/*
 * Whether a profile of this length and type set does not fit into the current
 * chunk, because the chunk is full or has another type set. The caller must
 * store the chunk first. An empty chunk is never full.
 */
bool chunk_writer_is_full(const struct chunk_writer *b, uint32_t raw_len,
			  struct bytes typeset);

/*
 * Add a profile and its totals, one for each type of the type set. *raw has the
 * profile's bytes; the writer keeps this buffer and gives the caller another
 * buffer in *raw. The caller must have checked chunk_writer_is_full().
 */
void chunk_writer_add(struct chunk_writer *b, const struct chunk_profile *p,
		      struct bytes typeset, const int64_t *totals,
		      struct buf *raw);

/*
 * Compress the chunk, append the stored bytes to `out`, and set codec, length
 * and CRC in the member `meta`. Before the stored bytes are accepted, they are
 * decoded and compared with the hashes. ERR_CORRUPT: they do not decode to the
 * same profiles.
 */
NODISCARD int chunk_writer_store(struct chunk_writer *b, struct buf *out,
				 struct err *err);

/*
 * Take over a stored chunk from another stripe without decoding its profiles:
 * append it to `out`, rewritten for this stripe's table, and set its codec,
 * length and CRC in *h. `table` is the table with which the chunk was written.
 * ERR_UNSUPPORTED: the codec cannot do this, and the caller copies the stored
 * bytes as they are. ERR_CORRUPT: the chunk is damaged.
 */
NODISCARD int chunk_writer_adopt(struct chunk_writer *b, struct chunk_meta *h,
				 const struct codec_table *table,
				 struct bytes stored, struct buf *out,
				 struct err *err);

/* Discard the profiles of the current chunk. The stripe does not end. */
void chunk_writer_reset(struct chunk_writer *b);

/*
 * Begin another series: the columns codec is tried again, even if it refused
 * too many chunks of the previous series.
 */
void chunk_writer_begin_series(struct chunk_writer *b);

/* Whether the stripe's table has grown so large that the stripe should end. */
bool chunk_writer_is_stripe_full(const struct chunk_writer *b);

/*
 * End the stripe and append its table to `out`, or nothing if no chunk needs
 * one. ERR_CORRUPT: the table cannot be read back, so the chunks stored since
 * the last call are not readable either.
 */
NODISCARD int chunk_writer_end_stripe(struct chunk_writer *b, struct buf *out,
				      struct err *err);

#endif
