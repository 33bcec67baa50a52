/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the replay share. No other file includes this
 * header.
 *
 * Ownership: all memory belongs to the replay (reencode.h).
 * Threads: one thread per replay.
 */
#ifndef PPROF_ROWS_REENCODE_PRIVATE_H
#define PPROF_ROWS_REENCODE_PRIVATE_H

#include "pprof/dictionary/layout.h"
#include "pprof/rows/reencode.h"
#include "pprof/wire/wire.h"

/* Longest encoding of a 64-bit number, in bytes. */
#define VARINT_MAX 10

#define FIELD_MAX ((size_t)1 + VARINT_MAX) /* a field's key and its number */

/*
 * Ids of a profile, assigned in the order in which elements are first written.
 */
struct numbering {
	uint32_t *ids;         /* by number in the dictionary; 0: none yet */
	VEC(uint32_t) ordered; /* numbers in the dictionary, by id - 1 */
	/* Number of elements in ids. */
	size_t cap;
};

/* The first members are workspace, the others describe the current row. */
struct replay {
	struct numbering strings;
	struct numbering functions;
	struct numbering locations;
	uint32_t *mapping_ids; /* by mapping of the dictionary: its id */
	size_t mapping_cap;
	VEC(uint32_t) stack; /* ids of the current sample's locations */

	/* The current row. */
	const struct dictionary *d;
	const struct row *row;
	enum dialect dialect;
	struct shape_walk walk;
	size_t written; /* number of functions in the output */
	/* By mapping of the dictionary: its start address. */
	uint64_t *starts;
	struct buf *out;
	size_t limit; /* maximum length of out */
};

/* Assign the next id to an element of the dictionary. */
static inline uint32_t reencode_id(struct numbering *n, uint32_t place)
{
	*vec_add(&n->ordered) = place;
	n->ids[place] = (uint32_t)n->ordered.count;
	return n->ids[place];
}

/*
 * The id of a string, assigned if it has none. String ids start at 0, which is
 * the empty string.
 */
static inline uint32_t reencode_string_id(struct replay *r, uint32_t place)
{
	struct numbering *n = &r->strings;
	uint32_t id = n->ids[place];

	return (id ? id : reencode_id(n, place)) - 1;
}

/* Append a varint at p and return the end. There must be room. */
static inline uint8_t *reencode_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Append a number with its field key. */
static inline uint8_t *reencode_put_number(uint8_t *p, unsigned field,
					   uint64_t v)
{
	*p++ = (uint8_t)(field << 3 | WIRE_VARINT);
	return reencode_put_varint(p, v);
}

/* Append a number with its field key, or nothing if it is 0. */
static inline uint8_t *reencode_put_optional(uint8_t *p, unsigned field,
					     uint64_t v)
{
	return v ? reencode_put_number(p, field, v) : p;
}

/*
 * Reserve n bytes at the end of the output and return their address; NULL if
 * out would exceed its maximum.
 */
static inline uint8_t *reencode_room(struct replay *r, size_t n)
{
	return buf_reserve(r->out, n) ? r->out->ptr + r->out->len : NULL;
}

/*
 * Whether the output has exceeded the limit; a damaged row must not write more
 * than the caller allows.
 */
static inline bool reencode_is_full(const struct replay *r)
{
	return r->out->over || r->out->len > r->limit;
}

/*
 * Whether n more things of at least one byte each can be within the limit.
 * Marks the output as too large if not.
 */
static inline bool reencode_fits(struct replay *r, size_t n)
{
	if (r->out->len <= r->limit && n <= r->limit - r->out->len)
		return true;
	r->out->over = true;
	return false;
}

/* Make the bytes up to `end` part of the output. */
static inline void reencode_wrote(struct replay *r, const uint8_t *end)
{
	r->out->len = (size_t)(end - r->out->ptr);
}

#endif
