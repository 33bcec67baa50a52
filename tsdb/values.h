/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values: from a group's head to the profiles in it, whatever their codec.
 *
 * Threads: one thread a reader.
 */
#ifndef TSDB_VALUES_H
#define TSDB_VALUES_H

#include "base/file.h"
#include "model/codec.h"
#include "tsdb/head.h"

/* The zero value is ready. */
struct values_reader {
	struct codec_decoder *zstd;
	struct buf stored;
};

void values_reader_fini(struct values_reader *r);

/* NULL for a codec that this everprof lacks. */
const struct codec *codec_of(uint8_t id);

/*
 * The stored bytes of a group, borrowed from the reader until its next call.
 * ERR_CORRUPT: not those that were stored; *out is set all the same.
 */
NODISCARD int values_stored(struct values_reader *r, const struct file *f,
			    const struct head_place *place, struct bytes *out,
			    struct err *err);

/* Replace out by the index-th profile, verified by its hash. */
NODISCARD int values_one(struct values_reader *r, const struct file *f,
			 const struct head *h, size_t index, struct buf *out,
			 struct err *err);

/* All profiles of a group, one behind another. */
struct values {
	struct buf bytes;
	size_t at[GROUP_PROFILES_MAX];
	bool ok[GROUP_PROFILES_MAX]; /* its hash agrees */
};

/*
 * Replace out by a group's profiles. Of a damaged group what can be had is
 * had, and *err says what is wrong: ERR_CORRUPT. ERR_IO: nothing was read.
 */
NODISCARD int values_all(struct values_reader *r, const struct file *f,
			 const struct head *h, struct values *out,
			 struct err *err);

#endif
