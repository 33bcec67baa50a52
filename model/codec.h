/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec: the interface by which a group of profiles of one series (the content
 * of one chunk) is encoded as stored bytes, and decoded again.
 *
 * Storage does not know what a profile is. It passes the groups of one target,
 * one after another, to an encoder; these groups form a stripe. Storage decodes
 * each encoded group and compares the hashes of the profiles before it relies
 * on the stored bytes. The groups of a stripe may share one dictionary table,
 * which only grows and is stored after the last group. A codec without tables
 * leaves the functions for tables NULL.
 *
 * Ownership: the caller owns encoders, decoders and tables until it frees them.
 * Threads: an encoder or decoder is used by one thread at a time; a table is
 * immutable once opened and may be shared.
 */
#ifndef MODEL_CODEC_H
#define MODEL_CODEC_H

#include "base/buf.h"
#include "base/err.h"

struct codec_encoder;
struct codec_decoder;
struct codec_table;
struct codec_rows;

/* Codec ids, as stored in the chunk metadata (docs/format/chunk-meta.md). */
enum {
	CODEC_ZSTD = 1,
	CODEC_COLUMNS = 2,
};

/* A stored group, described by its chunk metadata. */
struct codec_group {
	/* the table of the stripe; NULL if the codec has none */
	const struct codec_table *table;
	/* Stored bytes of the group, as encode() or adopt() appended them. */
	struct bytes stored;
	const uint32_t *lens; /* decoded length of each profile, in bytes */
	size_t count;         /* number of profiles in the group */
};

/*
 * One codec, as a table of functions. A function whose comment says "NULL if
 * the codec …" is optional; the functions for tables are NULL if the codec has
 * no tables.
 */
struct codec {
	uint8_t id;       /* id of the codec: one of CODEC_* */
	const char *name; /* name of the codec in messages and listings */

	/*
	 * Creates an encoder with an empty table; `level` is the compression
	 * level.
	 */
	struct codec_encoder *(*encoder_new)(int level);
	/* Frees an encoder; a stripe that was not finished is lost. */
	void (*encoder_free)(struct codec_encoder *e);

	/*
	 * Encodes `count` profiles, whose bytes are `values`, as one group of
	 * the current stripe and appends the stored bytes to `out`.
	 * ERR_UNSUPPORTED: the codec declines these profiles, `out` and the
	 * table are unchanged, and the caller falls back to another codec.
	 */
	int (*encode)(struct codec_encoder *e, const struct bytes *values,
		      size_t count, struct buf *out, struct err *err);

	/*
	 * Re-encodes a group that this codec wrote in another stripe so that
	 * the group uses the current stripe's table, without decoding the
	 * profiles, and appends the result to `out`. The encoder may keep
	 * pointers into the group's old table until adopt() is called with a
	 * group of yet another table, or the encoder is freed. ERR_UNSUPPORTED:
	 * the group cannot be re-encoded in this way; ERR_CORRUPT: the group is
	 * damaged. NULL if the codec cannot do this.
	 */
	int (*adopt)(struct codec_encoder *e, const struct codec_group *group,
		     struct buf *out, struct err *err);

	/*
	 * Returns the table of the current stripe, borrowed until the next
	 * encode().
	 */
	const struct codec_table *(*encoder_table)(
		const struct codec_encoder *e);

	/* Returns whether the table is so large that the stripe should end. */
	bool (*encoder_is_full)(const struct codec_encoder *e);

	/*
	 * Ends the stripe: appends its table to `out` and starts the next
	 * stripe with an empty table. Appends nothing if no group needs the
	 * table. ERR_CORRUPT: the table could not be read back, so the stripe's
	 * groups are unusable.
	 */
	int (*encoder_finish)(struct codec_encoder *e, struct buf *out,
			      struct err *err);

	/*
	 * Opens a stored table; the caller frees it with table_free().
	 * ERR_CORRUPT: the bytes are not a table. ERR_TOOBIG: the table exceeds
	 * a limit.
	 */
	int (*table_open)(struct bytes stored, struct codec_table **out,
			  struct err *err);
	/* Frees a table that table_open() returned. */
	void (*table_free)(struct codec_table *t);
	/* Returns the memory that a table takes, in bytes. */
	size_t (*table_memory)(const struct codec_table *t);

	/*
	 * Creates a decoder. It is only workspace; reusing it from group to
	 * group saves allocations.
	 */
	struct codec_decoder *(*decoder_new)(void);
	/* Frees a decoder. */
	void (*decoder_free)(struct codec_decoder *d);
	/* Returns the memory that a decoder holds, in bytes. */
	size_t (*decoder_memory)(const struct codec_decoder *d);

	/*
	 * Decodes n profiles of a group, starting with profile number `first`,
	 * and appends them to `out` one after another. ERR_CORRUPT: the stored
	 * bytes are not a group of this codec.
	 */
	int (*decode)(struct codec_decoder *d, const struct codec_group *group,
		      size_t first, size_t n, struct buf *out, struct err *err);

	/*
	 * Returns a group as rows: the codec's own representation of the
	 * group's profiles, which some callers can sum without decoding the
	 * profiles. Storage passes the rows on without looking at them.
	 * types[i] says whether sample type i is wanted; NULL selects all. *out
	 * is valid until the decoder is used again. ERR_CORRUPT: the group is
	 * damaged. NULL if the codec has no rows.
	 */
	int (*rows)(struct codec_decoder *d, const struct codec_group *group,
		    const bool *types, const struct codec_rows **out,
		    struct err *err);

	/*
	 * Reports how many bytes each part of a stored group (or of a stored
	 * table, if is_table) takes, by calling fn for each part. NULL if the
	 * codec does not divide its bytes into parts.
	 */
	void (*sections)(struct bytes stored, bool is_table,
			 void (*fn)(void *ctx, const char *section,
				    size_t bytes),
			 void *ctx);
};

#endif
