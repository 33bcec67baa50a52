/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/ulid.h"

#include <stdlib.h>
#include <sys/random.h>

/* Crockford's base 32: no I, L, O and U, which are easily misread. */
static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct ulid ulid_new(int64_t ms)
{
	struct ulid u;

	for (int i = 0; i < 6; i++)
		u.bytes[i] = (uint8_t)((uint64_t)ms >> (40 - 8 * i));
	if (getrandom(u.bytes + 6, 10, 0) != 10)
		abort(); /* the kernel has no random bytes */
	return u;
}

void ulid_format(const struct ulid *u, char text[ULID_TEXT + 1])
{
	/*
	 * 26 characters are 130 bits for a value of 128 bits: the two highest
	 * bits are zero, and bit numbers begin at -2.
	 */
	for (int i = 0; i < ULID_TEXT; i++) {
		unsigned v = 0;

		for (int bit = i * 5 - 2; bit < i * 5 + 3; bit++)
			v = v << 1 |
			    (bit < 0 ? 0u :
				       u->bytes[bit / 8] >> (7 - bit % 8) & 1u);
		text[i] = digits[v];
	}
	text[ULID_TEXT] = 0;
}

bool ulid_parse(struct str text, struct ulid *out)
{
	struct ulid u = { { 0 } };

	/* A first character above '7' would need more than 128 bits. */
	if (text.len != ULID_TEXT || text.ptr[0] > '7')
		return false;
	for (int i = 0; i < ULID_TEXT; i++) {
		const char *at = strchr(digits, text.ptr[i]);

		if (!at || !*at)
			return false;
		/*
		 * `bit` is negative for the two padding bits before the value.
		 */
		for (int k = 0; k < 5; k++) {
			int bit = i * 5 - 2 + k;

			if (bit >= 0 && (at - digits) >> (4 - k) & 1)
				u.bytes[bit / 8] |=
					(uint8_t)(1u << (7 - bit % 8));
		}
	}
	*out = u;
	return true;
}
