/* SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"

/*
 * Only the unreserved characters of RFC 3986 are copied as they are, which is
 * safe in every part of a URL.
 */
void url_escape(struct str s, struct buf *out)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '_' ||
			     c == '.' || c == '~';

		if (plain)
			buf_byte(out, c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

void url_add_param(struct buf *url, const char *name, struct str value)
{
	buf_byte(url, memchr(url->ptr, '?', url->len) ? '&' : '?');
	buf_printf(url, "%s=", name);
	url_escape(value, url);
}

void url_add_field(struct buf *form, const char *name, struct str value)
{
	buf_printf(form, "%s%s=", form->len ? "&" : "", name);
	url_escape(value, form);
}

/* Whether the "%" at offset i is followed by two hexadecimal digits. */
static bool is_escape(struct str s, size_t i)
{
	return i + 2 < s.len && digit_hex_value(s.ptr[i + 1]) >= 0 &&
	       digit_hex_value(s.ptr[i + 2]) >= 0;
}

/* Return the byte that the escape at offset i stands for. */
static char url_read_escape(struct str s, size_t i)
{
	return (char)(unsigned char)(digit_hex_value(s.ptr[i + 1]) << 4 |
				     digit_hex_value(s.ptr[i + 2]));
}

bool url_is_sound(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!s.ptr[i] || (s.ptr[i] == '%' &&
				  (!is_escape(s, i) || !url_read_escape(s, i))))
			return false;
	}
	return true;
}

/*
 * Decode s into the arena. Decoding never lengthens text, so a copy of s is
 * decoded in place.
 */
static struct str url_decode_text(struct str s, bool plus_is_space,
				  struct arena *arena)
{
	char *out = arena_strndup(arena, s);
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c == '+' && plus_is_space)
			c = ' ';
		if (c == '%' && is_escape(s, i)) {
			c = url_read_escape(s, i);
			i += 2;
		}
		out[n++] = c;
	}
	out[n] = 0;
	return (struct str){ .ptr = out, .len = n };
}

struct str url_unescape(struct str s, struct arena *arena)
{
	return url_decode_text(s, true, arena);
}

struct str url_unescape_path(struct str s, struct arena *arena)
{
	return url_decode_text(s, false, arena);
}

struct str url_lower_scheme(struct str url, struct arena *arena)
{
	const char *end = url.len ? memchr(url.ptr, ':', url.len) : NULL;
	char *out = arena_strndup(arena, url);

	for (char *p = out; end && p < out + (end - url.ptr); p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	}
	return (struct str){ .ptr = out, .len = url.len };
}
