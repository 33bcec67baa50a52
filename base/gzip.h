/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip and zlib streams (RFC 1952, RFC 1950), compressed and decompressed a
 * whole buffer at a time by libdeflate.
 *
 * Ownership: a gzip context owns its workspace; gzip_free() frees it. Results
 * are appended to the caller's buffer.
 * Threads: one thread per context.
 */
#ifndef BASE_GZIP_H
#define BASE_GZIP_H

#include "base/buf.h"
#include "base/err.h"

/* A reusable context: libdeflate's workspaces, allocated at first use. */
struct gzip;

/* The format that the first bytes of a stream announce. */
enum gzip_kind {
	GZIP_NONE,
	GZIP_GZIP,
	GZIP_ZLIB
};

/* The longest note of a member, in bytes. */
#define GZIP_NOTE_MAX (0xffff - 4)

/* Recognise a stream by its first two bytes; the rest may still be damaged. */
enum gzip_kind gzip_sniff(struct bytes b);

/* Create a context. It never fails; the caller frees it with gzip_free(). */
struct gzip *gzip_new(void);

/* Free a context; NULL is a no-op. */
void gzip_free(struct gzip *g);

/*
 * Decompress `in`, whose format gzip_sniff() recognises, and append the
 * contents to `out`; a gzip stream may have several members. Returns
 * ERR_CORRUPT when the stream is damaged, cut short or followed by other bytes,
 * and ERR_TOOBIG when the contents exceed the maximum of `out`. The maximum
 * also bounds the time that the call takes. After an error, `out` may hold the
 * contents of earlier members.
 */
NODISCARD int gzip_decompress(struct gzip *g, struct bytes in, struct buf *out,
			      struct err *err);

/* The same with a context of its own, for a single stream. */
NODISCARD int gzip_decompress_once(struct bytes in, struct buf *out,
				   struct err *err);

/*
 * Compress `in` as one gzip member, at level 1 (fast) to 12 (small), and append
 * the member to `out`. When the member does not fit, nothing is appended and
 * out->over is set.
 */
void gzip_compress(struct gzip *g, int level, struct bytes in, struct buf *out);

/*
 * The same with a note in the header, as an extra field (RFC 1952, 2.3.1.1) of
 * the kind "ev", which other readers skip. A note of more than GZIP_NOTE_MAX
 * bytes is left out.
 */
void gzip_compress_noted(struct gzip *g, int level, struct bytes in,
			 struct bytes note, struct buf *out);

/* Return the note of a gzip member: a part of it, empty if it has none. */
struct bytes gzip_note(struct bytes member);

/*
 * Continue a CRC-32 (the one of gzip, and of links to debug files) over further
 * bytes; it begins with 0.
 */
uint32_t gzip_crc32(uint32_t crc, struct bytes b);

#endif
