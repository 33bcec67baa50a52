/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/framing.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "base/defs.h"

/*
 * libmicrohttpd 0.9 accepts a bare LF as the end of a line and joins folded
 * lines, and reports neither. But it parses lines in place: CR and LF both
 * become NUL, a value follows its name, and the total size is known. Anything
 * that it skipped therefore shows up as a gap, and requests with gaps are
 * refused (docs/decisions.md, 69). Version 1.0 of libmicrohttpd can be
 * configured to refuse such requests itself: MHD_OPTION_CLIENT_DISCIPLINE_LVL.
 */
#define IN_PLACE (MHD_VERSION < 0x01000000)
#define GAP_MAX  256 /* limit on the bytes between a header's name and value */

/* Findings about the headers of a request. */
struct framing {
	unsigned lengths;   /* number of Content-Length headers */
	unsigned encodings; /* number of Transfer-Encoding headers */
	unsigned hosts;     /* number of Host headers */
	bool odd;           /* something is malformed */
	const char
		*end; /* end of the last text so far; its line's end follows */
};

/* Whether a line ended in CR LF, both of which became NUL. */
static bool ends_in_crlf(const char *text, size_t len)
{
	return !IN_PLACE || (!text[len] && !text[len + 1]);
}

/* Whether a value follows its name, with only a colon and blanks between. */
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

/* Whether a name has no blanks, and a value no control characters but tabs. */
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

/* Callback for each header. */
static enum MHD_Result framing_on_header(void *ctx,
					 enum MHD_ValueKind kind UNUSED,
					 const char *key, size_t key_len,
					 const char *value, size_t value_len)
{
	struct framing *f = ctx;

	f->lengths += !strcasecmp(key, "Content-Length");
	f->encodings += !strcasecmp(key, "Transfer-Encoding");
	f->hosts += !strcasecmp(key, "Host");
	/*
	 * A name begins right after the CR LF of the previous line. Otherwise a
	 * NUL has cut one of the texts short.
	 */
	f->odd |= IN_PLACE && key != f->end + 2;
	f->odd |= !value || !framing_is_clean(key, key_len, value, value_len) ||
		  !is_behind(key, key_len, value) ||
		  !ends_in_crlf(value, value_len);
	if (value)
		f->end = value + value_len;
	return MHD_YES;
}

/*
 * Whether the headers end with their last text, but for the end of its line and
 * the empty line, which are two bytes each.
 */
static bool is_whole(struct MHD_Connection *c, const char *method,
		     const char *end)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return !IN_PLACE || (info && method + info->header_size == end + 4);
}

bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const struct connection_target *target,
			  const char *version)
{
	struct framing f = { .end = version + strlen(version) };

	/*
	 * If the text of the method or the target ends too early, it contains a
	 * NUL.
	 */
	f.odd = IN_PLACE &&
		(!target || target->begin != method + strlen(method) + 1 ||
		 version != target->behind);
	f.odd |= !ends_in_crlf(version, strlen(version));
	MHD_get_connection_values_n(c, MHD_HEADER_KIND, framing_on_header, &f);
	/*
	 * Chunked bodies are refused altogether: no client of the API sends
	 * them, and a length leaves less room for disagreement.
	 */
	return f.odd || f.lengths > 1 || f.encodings || f.hosts > 1 ||
	       (!f.hosts && strcmp(version, "HTTP/1.0") != 0) ||
	       !is_whole(c, method, f.end);
}
