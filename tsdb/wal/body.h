/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Body decoder: turns the bytes in a WAL record, as the client sent them, back
 * into the uncompressed profile.
 *
 * Ownership: body_decoder_fini() frees the decoder's memory.
 * Threads: one thread per decoder.
 */
#ifndef TSDB_WAL_BODY_H
#define TSDB_WAL_BODY_H

#include "base/gzip.h"
#include "base/zstd.h"
#include "tsdb/wal/segment_format.h"

/*
 * A body decoder: decompressors for the bodies of WAL records. The zero value
 * is ready; each decompressor is created on first use.
 */
struct body_decoder {
	struct gzip *gzip;
	struct zstd *zstd;
};

/* Free the decompressors and reset *d to zero, ready for further use. */
void body_decoder_fini(struct body_decoder *d);

/*
 * Replace the contents of `out` by the decompressed profile, which is verified
 * by its length and hash. ERR_CORRUPT: the length or hash differs, the
 * compressed data is damaged, or the encoding is unknown.
 */
NODISCARD int body_decode(struct body_decoder *d,
			  const struct segment_profile *p, struct buf *out,
			  struct err *err);

#endif
