/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percent-encoding of URLs and forms (RFC 3986, and "+" for a space in forms).
 *
 * Ownership: results are appended to the caller's buffer or allocated in the
 * caller's arena.
 * Threads: pure functions.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include "base/arena.h"
#include "base/buf.h"

/* Append s with every byte encoded except A-Z a-z 0-9 - _ . and ~. */
void url_escape(struct str s, struct buf *out);

/*
 * Append a query parameter to a URL, with "?" before the first one and "&"
 * before others. `name` is written as it is; the value is encoded.
 */
void url_add_param(struct buf *url, const char *name, struct str value);

/*
 * Append a field to a form (application/x-www-form-urlencoded), with "&" before
 * all fields but the first. `name` is written as it is; the value is encoded.
 */
void url_add_field(struct buf *form, const char *name, struct str value);

/*
 * Whether every "%" in s begins an escape and no byte, escaped or not, is NUL.
 * Callers refuse other text, because other programs might read it differently
 * (docs/decisions.md, 82).
 */
bool url_is_sound(struct str s);

/*
 * Decode text of a form: escapes, and "+" as a space. A "%" that begins no
 * escape is kept. The result is allocated in the arena and followed by a NUL
 * byte.
 */
struct str url_unescape(struct str s, struct arena *arena);

/* Decode text of a path: as url_unescape() does, but "+" stays "+". */
struct str url_unescape_path(struct str s, struct arena *arena);

/*
 * Return a copy of a URL with its scheme in lower case; schemes are compared
 * without regard to case (RFC 3986 3.1).
 */
struct str url_lower_scheme(struct str url, struct arena *arena);

#endif
