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
#include "pprof/decode.h"
#include "pprof/dictionary/intern.h"
#include "pprof/dictionary/layout.h"
#include "pprof/rows/group.h"
#include "pprof/rows/reencode.h"

/* An encoder: the state of the stripe, then the state of the current group. */
struct codec_encoder {
	struct codec_table table;
	struct dict_mark start; /* counts of the empty dictionary */
	struct intern *intern;
	struct decoder *decoder;
	struct replay *replay;
	struct colgroup_coder *coder;
	struct zstd *zstd;
	int level;
	enum dialect dialect; /* dialect of the last profile */
	/* For each key: the key that followed it last; 0: none. */
	VEC(uint32_t) successors;
	uint32_t first_key; /* first key of the last profile */
	/*
	 * Whether the last profile needed a patch (the bytes by which the
	 * profile differs from its replay).
	 */
	bool patches;
	/* Whether a group was accepted in this stripe. */
	bool is_used;
	/*
	 * Translation from the table `remapped`, for adopted groups; NULL:
	 * none.
	 */
	struct remap *remap;
	const struct codec_table *remapped;
	/* Whether to accept groups even if they are smaller with zstd. */
	bool take_all;
	struct columns_counts counts;

	/* The current group. */
	struct colgroup group;
	VEC(int64_t) values; /* values, by profile, then by sample type */
	/*
	 * Replay of the current profile: its bytes as written again from the
	 * columns.
	 */
	struct buf replayed;
	/*
	 * Statistics of the current group, added to counts if it is accepted.
	 */
	struct columns_counts added;
};

#endif
