/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaping of text for XML and HTML, for use between tags and inside quoted
 * attributes.
 *
 * Threads: pure functions.
 */
#ifndef BASE_XML_H
#define BASE_XML_H

#include "base/buf.h"

/*
 * Append s with & < > " ' escaped. Each byte that is not part of valid UTF-8,
 * and each control character that XML 1.0 does not permit, becomes U+FFFD.
 */
void xml_escape(struct buf *out, struct str s);

/*
 * Append a text that people read: as xml_escape() does, with bidirectional
 * controls as escapes ("\u202e"), because they change the order in which other
 * characters are shown. A value that a form sends back must stay as it is.
 */
void xml_escape_text(struct buf *out, struct str s);

#endif
