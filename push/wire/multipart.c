/* SPDX-License-Identifier: Apache-2.0 */
#include "push/wire/multipart.h"

#include <string.h>
#include <strings.h>

#define MULTIPART_TYPE "multipart/form-data"
#define BOUNDARY_MAX   70   /* RFC 2046, 5.1.1 */
#define HEADERS_MAX    8192 /* bytes of the headers of a part */

bool multipart_is(const char *content_type)
{
	struct str parameters;
	struct str type = str_cut(str_of(content_type), ';', &parameters);

	return str_is_nocase(str_trim(type), MULTIPART_TYPE);
}

/*
 * Return the value of a parameter of a header such as
 * "form-data; name=\"profile\"", without its quotes. Empty: there is none.
 */
static struct str multipart_parameter(struct str header, const char *name)
{
	struct str rest;

	(void)str_cut(header, ';', &rest);
	while (rest.len) {
		struct str value;
		struct str item = str_trim(str_cut(rest, ';', &rest));
		struct str key = str_trim(str_cut(item, '=', &value));

		if (!str_is_nocase(key, name))
			continue;
		value = str_trim(value);
		if (value.len >= 2 && value.ptr[0] == '"' &&
		    value.ptr[value.len - 1] == '"')
			value = (struct str){ value.ptr + 1, value.len - 2 };
		return value;
	}
	return (struct str){ .len = 0 };
}

/* Return where `needle` begins in [from, end); NULL if it does not occur. */
static const uint8_t *multipart_search(const uint8_t *from, const uint8_t *end,
				       struct str needle)
{
	return memmem(from, (size_t)(end - from), needle.ptr, needle.len);
}

/* Set the names of a part from its headers, which end with CR LF. */
static void multipart_read_headers(struct str headers,
				   struct multipart_part *out)
{
	static const char disposition[] = "content-disposition";

	while (headers.len) {
		struct str value;
		struct str line = str_trim(str_cut(headers, '\n', &headers));
		struct str name = str_trim(str_cut(line, ':', &value));

		if (!str_is_nocase(name, disposition))
			continue;
		out->name = multipart_parameter(value, "name");
		out->file = multipart_parameter(value, "filename");
	}
}

/*
 * Read the part that begins at *pos, after the line of a delimiter, and move
 * *pos after the next delimiter.
 */
static int multipart_read_part(struct str delimiter, const uint8_t **pos,
			       const uint8_t *end, struct multipart *out,
			       struct err *err)
{
	struct multipart_part *part = &out->parts[out->count];
	/* Without headers, the empty line follows the delimiter's line. */
	const uint8_t *body =
		multipart_search(*pos - 2, end, str_of("\r\n\r\n"));
	const uint8_t *next;

	if (out->count == MULTIPART_PARTS_MAX)
		return err_set(err, ERR_INVALID,
			       "the form has more than %d parts",
			       MULTIPART_PARTS_MAX);
	if (!body || body + 4 - *pos > HEADERS_MAX)
		return err_set(
			err, ERR_INVALID,
			"the headers of a part of the form do not end, or are too long");
	*part = (struct multipart_part){ .body = { .len = 0 } };
	if (body > *pos)
		multipart_read_headers((struct str){ (const char *)*pos,
						     (size_t)(body - *pos) },
				       part);
	body += 4;
	/* The CR LF before a delimiter belongs to the delimiter. */
	next = multipart_search(body - 2, end, delimiter);
	if (!next)
		return err_set(
			err, ERR_INVALID,
			"the form is incomplete: its last part does not end with the boundary");
	part->body =
		(struct bytes){ body, next > body ? (size_t)(next - body) : 0 };
	out->count++;
	*pos = next + delimiter.len;
	return 0;
}

/*
 * Move *pos from the end of a delimiter to the next line. Returns 1 if a part
 * follows, 0 at the end of the form.
 */
static int multipart_end_line(const uint8_t **pos, const uint8_t *end,
			      struct err *err)
{
	const uint8_t *p = *pos;
	const uint8_t *line;

	if (end - p >= 2 && p[0] == '-' && p[1] == '-')
		return 0;
	/* Blanks may follow the boundary. */
	line = multipart_search(p, end, str_of("\r\n"));
	for (; line && p < line; p++) {
		if (*p != ' ' && *p != '\t')
			line = NULL;
	}
	if (!line)
		return err_set(err, ERR_INVALID,
			       "the form has a malformed boundary line");
	*pos = line + 2;
	return 1;
}

/* Whether two parts have the same name. */
static bool multipart_repeats(const struct multipart *m)
{
	for (size_t i = 0; i < m->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (m->parts[i].name.len &&
			    str_eq(m->parts[i].name, m->parts[k].name))
				return true;
		}
	}
	return false;
}

int multipart_split(const char *content_type, struct bytes body,
		    struct multipart *out, struct err *err)
{
	struct str boundary =
		multipart_parameter(str_of(content_type), "boundary");
	char text[BOUNDARY_MAX + 5] = "\r\n--";
	struct str delimiter = { text, boundary.len + 4 };
	const uint8_t *end = body.len ? body.ptr + body.len : body.ptr;
	const uint8_t *pos = body.ptr;
	int rc;

	out->count = 0;
	if (!boundary.len || boundary.len > BOUNDARY_MAX)
		return err_set(
			err, ERR_INVALID,
			"the Content-Type multipart/form-data needs a parameter \"boundary\" of 1 to %d bytes",
			BOUNDARY_MAX);
	memcpy(text + 4, boundary.ptr, boundary.len);
	/* The first delimiter need not have a CR LF before it. */
	if (!str_starts(str_from(body),
			(struct str){ text + 2, delimiter.len - 2 })) {
		pos = body.len ? multipart_search(pos, end, delimiter) : NULL;
		if (!pos)
			return err_set(
				err, ERR_INVALID,
				"the form does not contain its boundary");
		pos += 2;
	}
	pos += delimiter.len - 2;
	while ((rc = multipart_end_line(&pos, end, err)) > 0) {
		rc = multipart_read_part(delimiter, &pos, end, out, err);
		if (rc)
			return rc;
	}
	if (!rc && multipart_repeats(out))
		return err_set(
			err, ERR_INVALID,
			"the form has two parts of the same name; send each profile in a request of its own");
	return rc;
}

const struct multipart_part *multipart_find(const struct multipart *m,
					    const char *name)
{
	for (size_t i = 0; i < m->count; i++) {
		if (str_is(m->parts[i].name, name))
			return &m->parts[i];
	}
	return NULL;
}
