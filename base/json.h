/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON out: a streaming writer into a buffer. Commas and nesting are its
 * business, the order of calls is the caller's.
 *
 *	json_begin(&j, '{');
 *	json_key(&j, "status");
 *	json_text(&j, "success");
 *	json_end(&j, '}');
 *
 * (jansson, which reads JSON for the command line, owns the names json_null,
 * json_object …, json_array ….)
 *
 * Text that is not UTF-8 is written with U+FFFD for each bad byte.
 *
 * Ownership: borrows the buffer. Threads: one thread at a time.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

struct json {
	struct buf *out;
	bool comma; /* a value stands before the next one */
};

static inline struct json json_init(struct buf *out)
{
	return (struct json){ .out = out };
}

/* open is '{' or '[', close '}' or ']'. */
void json_begin(struct json *j, char open);
void json_end(struct json *j, char close);

void json_key(struct json *j, const char *key);
void json_key_str(struct json *j, struct str key);

void json_text(struct json *j, const char *s);
void json_str(struct json *j, struct str s);
void json_int(struct json *j, int64_t v);
void json_double(struct json *j, double v); /* null for NaN and infinities */
void json_bool(struct json *j, bool v);

/* s as a JSON string literal, quotes and all. */
void json_quote(struct buf *out, struct str s);

#endif
