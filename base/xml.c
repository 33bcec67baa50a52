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

void xml_escape(struct buf *out, struct str s)
{
	while (s.len) {
		size_t n = str_utf8_len(s);
		const char *e = xml_read_entity(*s.ptr);

		if (e)
			buf_str(out, e);
		else if (!n || xml_forbids(s))
			/* U+FFFD, the replacement character. */
			buf_str(out, "\xef\xbf\xbd");
		else
			buf_add(out, s.ptr, n);
		s.ptr += n ? n : 1;
		s.len -= n ? n : 1;
	}
}
