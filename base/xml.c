/* SPDX-License-Identifier: Apache-2.0 */
#include "base/xml.h"

/*
 * Return the entity for a character that has a meaning in XML, or NULL. The
 * apostrophe becomes a numeric reference, because HTML 4 has no name for it.
 */
static const char *xml_read_entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/*
 * Whether s begins with a character that XML 1.0 does not permit, not even as
 * an escape: control characters, U+FFFE and U+FFFF.
 */
static bool xml_forbids(struct str s)
{
	unsigned char c = (unsigned char)*s.ptr;

	if (c < ' ')
		return c != '\t' && c != '\n' && c != '\r';
	return str_starts(s, str_of("\xef\xbf\xbe")) ||
	       str_starts(s, str_of("\xef\xbf\xbf"));
}

/*
 * Return the code point of the character of n bytes at s if it is a
 * bidirectional control (Unicode's property Bidi_Control), else 0.
 */
static unsigned xml_read_control(struct str s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	unsigned c = 0;

	if (n == 2)
		c = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	else if (n == 3)
		c = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	return c == 0x61c || c == 0x200e || c == 0x200f ||
			       (c >= 0x202a && c <= 0x202e) ||
			       (c >= 0x2066 && c <= 0x2069) ?
		       c :
		       0;
}

/* Append s escaped; `text`: also escape bidirectional controls. */
static void xml_append(struct buf *out, struct str s, bool text)
{
	while (s.len) {
		size_t n = str_utf8_len(s);
		const char *e = xml_read_entity(*s.ptr);
		unsigned control = text ? xml_read_control(s, n) : 0;

		if (e)
			buf_str(out, e);
		else if (control)
			buf_printf(out, "\\u%04x", control);
		else if (!n || xml_forbids(s))
			/* U+FFFD, the replacement character. */
			buf_str(out, "\xef\xbf\xbd");
		else
			buf_add(out, s.ptr, n);
		s.ptr += n ? n : 1;
		s.len -= n ? n : 1;
	}
}

void xml_escape(struct buf *out, struct str s)
{
	xml_append(out, s, false);
}

void xml_escape_text(struct buf *out, struct str s)
{
	xml_append(out, s, true);
}
