/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ULID: 48 bits of milliseconds and 80 random bits; as text 26 characters of
 * Crockford's base 32, which sort by time (github.com/ulid/spec).
 *
 * Ownership: plain values.
 * Threads: any.
 */
#ifndef TSDB_IO_ULID_H
#define TSDB_IO_ULID_H

#include "base/bytes.h"

enum {
	ULID_BYTES = 16,
	ULID_TEXT = 26
};

struct ulid {
	uint8_t bytes[ULID_BYTES];
};

struct ulid ulid_new(int64_t ms);

/* text is ULID_TEXT characters and a NUL. */
void ulid_format(const struct ulid *u, char text[ULID_TEXT + 1]);

/* False when text is not what ulid_format() writes. */
bool ulid_parse(struct str text, struct ulid *out);

static inline bool ulid_eq(const struct ulid *a, const struct ulid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

#endif
