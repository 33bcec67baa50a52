/* SPDX-License-Identifier: Apache-2.0 */
#include "base/printable.h"

/* The first and the last character of a range that is escaped. */
struct printable_range {
	int32_t first;
	int32_t last;
};

static const struct printable_range escaped[] = {
	{ 0x00, 0x1f },       { 0x7f, 0x9f },     { 0x200b, 0x200f },
	{ 0x2028, 0x202e },   { 0x2060, 0x2069 }, { 0xfeff, 0xfeff },
	{ 0xe0000, 0xe007f },
};

int32_t printable_control(struct str s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s.ptr;
	int32_t code = 0;

	if (!n)
		return -1;
	if (n == 1)
		code = p[0];
	else if (n == 2)
		code = (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
	else if (n == 3)
		code = (p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f);
	else
		code = (p[0] & 0x07) << 18 | (p[1] & 0x3f) << 12 |
		       (p[2] & 0x3f) << 6 | (p[3] & 0x3f);
	for (size_t i = 0; i < ARRAY_SIZE(escaped); i++) {
		if (code >= escaped[i].first && code <= escaped[i].last)
			return code;
	}
	return -1;
}

/* Append the escape of a control character, or of a byte. */
static void printable_escape(struct buf *out, int32_t code)
{
	if (code == '\n')
		buf_str(out, "\\n");
	else if (code == '\r')
		buf_str(out, "\\r");
	else if (code == '\t')
		buf_str(out, "\\t");
	else
		buf_printf(out, code < 0x100 ? "\\x%02x" : "\\u%04x",
			   (unsigned)code);
}

/* Characters that need no escape are appended together. */
static void printable_write(struct buf *out, struct str s, bool lines)
{
	size_t plain = 0; /* length of what need not be escaped */

	while (plain < s.len) {
		struct str at = { .ptr = s.ptr + plain, .len = s.len - plain };
		size_t n = str_utf8_len(at);
		int32_t code = n ? printable_control(at, n) :
				   (uint8_t)at.ptr[0];

		if (code < 0 || (lines && (code == '\n' || code == '\t'))) {
			plain += n;
			continue;
		}
		buf_add(out, s.ptr, plain);
		printable_escape(out, code);
		n = n ? n : 1;
		s.ptr += plain + n;
		s.len -= plain + n;
		plain = 0;
	}
	buf_add(out, s.ptr, plain);
}

void printable_add(struct buf *out, struct str s)
{
	printable_write(out, s, false);
}

void printable_add_lines(struct buf *out, struct str s)
{
	printable_write(out, s, true);
}
