/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648, section 4), decoded strictly.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: pure functions.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buf.h"

/*
 * Append what text encodes. False, and nothing appended, when it is not exactly
 * an encoding: another byte, a wrong length, bits that are left over.
 */
NODISCARD bool base64_decode(struct str text, struct buf *out);

#endif
