/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/json_pieces.h"

#include "base/yaml.h"

#define ITEMS   "items"
#define KEY_MAX 256 /* longest name of a member of a list, in bytes */

void json_pieces_init(struct json_pieces *p, bool is_list, json_piece_fn piece,
		      void *ctx)
{
	*p = (struct json_pieces){ .piece = piece,
				   .ctx = ctx,
				   .is_list = is_list,
				   .key = buf_init(KEY_MAX),
				   .text = buf_init(YAML_TEXT_MAX) };
}

void json_pieces_fini(struct json_pieces *p)
{
	buf_fini(&p->key);
	buf_fini(&p->text);
}

bool json_pieces_done(const struct json_pieces *p)
{
	return !p->in_piece && p->expects == (p->is_list ? JSON_END : JSON_TOP);
}

static bool is_json_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Pass the piece that has ended to the callback. */
static int json_end_piece(struct json_pieces *p, struct err *err)
{
	int rc = p->piece(p->ctx, str_from(buf_bytes(&p->key)),
			  buf_bytes(&p->text), err);

	p->in_piece = false;
	p->text.len = 0;
	p->expects = p->in_items ? JSON_ENOUGH :
		     p->is_list  ? JSON_MORE :
				   JSON_TOP;
	return rc;
}

/*
 * Look at one byte of an object, an array or a string. Returns whether this
 * byte ends the piece.
 */
static bool json_piece_byte(struct json_pieces *p, uint8_t c)
{
	if (p->escaped) {
		p->escaped = false;
	} else if (p->in_string) {
		p->escaped = c == '\\';
		p->in_string = c != '"';
		return c == '"' && !p->depth;
	} else if (c == '"') {
		p->in_string = true;
	} else if (c == '{' || c == '[') {
		p->depth++;
	} else if (c == '}' || c == ']') {
		return !--p->depth;
	}
	return false;
}

/* Return whether a byte ends a number, true, false or null. */
static bool json_ends_word(uint8_t c)
{
	return c == ',' || c == ']' || c == '}' || is_json_space(c);
}

/*
 * Scan `text`, which begins within a piece. Returns how many bytes belong to
 * the piece, and sets *ended to true if the piece ends after them.
 */
static size_t json_scan_piece(struct json_pieces *p, struct bytes text,
			      bool *ended)
{
	bool word = !p->depth && !p->in_string;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.ptr[i];

		if (word && json_ends_word(c)) {
			*ended = true;
			return i;
		}
		if (!word && json_piece_byte(p, c)) {
			*ended = true;
			return i + 1;
		}
	}
	return text.len;
}

/* Begin a piece with its first byte. */
static void json_begin_piece(struct json_pieces *p, uint8_t c)
{
	p->in_piece = true;
	p->depth = 0;
	p->in_string = false;
	p->escaped = false;
	buf_byte(&p->text, c);
	if (c == '{' || c == '[' || c == '"')
		(void)json_piece_byte(p, c);
}

/*
 * Return what is expected after the byte `c`, which is outside of pieces; -1:
 * `c` is invalid there.
 */
static int json_next_state(struct json_pieces *p, uint8_t c)
{
	switch (p->expects) {
	case JSON_TOP:
		return c == '{' ? JSON_FIRST : -1;
	case JSON_FIRST:
		return c == '}' ? JSON_END : c == '"' ? JSON_KEY : -1;
	case JSON_MEMBER:
		return c == '"' ? JSON_KEY : -1;
	case JSON_COLON:
		return c == ':' ? JSON_VALUE : -1;
	case JSON_ENOUGH:
		return c == ',' ? JSON_NEXT : c == ']' ? JSON_MORE : -1;
	case JSON_MORE:
		return c == ',' ? JSON_MEMBER : c == '}' ? JSON_END : -1;
	default:
		return -1;
	}
}

/* Return whether the byte `c`, which is outside of pieces, begins a piece. */
static bool json_begins_piece(const struct json_pieces *p, uint8_t c)
{
	if (p->expects == JSON_TOP)
		return !p->is_list && c == '{';
	if (p->expects != JSON_VALUE && p->expects != JSON_ELEMENT &&
	    p->expects != JSON_NEXT)
		return false;
	return !json_ends_word(c) && c != ':';
}

/*
 * Read one byte outside of pieces. Returns false if the byte is not valid
 * there, or if the name of a member is too long or contains a backslash.
 */
static bool json_outer_byte(struct json_pieces *p, uint8_t c)
{
	bool items = str_is(str_from(buf_bytes(&p->key)), ITEMS);
	int next;

	if (p->expects == JSON_KEY) {
		if (c == '"')
			p->expects = JSON_COLON;
		else
			buf_byte(&p->key, c);
		return c != '\\' && !p->key.over;
	}
	if (is_json_space(c))
		return true;
	if (p->expects == JSON_VALUE && items && c == '[') {
		p->in_items = true;
		p->expects = JSON_ELEMENT;
		return true;
	}
	if (p->expects == JSON_ELEMENT && c == ']') {
		p->in_items = false;
		p->expects = JSON_MORE;
		return true;
	}
	if (json_begins_piece(p, c)) {
		json_begin_piece(p, c);
		return true;
	}
	next = json_next_state(p, c);
	if (next < 0)
		return false;
	if (next == JSON_KEY)
		p->key.len = 0;
	if (next == JSON_MORE)
		p->in_items = false;
	p->expects = (enum json_expects)next;
	return true;
}

int json_pieces_feed(struct json_pieces *p, struct bytes text, struct err *err)
{
	size_t i = 0;
	int rc = 0;

	while (!rc && i < text.len) {
		bool ended = false;
		size_t n;

		if (!p->in_piece) {
			if (!json_outer_byte(p, text.ptr[i++]))
				return err_set(
					err, ERR_INVALID,
					"the answer is not JSON of the expected form");
			continue;
		}
		n = json_scan_piece(
			p, (struct bytes){ text.ptr + i, text.len - i },
			&ended);
		buf_add(&p->text, text.ptr + i, n);
		i += n;
		if (p->text.over)
			return err_set(
				err, ERR_TOOBIG,
				"an object of the answer is larger than %ld MB",
				YAML_TEXT_MAX / MIB);
		if (ended)
			rc = json_end_piece(p, err);
	}
	return rc;
}
