/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the encoder share. No file outside of them includes it.
 *
 * Ownership, threads: those of the encoder (encoder.h).
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

struct codec_encoder {
	struct codec_table table;
	struct dict_mark start; /* of the empty dictionary */
	struct intern *intern;
	struct decoder *decoder;
	struct replay *replay;
	struct colgroup_coder *coder;
	struct zstd *zstd;
	int level;
	enum dialect dialect;     /* the last one that was right */
	VEC(uint32_t) successors; /* by key: what followed it last, or 0 */
	uint32_t first_key;       /* of the last profile */
	bool patches;             /* the last profile needed one */
	bool is_used;
	struct remap *remap; /* of the table below, or NULL */
	const struct codec_table *remapped;
	bool take_all;
	struct columns_counts counts;

	/* The group. */
	struct colgroup group;
	VEC(int64_t) values; /* profile after profile, by type */
	struct buf replayed;
	struct columns_counts added;
};

#endif
