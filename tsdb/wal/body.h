/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies: from the bytes in a WAL record to the profile that went in.
 *
 * Ownership: body_decoder_fini() frees.
 * Threads: one thread a decoder.
 */
#ifndef TSDB_WAL_BODY_H
#define TSDB_WAL_BODY_H

#include "base/gzip.h"
#include "base/zstd.h"
#include "tsdb/wal/segment.h"

/* The zero value is ready. */
struct body_decoder {
	struct gzip *gzip;
	struct zstd *zstd;
};

void body_decoder_fini(struct body_decoder *d);

/*
 * Replace out by the profile, verified by its length and hash. ERR_CORRUPT
 * when they differ.
 */
NODISCARD int body_decode(struct body_decoder *d,
			  const struct segment_profile *p, struct buf *out,
			  struct err *err);

#endif
