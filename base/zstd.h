/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd compression and decompression, a whole buffer at a time.
 *
 * Ownership: a context owns its workspace; zstd_free() frees it. Results are
 * appended to the caller's buffer.
 * Threads: one thread per context.
 */
#ifndef BASE_ZSTD_H
#define BASE_ZSTD_H

#include "base/buf.h"
#include "base/err.h"

/* A reusable context: zstd's workspaces, allocated at first use. */
struct zstd;

/* Create a context. It never fails; the caller frees it with zstd_free(). */
struct zstd *zstd_new(void);

/* Free a context; NULL is a no-op. */
void zstd_free(struct zstd *z);

/*
 * Compress the concatenation of `count` parts as one frame, whose header
 * contains the size of the contents, and append the frame to `out`. When the
 * longest possible frame would not fit, nothing is appended and out->over is
 * set.
 */
void zstd_compress(struct zstd *z, int level, const struct bytes *parts,
		   size_t count, struct buf *out);

/*
 * Decompress the first `want` bytes of a frame and append them to `out`; the
 * rest of the frame is not decompressed. Returns ERR_CORRUPT when the frame is
 * damaged or decompresses to fewer bytes, and ERR_TOOBIG when `want` bytes
 * exceed the maximum of `out`.
 */
NODISCARD int zstd_decompress(struct zstd *z, struct bytes in, size_t want,
			      struct buf *out, struct err *err);

/*
 * Compress `part` as one frame that refers to `prefix`, bytes that resemble
 * `part`, and append the frame to `out`. Only zstd_decompress_after() with the
 * same prefix can decompress the frame.
 */
void zstd_compress_after(struct zstd *z, int level, struct bytes prefix,
			 struct bytes part, struct buf *out);

/*
 * Decompress a frame that zstd_compress_after() made with the same prefix;
 * otherwise the same as zstd_decompress().
 */
NODISCARD int zstd_decompress_after(struct zstd *z, struct bytes prefix,
				    struct bytes in, size_t want,
				    struct buf *out, struct err *err);

/*
 * Set *size to the decompressed size that the frame `in` declares. Returns
 * ERR_CORRUPT when `in` is not exactly one frame, or the frame declares no
 * size.
 */
NODISCARD int zstd_declared_size(struct bytes in, size_t *size,
				 struct err *err);

/*
 * Return the largest window of the frames of the input, in bytes, which a
 * decompressor has to keep if the size of the content is not declared; of a
 * damaged frame and those behind it, nothing is known.
 */
size_t zstd_window(struct bytes in);

/* Whether the input begins with the magic number of a zstd frame. */
bool zstd_sniff(struct bytes in);

/*
 * Whether the input is exactly one frame with nothing after it. Only the
 * structure of the frame is checked; nothing is decompressed.
 */
bool zstd_is_one_frame(struct bytes in);

/*
 * Decompress all frames of the input, whose decompressed sizes are unknown, and
 * append their contents to `out`; checksums are verified where present. Returns
 * ERR_CORRUPT when a frame is damaged or cut short (the contents before the
 * damage are in `out`), and ERR_TOOBIG when the contents exceed the maximum of
 * `out`.
 */
NODISCARD int zstd_decompress_all(struct zstd *z, struct bytes in,
				  struct buf *out, struct err *err);

#endif
