/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON output: a streaming writer into a buffer. The writer inserts commas; the
 * caller is responsible for the order and nesting of calls.
 *
 *	json_begin(&j, '{');
 *	json_key(&j, "status");
 *	json_text(&j, "success");
 *	json_end(&j, '}');
 *
 * No function here is called json_null, json_object … or json_array …, because
 * jansson, the library that parses JSON for everprof, uses these names.
 *
 * Control characters and bidirectional controls are escaped, so that JSON and
 * log lines may be shown on a terminal (base/printable.h). Each byte of text
 * that is not part of valid UTF-8 is written as U+FFFD.
 *
 * Ownership: a writer borrows its buffer.
 * Threads: one thread at a time.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

/* A writer of one JSON text. */
struct json {
	struct buf *out;
	bool comma; /* whether the next value needs a comma before it */
};

/* Return a writer that appends to `out`. */
static inline struct json json_init(struct buf *out)
{
	return (struct json){ .out = out };
}

/* Begin an object with '{' or an array with '['. */
void json_begin(struct json *j, char open);

/*
 * End an object with '}' or an array with ']'; `close` must match the `open` of
 * json_begin().
 */
void json_end(struct json *j, char close);

/* Write the key of the next value of an object. */
void json_key(struct json *j, const char *key);

/* Write a key given as a view. */
void json_key_str(struct json *j, struct str key);

/* Write a NUL-terminated text as a string. */
void json_text(struct json *j, const char *s);

/* Write a view as a string. */
void json_str(struct json *j, struct str s);

/*
 * Write an integer with all its digits. JavaScript rounds integers beyond 2^53
 * when it reads them.
 */
void json_int(struct json *j, int64_t v);

/* Write an integer as a string, in which nothing rounds it. */
void json_int_text(struct json *j, int64_t v);
void json_uint_text(struct json *j, uint64_t v);

/*
 * Write a number with the fewest digits that read back as exactly the same number
 * (base/decimal.h); NaN and infinities are written as null.
 */
void json_double(struct json *j, double v);

/*
 * Append a number with at most `digits` significant digits, from 1 to 17, which
 * takes much less time than all that it has; a whole number below 1e15 has all
 * of them. NaN and infinity are null.
 */
void json_rounded(struct json *j, double v, int digits);

/* Write true or false. */
void json_bool(struct json *j, bool v);

/* Append s as a JSON string literal with its quotes. */
void json_quote(struct buf *out, struct str s);

#endif
