/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the source files of the encoder (encoder.h) share. No other
 * file includes this header.
 *
 * Ownership: all memory belongs to the encoder.
 * Threads: one thread at a time, as for the encoder.
 */
#ifndef PPROF_COLUMNS_ENCODER_PRIVATE_H
#define PPROF_COLUMNS_ENCODER_PRIVATE_H

#include "pprof/columns/encoder.h"
#include "pprof/columns/remap.h"
#include "pprof/dictionary/intern.h"
#include "pprof/dictionary/layout.h"
#include "pprof/proto/decode.h"
#include "pprof/rows/group.h"
#include "pprof/rows/reencode.h"

/* An encoder: the state of the stripe, then the state of the current group. */
struct codec_encoder {
	struct codec_table table;
	/*
	 * Mark of a new dictionary, which has only the empty text and the empty
	 * stack. Encoding from this mark on writes the whole table.
	 */
	struct dict_mark start;
	struct intern *intern;
	struct decoder *decoder;
	struct replay *replay;
	struct colgroup_coder *coder;
	struct zstd *zstd;
	int level;
	enum dialect dialect; /* dialect of the last profile */
	/* For each key: the key that followed it last time; 0: none. */
	VEC(uint32_t) successors;
	uint32_t first_key; /* first key of the last profile */
	/*
	 * Whether the last profile needed a patch (the bytes by which a profile
	 * differs from its replay), and the patch was small enough.
	 */
	bool patches;
	/* Whether a group was accepted in this stripe. */
	bool is_used;
	/*
	 * Translation from the table `remapped` to the current table, for
	 * columns_adopt(); NULL: none.
	 */
	struct remap *remap;
	const struct codec_table *remapped;
	/* Whether to accept groups even if zstd would make them smaller. */
	bool take_all;
	struct columns_counts counts;

	/* The current group. */
	struct colgroup group;
	/*
	 * Values of the first profile of the group, then of the next, and so
	 * on. For each profile: all values of the first sample type, then of
	 * the next.
	 */
	VEC(int64_t) values;
	/*
	 * Replay of the current profile: the bytes that decoding its columns
	 * gives.
	 */
	struct buf replayed;
	/*
	 * Statistics of the current group. They are added to `counts` if the
	 * group is accepted.
	 */
	struct columns_counts added;
};

#endif
