/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd, whole buffers at a time.
 *
 * Ownership: a context owns its workspace. Threads: one thread a context.
 */
#ifndef BASE_ZSTD_H
#define BASE_ZSTD_H

#include "base/buf.h"
#include "base/err.h"

struct zstd;

struct zstd *zstd_new(void);
void zstd_free(struct zstd *z);

/* Compress parts, one behind another, as one frame with its size, to out. */
void zstd_compress(struct zstd *z, int level, const struct bytes *parts,
		   size_t count, struct buf *out);

/*
 * Decompress a frame and append the first `want` bytes to out (the work stops
 * there). ERR_CORRUPT when the frame is damaged or has fewer.
 */
NODISCARD int zstd_decompress(struct zstd *z, struct bytes in, size_t want,
			      struct buf *out, struct err *err);

/*
 * The same of one part, for a reader that has `prefix`, which is much like it.
 * Both must be read with the same prefix again.
 */
void zstd_compress_after(struct zstd *z, int level, struct bytes prefix,
			 struct bytes part, struct buf *out);
NODISCARD int zstd_decompress_after(struct zstd *z, struct bytes prefix,
				    struct bytes in, size_t want,
				    struct buf *out, struct err *err);

/* Whether the bytes begin as a zstd frame does. */
bool zstd_sniff(struct bytes in);

/* Whether they are one frame, and nothing behind it. */
bool zstd_is_one_frame(struct bytes in);

/*
 * Decompress frames of unknown lengths, all that in holds, and append what is
 * in them to out; checksums, where there are some, are verified. ERR_CORRUPT:
 * what came before the damage is in out. ERR_TOOBIG: more than out's maximum.
 */
NODISCARD int zstd_decompress_all(struct zstd *z, struct bytes in,
				  struct buf *out, struct err *err);

#endif
