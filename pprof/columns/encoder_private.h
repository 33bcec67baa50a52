/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the encoder share. No other file includes this
 * header.
 *
 * Ownership: all memory belongs to the encoder (encoder.h).
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

/* State of the stripe first, then that of the current group. */
struct codec_encoder {
	struct codec_table table;
	struct dict_mark start; /* mark of the empty dictionary */
	struct intern *intern;
	struct decoder *decoder;
	struct replay *replay;
	struct colgroup_coder *coder;
	struct zstd *zstd;
	int level;
	enum dialect dialect;     /* dialect of the last profile */
	VEC(uint32_t) successors; /* by key: key that followed it last, or 0 */
	uint32_t first_key;       /* first key of the last profile */
	bool patches;             /* whether the last profile needed a patch */
	/* Whether a group was accepted in this stripe. */
	bool is_used;
	struct remap *remap; /* from the table below; NULL: none */
	const struct codec_table *remapped;
	/* Accept groups even if they are smaller with zstd. */
	bool take_all;
	struct columns_counts counts;

	/* The current group. */
	struct colgroup group;
	VEC(int64_t) values; /* by profile, then by sample type */
	/* The current profile, as replayed. */
	struct buf replayed;
	/*
	 * Statistics of the current group, added to counts if it is accepted.
	 */
	struct columns_counts added;
};

#endif
