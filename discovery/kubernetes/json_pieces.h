/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts JSON that arrives in parts into pieces, so that a list or a stream of
 * any length is read with one object in memory at a time.
 *
 * A list is one JSON object. The value of each member is a piece; but if the
 * value of `items` is an array, each of its elements is a piece. A stream is a
 * sequence of JSON objects, each of which is a piece. The text outside of the
 * pieces is checked here. The parser that gets the pieces checks the syntax of
 * the pieces.
 *
 * Source: RFC 8259.
 *
 * Ownership: the caller owns the struct; pieces are borrowed for the call.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBERNETES_JSON_PIECES_H
#define DISCOVERY_KUBERNETES_JSON_PIECES_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Receive a piece. `key` is the name of the member whose value is the piece or
 * contains the piece; in a stream, `key` is empty. An error ends the reading.
 */
typedef int (*json_piece_fn)(void *ctx, struct str key, struct bytes piece,
			     struct err *err);

/* The part of the text that is expected next. */
enum json_expects {
	JSON_TOP,     /* the start of a list, or of an object of a stream */
	JSON_FIRST,   /* the first member, or the end of the list */
	JSON_MEMBER,  /* a member */
	JSON_KEY,     /* the rest of a member's name */
	JSON_COLON,   /* the colon after the name */
	JSON_VALUE,   /* the value of a member */
	JSON_ELEMENT, /* an element of `items`, or the end of `items` */
	JSON_NEXT,    /* an element of `items` */
	JSON_ENOUGH,  /* a comma in `items`, or the end of `items` */
	JSON_MORE,    /* a comma after a member, or the end of the list */
	JSON_END      /* only white space */
};

/* The state of the reading. */
struct json_pieces {
	json_piece_fn piece;
	void *ctx;
	bool is_list;
	enum json_expects expects;
	struct buf key;
	/* the piece that is being read */
	struct buf text;
	bool in_piece;
	bool in_items;
	bool in_string;
	bool escaped; /* a backslash escapes the next byte of the string */
	size_t depth; /* nesting of objects and arrays in the piece */
};

/* Begin to read a list or a stream. */
void json_pieces_init(struct json_pieces *p, bool is_list, json_piece_fn piece,
		      void *ctx);

/* Free the memory. */
void json_pieces_fini(struct json_pieces *p);

/*
 * Read `text`, the next part of the list or stream, and pass each piece that
 * ends in this part to piece(). ERR_INVALID: what was read is not a list (if
 * p->is_list) or not a stream, or the name of a member is longer than 256 bytes
 * or contains a backslash. ERR_TOOBIG: a piece is larger than YAML_TEXT_MAX.
 * Other errors are those of piece().
 */
NODISCARD int json_pieces_feed(struct json_pieces *p, struct bytes text,
			       struct err *err);

/*
 * Return whether the list or stream may end here: a list after its last byte, a
 * stream after any object.
 */
bool json_pieces_done(const struct json_pieces *p);

#endif
