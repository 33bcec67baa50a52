/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ULID: a unique id of 48 bits of milliseconds and 80 random bits. Its text
 * form is 26 characters of Crockford's base 32 and sorts by time
 * (github.com/ulid/spec).
 *
 * Threads: any.
 */
#ifndef TSDB_IO_ULID_H
#define TSDB_IO_ULID_H

#include "base/bytes.h"

/* Length of the binary form and of the text form without its NUL. */
enum {
	ULID_BYTES = 16,
	ULID_TEXT = 26
};

struct ulid {
	uint8_t bytes[ULID_BYTES];
};

/*
 * Make an id for a time in milliseconds since 1970. Never fails; aborts if the
 * kernel has no random bytes.
 */
struct ulid ulid_new(int64_t ms);

/* Write the text form: ULID_TEXT characters and a NUL. */
void ulid_format(const struct ulid *u, char text[ULID_TEXT + 1]);

/*
 * Parse the text form. False if text is not exactly what ulid_format() writes;
 * lower case is refused too.
 */
bool ulid_parse(struct str text, struct ulid *out);

/* Whether two ids are equal. */
static inline bool ulid_eq(const struct ulid *a, const struct ulid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

#endif
