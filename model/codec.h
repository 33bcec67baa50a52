/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec: how a group of profiles of one series becomes stored bytes.
 *
 * Storage does not know what a profile is. It hands an encoder one group at a
 * time, the groups of one target after one another (a stripe), and keeps what
 * comes back; it decodes each group and compares hashes before it relies on
 * it. A codec may keep a table that the groups of a stripe share: it only
 * grows, and is stored behind the last of them. A codec without tables leaves
 * the table calls NULL.
 *
 * Ownership: encoders, decoders and tables belong to the caller until freed.
 * Threads: one thread an encoder or decoder; a table is immutable once opened.
 */
#ifndef MODEL_CODEC_H
#define MODEL_CODEC_H

#include "base/buf.h"
#include "base/err.h"

struct codec_encoder;
struct codec_decoder;
struct codec_table;
struct codec_rows;

/* Codec ids, as heads of groups say them: docs/format/head.md. */
enum {
	CODEC_ZSTD = 1,
	CODEC_COLUMNS = 2,
};

/* A stored group, as its head describes it. */
struct codec_group {
	const struct codec_table *table; /* NULL without tables */
	struct bytes stored;
	const uint32_t *lens; /* of the values, decoded */
	size_t count;
};

struct codec {
	uint8_t id;
	const char *name;

	struct codec_encoder *(*encoder_new)(int level);
	void (*encoder_free)(struct codec_encoder *e);

	/*
	 * Append the group's stored bytes to out. ERR_UNSUPPORTED: refused, out
	 * and table are as before; the caller takes another codec.
	 */
	int (*encode)(struct codec_encoder *e, const struct bytes *values,
		      size_t count, struct buf *out, struct err *err);

	/*
	 * The same of a group that the codec has encoded in another stripe:
	 * its table may go when adopt_end() is called. Both NULL: the codec
	 * cannot. ERR_CORRUPT: the group is damaged.
	 */
	int (*adopt)(struct codec_encoder *e, const struct codec_group *group,
		     struct buf *out, struct err *err);
	void (*adopt_end)(struct codec_encoder *e);

	/* The stripe's table so far, borrowed until the next encode(). */
	const struct codec_table *(*encoder_table)(
		const struct codec_encoder *e);

	/* Whether the stripe should end, for its table has become large. */
	bool (*encoder_is_full)(const struct codec_encoder *e);

	/*
	 * End a stripe: append its table to out, and begin with an empty one.
	 * Nothing is appended when no group needs it. ERR_CORRUPT: the table
	 * does not read back, the stripe is lost.
	 */
	int (*encoder_finish)(struct codec_encoder *e, struct buf *out,
			      struct err *err);

	/* ERR_CORRUPT, ERR_TOOBIG. */
	int (*table_open)(struct bytes stored, struct codec_table **out,
			  struct err *err);
	void (*table_free)(struct codec_table *t);
	size_t (*table_memory)(const struct codec_table *t);

	/*
	 * A decoder is workspace that is worth keeping from group to group.
	 */
	struct codec_decoder *(*decoder_new)(void);
	void (*decoder_free)(struct codec_decoder *d);
	size_t (*decoder_memory)(const struct codec_decoder *d);

	/*
	 * Append n values of a group, from the first-th on, to out, one behind
	 * another. ERR_CORRUPT when the bytes are not such a group.
	 */
	int (*decode)(struct codec_decoder *d, const struct codec_group *group,
		      size_t first, size_t n, struct buf *out, struct err *err);

	/*
	 * A group as the codec sees it, to be passed on unseen to those who can
	 * use it without making values of it; valid until the decoder's next
	 * use. types: which sample types are wanted, NULL: all. The call is
	 * NULL when a codec has nothing of the kind. ERR_CORRUPT.
	 */
	int (*rows)(struct codec_decoder *d, const struct codec_group *group,
		    const bool *types, const struct codec_rows **out,
		    struct err *err);

	/*
	 * Tell what a stored group, or table, is made of, in bytes; NULL for a
	 * codec that has no parts.
	 */
	void (*sections)(struct bytes stored, bool is_table,
			 void (*fn)(void *ctx, const char *section,
				    size_t bytes),
			 void *ctx);
};

#endif
