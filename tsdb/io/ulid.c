/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/ulid.h"

#include <stdlib.h>
#include <sys/random.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct ulid ulid_new(int64_t ms)
{
	struct ulid u;

	for (int i = 0; i < 6; i++)
		u.bytes[i] = (uint8_t)((uint64_t)ms >> (40 - 8 * i));
	if (getrandom(u.bytes + 6, 10, 0) != 10)
		abort(); /* not for 10 bytes, once the kernel is up */
	return u;
}

void ulid_format(const struct ulid *u, char text[ULID_TEXT + 1])
{
	/* 130 bits for 128: two zero bits come first. */
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

	if (text.len != ULID_TEXT || text.ptr[0] > '7')
		return false;
	for (int i = 0; i < ULID_TEXT; i++) {
		const char *at = strchr(digits, text.ptr[i]);

		if (!at || !*at)
			return false;
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
