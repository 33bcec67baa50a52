/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a remote-write request: the message WriteRequest, compressed with
 * snappy (block format) or zstd. Format: docs/format/remote-write.md.
 *
 * Threads: any; one thread at a time for each struct zstd.
 */
#ifndef REMOTEWRITE_WIRE_WRITE_BODY_H
#define REMOTEWRITE_WIRE_WRITE_BODY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/zstd.h"

/* The compressions of remote write. */
enum write_compression {
	WRITE_SNAPPY,
	WRITE_ZSTD
};

/*
 * Decide by the headers Content-Type and Content-Encoding how the body is
 * compressed. A missing header is "", and a missing Content-Type stands for
 * application/x-protobuf. ERR_MEDIA: the type is another one or has a parameter
 * `proto`, or the encoding is neither snappy nor zstd.
 */
NODISCARD int write_body_compression(const char *content_type,
				     const char *content_encoding,
				     enum write_compression *out,
				     struct err *err);

/*
 * Set *size to the size of the message in bytes, as the body declares it.
 * ERR_TOOBIG: the size exceeds `max`. ERR_INVALID: a snappy body does not begin
 * with a valid size, or a zstd body is not exactly one frame or declares no
 * size.
 */
NODISCARD int write_body_size(enum write_compression c, struct bytes body,
			      size_t max, size_t *size, struct err *err);

/*
 * Decompress the body, and replace the contents of `out` by the message. `size`
 * is the result of write_body_size(). ERR_INVALID: the body is damaged, or the
 * message does not have the declared size.
 */
NODISCARD int write_body_decode(enum write_compression c, struct zstd *z,
				struct bytes body, size_t size, struct buf *out,
				struct err *err);

/*
 * Append to `out` the value of the header Content-Digest (RFC 9530) for `body`.
 */
void write_body_digest(struct bytes body, struct buf *out);

/*
 * Check `body` against `content_digest`, the value of the header Content-Digest
 * ("": it is missing). Of the digests in the header, only SHA-256 is checked.
 * ERR_AGAIN: the SHA-256 of the body differs from the one in the header, so
 * something on the way has changed the body or cut it short.
 */
NODISCARD int write_body_check_digest(const char *content_digest,
				      struct bytes body, struct err *err);

#endif
