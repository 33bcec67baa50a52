/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip, zlib and back (RFC 1950, 1952), whole buffers at a time, by libdeflate.
 *
 * Ownership: a gzip context owns its workspace. Threads: one thread a context.
 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/buf.h"
#include "base/err.h"

struct gzip;

/* What the first bytes say. */
enum gzip_kind {
	GZIP_NONE,
	GZIP_GZIP,
	GZIP_ZLIB
};
enum gzip_kind gzip_sniff(struct bytes b);

struct gzip *gzip_new(void);
void gzip_free(struct gzip *g);

/*
 * Decompress in, by what gzip_sniff() says of it, and append to out: all
 * members of a gzip file. ERR_CORRUPT: damaged, cut short, or trailing bytes.
 * ERR_TOOBIG: more than fits out's maximum, which bounds the work.
 */
NODISCARD int gzip_decompress(struct gzip *g, struct bytes in, struct buf *out,
			      struct err *err);

/* Compress as one gzip member, at level 1 to 12, and append to out. */
void gzip_compress(struct gzip *g, int level, struct bytes in, struct buf *out);

#endif
