/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed body: the compression of the body of a request.
 *
 * Ownership: bodies are borrowed.
 * Threads: any; a struct zstd is used by one at a time.
 */
#ifndef BASE_COMPRESSED_BODY_H
#define BASE_COMPRESSED_BODY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/zstd.h"

/* How a body is compressed. */
enum compression {
	COMPRESSION_NONE, /* not at all */
	COMPRESSION_GZIP,
	COMPRESSION_ZSTD
};

/*
 * Tell the compression by the header Content-Encoding. ERR_MEDIA: it is not
 * supported.
 */
NODISCARD int compressed_body_kind(const char *content_encoding,
				   enum compression *out, struct err *err);

/* Tell the compression by the first bytes of the body. */
enum compression compressed_body_sniff(struct bytes body);

/*
 * Set *size to a bound of the decompressed size: what the body says itself, or,
 * if it does not say it, COMPRESSED_BODY_RATIO times its size; 0 if it is not
 * compressed. ERR_TOOBIG: it says more than `max`.
 */
NODISCARD int compressed_body_size(enum compression c, struct bytes body,
				   size_t max, size_t *size, struct err *err);

/* Return what decompressing a body of this size takes, in bytes. */
size_t compressed_body_memory(enum compression c, struct bytes body,
			      size_t size);

/*
 * Decompress a body into the empty buffer `out`, whose bound is what
 * compressed_body_size() has set, and set *message to the result, or to the body if it
 * is not compressed. The caller frees the buffer in any case. ERR_INVALID: the
 * body is damaged, or longer than it says; ERR_TOOBIG: longer than the bound,
 * and it did not say how long it is.
 */
NODISCARD int compressed_body_decode(enum compression c, struct zstd *z,
				     struct bytes body, struct buf *out,
				     struct bytes *message, struct err *err);

/*
 * A body whose decompressed size is not known may be this many times as large.
 * The profiles in it are usually compressed already.
 */
#define COMPRESSED_BODY_RATIO 32

#endif
