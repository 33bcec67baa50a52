/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builder: fills a group with profiles of one series, and compresses it.
 *
 * Ownership: builder_fini() frees. Threads: one thread a builder.
 */
#ifndef TSDB_BUILDER_H
#define TSDB_BUILDER_H

#include "model/codec.h"
#include "model/types.h"
#include "tsdb/head.h"

struct builder {
	const struct codec *codec;
	struct codec_encoder *encoder;
	struct codec_decoder *decoder;
	struct head head; /* its totals are those below */
	int64_t totals[TYPES_MAX * GROUP_PROFILES_MAX];
	struct buf raw[GROUP_PROFILES_MAX];
	size_t raw_bytes;
	struct buf typeset;
	struct buf scratch; /* the group decoded again */
};

struct builder *builder_new(const struct codec *codec, int level);
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

/* Empty it. */
void builder_reset(struct builder *b);

#endif
