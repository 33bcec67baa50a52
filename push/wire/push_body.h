/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push body: the compression of the body of push.v1.
 *
 * Ownership: bodies are borrowed.
 * Threads: any; a struct zstd is used by one at a time.
 */
#ifndef PUSH_WIRE_PUSH_BODY_H
#define PUSH_WIRE_PUSH_BODY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/zstd.h"

/* How a body is compressed. */
enum push_compression {
	PUSH_IDENTITY, /* not at all */
	PUSH_GZIP,
	PUSH_ZSTD
};

/*
 * Tell the compression by the header Content-Encoding. ERR_MEDIA: it is not
 * supported.
 */
NODISCARD int push_body_compression(const char *content_encoding,
				    enum push_compression *out,
				    struct err *err);

/*
 * Set *size to a bound of the decompressed size: what the body says itself, or,
 * if it does not say it, PUSH_BODY_RATIO times its size; 0 if it is not
 * compressed. ERR_TOOBIG: it says more than `max`.
 */
NODISCARD int push_body_size(enum push_compression c, struct bytes body,
			     size_t max, size_t *size, struct err *err);

/* Return what decompressing a body of this size takes, in bytes. */
size_t push_body_memory(enum push_compression c, struct bytes body,
			size_t size);

/*
 * Decompress a body into the empty buffer `out`, whose bound is what
 * push_body_size() has set, and set *message to the result, or to the body if it
 * is not compressed. The caller frees the buffer in any case. ERR_INVALID: the
 * body is damaged, or longer than it says; ERR_TOOBIG: longer than the bound,
 * and it did not say how long it is.
 */
NODISCARD int push_body_decode(enum push_compression c, struct zstd *z,
			       struct bytes body, struct buf *out,
			       struct bytes *message, struct err *err);

/*
 * A body whose decompressed size is not known may be this many times as large.
 * The profiles in it are usually compressed already.
 */
#define PUSH_BODY_RATIO 32

#endif
