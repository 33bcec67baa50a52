/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multipart: splits the body of a form with files, multipart/form-data
 * (RFC 7578 and RFC 2046, 5.1), that has arrived completely.
 *
 * Ownership: parts are borrowed from the body.
 * Threads: plain values.
 */
#ifndef PUSH_WIRE_MULTIPART_H
#define PUSH_WIRE_MULTIPART_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	MULTIPART_PARTS_MAX = 16
};

/* A part of the form. */
struct multipart_part {
	/* Parameters `name` and `filename` of Content-Disposition. */
	struct str name;
	struct str file;
	struct bytes body;
};

/* A form. */
struct multipart {
	struct multipart_part parts[MULTIPART_PARTS_MAX];
	size_t count;
};

/* Whether the header Content-Type says that the body is such a form. */
bool multipart_is(const char *content_type);

/*
 * Split a body. ERR_INVALID: the header names no boundary, or the body is
 * malformed, incomplete, or has too many parts or two of one name.
 */
NODISCARD int multipart_split(const char *content_type, struct bytes body,
			      struct multipart *out, struct err *err);

/* Return the part with a name; NULL if there is none. */
const struct multipart_part *multipart_find(const struct multipart *m,
					    const char *name);

#endif
