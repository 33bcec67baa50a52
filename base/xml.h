/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text into XML and HTML: safe between tags and inside quoted attributes.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: pure functions.
 */
#ifndef BASE_XML_H
#define BASE_XML_H

#include "base/buf.h"

/*
 * Append s with & < > " ' escaped; what is no UTF-8, or a character that XML
 * 1.0 does not know, becomes U+FFFD.
 */
void xml_escape(struct buf *out, struct str s);

#endif
