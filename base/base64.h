/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648): strict decoding, and encoding, in the alphabet of section 4,
 * and encoding in that of section 5, for URLs.
 *
 * Threads: pure functions.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

/*
 * Decode `text` and append the bytes to `out`. Returns false, and appends
 * nothing, when `text` contains a character that is not a base64 digit, has a
 * wrong length, or has padding bits that are not zero.
 */
NODISCARD bool base64_decode(struct str text, struct buf *out);

/* Append the encoding of `b`, with padding, to `out`. */
void base64_encode(struct bytes b, struct buf *out);

/* Append the encoding of `b` for URLs, without padding, to `out`. */
void base64_encode_url(struct bytes b, struct buf *out);

#endif
