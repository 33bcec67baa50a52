/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/framing.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "base/defs.h"

/*
 * libmicrohttpd 0.9 takes LF alone for a line's end, and joins folded lines,
 * and tells nobody. But it parses lines where they were read: where a line
 * ended CR and LF have both become NULs, a name is followed by its value, and
 * the size of the whole is known. What is not so is refused. (1.0 can be told
 * to refuse all of it: MHD_OPTION_CLIENT_DISCIPLINE_LVL.)
 */
#define IN_PLACE (MHD_VERSION < 0x01000000)
#define GAP_MAX  256 /* blanks between a name and its value */

struct framing {
	unsigned lengths;
	unsigned encodings;
	unsigned hosts;
	bool odd;
	const char *end; /* of the text that stands last */
};

static bool ends_in_crlf(const char *text, size_t len)
{
	return !IN_PLACE || (!text[len] && !text[len + 1]);
}

/* Nothing but what separates them is between a name and its value. */
static bool is_behind(const char *key, size_t key_len, const char *value)
{
	const char *p = key + key_len;

	if (!IN_PLACE)
		return true;
	if (value < p || value - p > GAP_MAX)
		return false;
	for (; p < value; p++) {
		if (*p && !strchr(": \t", *p))
			return false;
	}
	return true;
}

/* A name has no blanks, a value no control characters but tabs. */
static bool framing_is_clean(const char *key, size_t key_len, const char *value,
			     size_t value_len)
{
	for (size_t i = 0; i < key_len; i++) {
		if ((unsigned char)key[i] <= ' ' || key[i] == 0x7f)
			return false;
	}
	for (size_t i = 0; i < value_len; i++) {
		if ((unsigned char)value[i] < ' ' && value[i] != '\t')
			return false;
	}
	return key_len;
}

static enum MHD_Result framing_on_header(void *ctx,
					 enum MHD_ValueKind kind UNUSED,
					 const char *key, size_t key_len,
					 const char *value, size_t value_len)
{
	struct framing *f = ctx;

	f->lengths += !strcasecmp(key, "Content-Length");
	f->encodings += !strcasecmp(key, "Transfer-Encoding");
	f->hosts += !strcasecmp(key, "Host");
	f->odd |= !value || !framing_is_clean(key, key_len, value, value_len) ||
		  !is_behind(key, key_len, value) ||
		  !ends_in_crlf(value, value_len);
	if (value && value + value_len > f->end)
		f->end = value + value_len;
	return MHD_YES;
}

/* The last line and the empty one take two bytes each. */
static bool is_whole(struct MHD_Connection *c, const char *method,
		     const char *end)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return !IN_PLACE || (info && method + info->header_size == end + 4);
}

bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const char *behind_target, const char *version)
{
	struct framing f = { .end = version + strlen(version) };

	/* Else there is a NUL in the target. */
	f.odd = IN_PLACE && version != behind_target;
	f.odd |= !ends_in_crlf(version, strlen(version));
	MHD_get_connection_values_n(c, MHD_HEADER_KIND, framing_on_header, &f);
	/* Bodies come with their length: nobody sends us chunks. */
	return f.odd || f.lengths > 1 || f.encodings || f.hosts > 1 ||
	       (!f.hosts && !strcmp(version, "HTTP/1.1")) ||
	       !is_whole(c, method, f.end);
}
