/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/framing.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

#include "base/defs.h"

/* limit on the bytes between a header's name and its value */
#define GAP_MAX 256

/* Findings about the headers of a request, collected header by header. */
struct findings {
	bool in_place;      /* result of framing_is_in_place() */
	unsigned lengths;   /* number of Content-Length headers */
	unsigned encodings; /* number of Transfer-Encoding headers */
	bool chunked;       /* the last of them is "chunked" and no more */
	unsigned hosts;     /* number of Host headers */
	bool odd;           /* something is malformed, or bytes were skipped */
	/* end of the last text seen so far; its CR LF follows */
	const char *end;
};

/*
 * Whether the libmicrohttpd that runs is older than 1.0. The version of the
 * headers does not tell, because 0.9 and 1.0 are the same library to the
 * dynamic linker: a program that was built with 0.9 can run with 1.0.
 *
 * Version 0.9 accepts a bare LF as the end of a line and joins folded lines,
 * and reports neither. But they can be detected. Version 0.9 parses a request
 * within one buffer: it replaces CR and LF by NULs, and its callbacks get
 * pointers to the texts in the buffer. In a well-formed request the texts
 * follow each other, and the last one ends at the total size, which is known.
 * If version 0.9 skipped bytes, there is a gap between two texts. A request
 * with gaps is refused (docs/decisions.md, 69). Version 1.0 does not leave the
 * texts in this form, but refuses such requests itself, see
 * framing_strictness().
 */
static bool framing_is_in_place(void)
{
	return strncmp(MHD_get_version(), "0.", 2) == 0;
}

int framing_strictness(void)
{
	return framing_is_in_place() ? 0 : 1;
}

/* Whether CR and LF, each replaced by a NUL, follow a text. */
static bool ends_in_crlf(const char *text, size_t len)
{
	return !text[len] && !text[len + 1];
}

/* Whether a value follows its name, with only a colon and blanks in between. */
static bool is_behind(const char *key, size_t key_len, const char *value)
{
	const char *p = key + key_len;

	if (value < p || value - p > GAP_MAX)
		return false;
	for (; p < value; p++) {
		if (*p && !strchr(": \t", *p))
			return false;
	}
	return true;
}

/*
 * Whether a name contains no blanks, and its value no control characters except
 * tabs.
 */
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

/* Callback for each header: add it to the findings. */
static enum MHD_Result framing_on_header(void *ctx,
					 enum MHD_ValueKind kind UNUSED,
					 const char *key, size_t key_len,
					 const char *value, size_t value_len)
{
	struct findings *f = ctx;

	f->lengths += !strcasecmp(key, "Content-Length");
	if (!strcasecmp(key, "Transfer-Encoding")) {
		f->encodings++;
		f->chunked = value && !strcasecmp(value, "chunked");
	}
	f->hosts += !strcasecmp(key, "Host");
	f->odd |= !value || !framing_is_clean(key, key_len, value, value_len);
	if (!value || !f->in_place)
		return MHD_YES;
	/*
	 * A name must begin right after the CR LF of the previous line. If it
	 * does not, bytes were skipped, or an earlier text contains a NUL, at
	 * which it seems to end.
	 */
	f->odd |= key != f->end + 2 || !is_behind(key, key_len, value) ||
		  !ends_in_crlf(value, value_len);
	f->end = value + value_len;
	return MHD_YES;
}

/*
 * Whether the headers end right after their last text: only its CR LF and the
 * CR LF of the empty line follow.
 */
static bool is_whole(struct MHD_Connection *c, const char *method,
		     const char *end)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info && method + info->header_size == end + 4;
}

/*
 * Whether the parts of the request line follow each other. If not, the method
 * or the target contains a NUL.
 */
static bool framing_line_is_whole(const char *method,
				  const struct connection_target *target,
				  const char *version)
{
	return target && target->begin == method + strlen(method) + 1 &&
	       version == target->behind &&
	       ends_in_crlf(version, strlen(version));
}

enum framing framing_of(struct MHD_Connection *c, const char *method,
			const struct connection_target *target,
			const char *version)
{
	struct findings f = { .in_place = framing_is_in_place(),
			      .end = version + strlen(version) };
	bool chunked;

	MHD_get_connection_values_n(c, MHD_HEADER_KIND, framing_on_header, &f);
	if (f.in_place)
		f.odd |= !framing_line_is_whole(method, target, version) ||
			 !is_whole(c, method, f.end);
	chunked = f.encodings == 1 && f.chunked && !f.lengths &&
		  !strcmp(version, "HTTP/1.1");
	if (f.odd || f.lengths > 1 || (f.encodings && !chunked) ||
	    f.hosts > 1 || (!f.hosts && strcmp(version, "HTTP/1.0") != 0))
		return FRAMING_AMBIGUOUS;
	return chunked ? FRAMING_CHUNKED : FRAMING_LENGTH;
}
