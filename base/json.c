/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/printable.h"

/*
 * Write a comma before a value or key if one is needed. After writing a key,
 * json_key_str() clears `comma`, so that no comma separates the key from its
 * value.
 */
static void before_value(struct json *j)
{
	if (j->comma)
		buf_byte(j->out, ',');
	j->comma = true;
}

void json_begin(struct json *j, char open)
{
	before_value(j);
	buf_byte(j->out, (uint8_t)open);
	j->comma = false;
}

void json_end(struct json *j, char close)
{
	buf_byte(j->out, (uint8_t)close);
	j->comma = true;
}

void json_key_str(struct json *j, struct str key)
{
	before_value(j);
	json_quote(j->out, key);
	buf_byte(j->out, ':');
	j->comma = false;
}

void json_key(struct json *j, const char *key)
{
	json_key_str(j, str_of(key));
}

void json_str(struct json *j, struct str s)
{
	before_value(j);
	json_quote(j->out, s);
}

void json_text(struct json *j, const char *s)
{
	json_str(j, str_of(s));
}

/*
 * Append a number. The digits are computed here because large reports consist mostly of
 * integers, and printf() would take most of the time of writing a report.
 */
static void json_digits(struct buf *out, uint64_t rest, bool negative)
{
	char text[24];
	char *p = text + sizeof(text);

	do {
		*--p = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (negative)
		*--p = '-';
	buf_add(out, p, (size_t)(text + sizeof(text) - p));
}

void json_int(struct json *j, int64_t v)
{
	before_value(j);
	/* Negating as unsigned is defined even for INT64_MIN. */
	json_digits(j->out, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
}

void json_int_text(struct json *j, int64_t v)
{
	before_value(j);
	buf_byte(j->out, '"');
	json_digits(j->out, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
	buf_byte(j->out, '"');
}

void json_uint_text(struct json *j, uint64_t v)
{
	before_value(j);
	buf_byte(j->out, '"');
	json_digits(j->out, v, false);
	buf_byte(j->out, '"');
}

/* Append a whole number below 1e15, if it is one: printf() takes much longer. */
static bool json_whole(struct json *j, double v)
{
	bool whole = v > -1e15 && v < 1e15 && v == (double)(int64_t)v;

	if (whole)
		json_int(j, (int64_t)v);
	return whole;
}

void json_double(struct json *j, double v)
{
	char text[DECIMAL_MAX];

	if (json_whole(j, v))
		return;
	before_value(j);
	if (isfinite(v))
		buf_add(j->out, text, decimal_write(v, text));
	else
		buf_str(j->out, "null");
}

/*
 * Append a number that has more digits before its point than are wanted: it is
 * rounded to a whole one. Returns whether it is such a number.
 */
static bool json_whole_rounded(struct json *j, double v, int digits)
{
	double size = fabs(v);
	double unit = 1;
	double least = 1;

	for (int i = 0; i < digits; i++)
		least *= 10;
	if (!(size >= least && size < 1e15))
		return false;
	while (size / unit >= least)
		unit *= 10;
	return json_whole(j, nearbyint(v / unit) * unit);
}

void json_rounded(struct json *j, double v, int digits)
{
	char text[32] = "null";

	if (json_whole(j, v) || json_whole_rounded(j, v, digits))
		return;
	if (isfinite(v))
		snprintf(text, sizeof(text), "%.*g", digits, v);
	before_value(j);
	buf_str(j->out, text);
}

void json_bool(struct json *j, bool v)
{
	before_value(j);
	buf_str(j->out, v ? "true" : "false");
}

/*
 * Append an ASCII character for which JSON may have an escape of two letters.
 */
static void quote_byte(struct buf *out, uint8_t c)
{
	switch (c) {
	case '"':
	case '\\':
		buf_byte(out, '\\');
		buf_byte(out, c);
		break;
	case '\n':
		buf_str(out, "\\n");
		break;
	case '\r':
		buf_str(out, "\\r");
		break;
	case '\t':
		buf_str(out, "\\t");
		break;
	default:
		buf_byte(out, c);
	}
}

/* Append one character, which has n bytes of valid UTF-8. */
static void quote_character(struct buf *out, struct str s, size_t n)
{
	int32_t code = printable_control(s, n);

	if (code >= 0 && code != '\n' && code != '\r' && code != '\t')
		buf_printf(out, "\\u%04x", (unsigned)code);
	else if (n == 1)
		quote_byte(out, (uint8_t)s.ptr[0]);
	else
		buf_add(out, s.ptr, n);
}

/* How many bytes at the beginning are ASCII characters that need no escape. */
static size_t quote_plain(struct str s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= ' ' && s.ptr[n] <= '~' &&
	       s.ptr[n] != '"' && s.ptr[n] != '\\')
		n++;
	return n;
}

/*
 * Valid UTF-8 sequences are copied whole; each byte that does not begin a valid
 * sequence becomes U+FFFD, so that the output is always valid UTF-8.
 */
void json_quote(struct buf *out, struct str s)
{
	buf_byte(out, '"');
	for (size_t i = 0; i < s.len;) {
		struct str at = { .ptr = s.ptr + i, .len = s.len - i };
		size_t plain = quote_plain(at);
		size_t n = plain ? plain : str_utf8_len(at);

		if (plain)
			buf_add(out, at.ptr, plain);
		else if (n)
			quote_character(out, at, n);
		else
			buf_str(out, "\\ufffd");
		i += n ? n : 1;
	}
	buf_byte(out, '"');
}
