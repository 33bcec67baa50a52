/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

bool str_is_nocase(struct str a, const char *b)
{
	return strlen(b) == a.len && !strncasecmp(a.ptr, b, a.len);
}

int str_cmp(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

	if (!order)
		return (a.len > b.len) - (a.len < b.len);
	return order < 0 ? -1 : 1;
}

/*
 * The first byte determines the length of the sequence and the range of the
 * second byte. That range excludes overlong forms (after e0 and f0), surrogates
 * (after ed) and code points above U+10FFFF (after f4). All further bytes are
 * 80 to bf (RFC 3629, section 4).
 */
size_t str_utf8_len(struct str s)
{
	const uint8_t *p = (const uint8_t *)s.ptr;
	uint8_t low = 0x80;
	uint8_t high = 0xbf;
	size_t n;

	if (!s.len)
		return 0;
	if (p[0] < 0x80)
		return 1;
	/*
	 * The bytes 80 to bf only continue a sequence; c0 and c1 begin overlong
	 * forms.
	 */
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (s.len < n || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

/* The byte at the cut decides: if it continues a sequence, that goes, too. */
struct str str_clip(struct str s, size_t max)
{
	if (s.len <= max)
		return s;
	while (max && ((uint8_t)s.ptr[max] & 0xc0) == 0x80)
		max--;
	return (struct str){ s.ptr, max };
}

size_t str_count(struct str s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] == c;
	return n;
}

bool str_contains_nocase(struct str s, struct str part)
{
	/* An empty text may have no pointer. */
	if (!part.len)
		return true;
	for (size_t i = 0; i + part.len <= s.len; i++) {
		if (!strncasecmp(s.ptr + i, part.ptr, part.len))
			return true;
	}
	return false;
}

bool str_is_utf8(struct str s)
{
	while (s.len) {
		size_t n = str_utf8_len(s);

		if (!n)
			return false;
		s.ptr += n;
		s.len -= n;
	}
	return true;
}

/*
 * An empty text has no bytes to search, and its `ptr` may be NULL, which
 * memchr() does not accept.
 */
struct str str_cut(struct str s, char sep, struct str *rest)
{
	const char *at = s.len ? memchr(s.ptr, sep, s.len) : NULL;
	size_t n = at ? (size_t)(at - s.ptr) : s.len;

	*rest = at ? (struct str){ .ptr = at + 1, .len = s.len - n - 1 } :
		     (struct str){ .ptr = "", .len = 0 };
	return (struct str){ .ptr = s.ptr, .len = n };
}

/* Whether c is white space for str_trim(), independent of the locale. */
static bool bytes_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
	while (s.len && bytes_is_space(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len && bytes_is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool str_to_array(struct str s, char *to, size_t size)
{
	if (s.len >= size || (s.len && memchr(s.ptr, 0, s.len)))
		return false;
	bytes_copy(to, bytes_of(s));
	to[s.len] = 0;
	return true;
}

bool str_to_double(struct str s, double *out)
{
	char text[64]; /* NUL-terminated copy of s */
	char *end;

	if (!s.len || !str_to_array(s, text, sizeof(text)))
		return false;
	if (strspn(text, "0123456789.eE+-") != s.len)
		return false;
	*out = strtod(text, &end);
	return !*end && isfinite(*out);
}

bool str_to_i64(struct str s, int64_t *out)
{
	bool neg = s.len && s.ptr[0] == '-';
	int64_t value = 0;

	if (s.len == (size_t)neg)
		return false;
	/*
	 * The value is accumulated as a negative number, because the range of
	 * int64_t has one more negative number than positive ones.
	 */
	for (size_t i = neg; i < s.len; i++) {
		int digit = s.ptr[i] - '0';

		if (digit < 0 || digit > 9 ||
		    __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, digit, &value))
			return false;
	}
	if (!neg && __builtin_sub_overflow(0, value, &value))
		return false;
	*out = value;
	return true;
}
