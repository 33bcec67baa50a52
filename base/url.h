/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percent-encoding of URLs and forms (RFC 3986, and "+" for a space).
 *
 * Ownership: appends to the caller's buffer, or returns text of the caller's
 * arena.
 * Threads: pure functions.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include "base/arena.h"
#include "base/buf.h"

/* Append s with everything but A-Za-z0-9-_.~ encoded. */
void url_escape(struct str s, struct buf *out);

/*
 * Whether every "%" begins an escape, and none is a NUL: what others could read
 * otherwise.
 */
bool url_is_sound(struct str s);

/* Undo a form's encoding; what is no escape stays. NUL behind it. */
struct str url_unescape(struct str s, struct arena *arena);

/* The same of a path, where "+" is itself. */
struct str url_unescape_path(struct str s, struct arena *arena);

#endif
