/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/ulid.h"

#include <stdlib.h>
#include <sys/random.h>

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
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

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
