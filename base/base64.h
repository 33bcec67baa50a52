/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict decoding of base64 (RFC 4648, section 4).
 *
 * Ownership: results are appended to the caller's buffer.
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

#endif
