/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

/* Return the value of a base64 digit, or -1 for any other character. */
static int base64_read_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str text, struct buf *out)
{
	size_t start = out->len;
	size_t pad = 0;
	uint32_t bits = 0;
	unsigned have = 0;

	/*
	 * Padding is at most two characters at the very end; "=" anywhere else
	 * is refused below, because "=" is not a base64 digit.
	 */
	while (pad < 2 && text.len > pad && text.ptr[text.len - 1 - pad] == '=')
		pad++;
	if (text.len % 4)
		return false;
	for (size_t i = 0; i < text.len - pad; i++) {
		int d = base64_read_digit(text.ptr[i]);

		if (d < 0) {
			out->len = start;
			return false;
		}
		bits = bits << 6 | (uint32_t)d;
		/* As soon as 8 bits have been collected, a byte is complete. */
		have += 6;
		if (have >= 8) {
			have -= 8;
			buf_byte(out, (uint8_t)(bits >> have));
		}
	}
	/*
	 * The bits left over by the last digit must be zero; otherwise several
	 * texts would decode to the same bytes.
	 */
	if (bits & ((1u << have) - 1)) {
		out->len = start;
		return false;
	}
	return true;
}

/* Append the encoding of b, without padding, in an alphabet of 64 digits. */
static void base64_add_digits(struct bytes b, const char *digits,
			      struct buf *out)
{
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < b.len; i++) {
		bits = (bits << 8 | b.ptr[i]) & 0xffff;
		have += 8;
		for (; have >= 6; have -= 6)
			buf_byte(out, (uint8_t)digits[bits >> (have - 6) & 63]);
	}
	if (have)
		buf_byte(out, (uint8_t)digits[bits << (6 - have) & 63]);
}

void base64_encode(struct bytes b, struct buf *out)
{
	base64_add_digits(b,
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "abcdefghijklmnopqrstuvwxyz0123456789+/",
			  out);
	for (size_t i = b.len; i % 3; i++)
		buf_byte(out, '=');
}

void base64_encode_url(struct bytes b, struct buf *out)
{
	base64_add_digits(b,
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "abcdefghijklmnopqrstuvwxyz0123456789-_",
			  out);
}
