/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the source files of the replay (reencode.h: a profile
 * written again from the columns) share. No other file includes this header.
 *
 * Ownership: all memory belongs to the replay.
 * Threads: one thread per replay.
 */
#ifndef PPROF_ROWS_REENCODE_PRIVATE_H
#define PPROF_ROWS_REENCODE_PRIVATE_H

#include "base/wire.h"
#include "pprof/dictionary/layout.h"
#include "pprof/rows/reencode.h"

/* Longest encoding of a 64-bit number, in bytes. */
#define VARINT_MAX 10

/*
 * Longest field with a number, in bytes: one byte for field number and wire
 * type, then the number.
 */
#define FIELD_MAX ((size_t)1 + VARINT_MAX)

/*
 * The ids of the elements of one kind in a profile, assigned in the order in
 * which the elements are first written.
 */
struct numbering {
	/* Id of each element of the dictionary; 0: not assigned yet. */
	uint32_t *ids;
	/* The elements that have an id, in the order of their ids from 1. */
	VEC(uint32_t) ordered;
	/* Number of elements in `ids`. */
	size_t cap;
};

/* A replay: the workspace, then the state of writing the current row. */
struct replay {
	struct numbering strings;
	struct numbering functions;
	struct numbering locations;
	/*
	 * For each mapping of the dictionary: its id in the profile; 0: none.
	 */
	uint32_t *mapping_ids;
	size_t mapping_cap;
	VEC(uint32_t) stack; /* ids of the current sample's locations */

	/* The row (stored profile) being written, and its dictionary. */
	const struct dictionary *d;
	const struct row *row;
	enum dialect dialect;
	struct shape_walk walk;
	size_t written; /* number of functions that have been written */
	/*
	 * For each mapping of the dictionary: its start address in the profile.
	 */
	uint64_t *starts;
	struct buf *out;
	size_t limit; /* maximum length of `out` */
};

/* Assign the next id to element `place` of the dictionary. */
static inline uint32_t reencode_id(struct numbering *n, uint32_t place)
{
	*vec_add(&n->ordered) = place;
	n->ids[place] = (uint32_t)n->ordered.count;
	return n->ids[place];
}

/*
 * Return the id of string `place` of the dictionary; assign an id if there is
 * none. String ids start at 0, which is the empty string.
 */
static inline uint32_t reencode_string_id(struct replay *r, uint32_t place)
{
	struct numbering *n = &r->strings;
	uint32_t id = n->ids[place];

	return (id ? id : reencode_id(n, place)) - 1;
}

/* Write a varint at p and return its end. The caller has checked the room. */
static inline uint8_t *reencode_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Write a field with a number at p, and return its end. */
static inline uint8_t *reencode_put_number(uint8_t *p, unsigned field,
					   uint64_t v)
{
	*p++ = (uint8_t)(field << 3 | WIRE_VARINT);
	return reencode_put_varint(p, v);
}

/*
 * Write a field as reencode_put_number() does, or nothing if the number is 0.
 */
static inline uint8_t *reencode_put_optional(uint8_t *p, unsigned field,
					     uint64_t v)
{
	return v ? reencode_put_number(p, field, v) : p;
}

/*
 * Make room for n more bytes at the end of the output and return their address;
 * NULL if the output would exceed its maximum size.
 */
static inline uint8_t *reencode_room(struct replay *r, size_t n)
{
	return buf_reserve(r->out, n) ? r->out->ptr + r->out->len : NULL;
}

/*
 * Whether the output exceeds the limit. A damaged row could otherwise make a
 * replay write more than the caller allows.
 */
static inline bool reencode_is_full(const struct replay *r)
{
	return r->out->over || r->out->len > r->limit;
}

/*
 * Whether n more elements of at least one byte each fit into the limit. If not,
 * marks the output as too large.
 */
static inline bool reencode_fits(struct replay *r, size_t n)
{
	if (r->out->len <= r->limit && n <= r->limit - r->out->len)
		return true;
	r->out->over = true;
	return false;
}

/* Make the bytes that were written up to `end` part of the output. */
static inline void reencode_wrote(struct replay *r, const uint8_t *end)
{
	r->out->len = (size_t)(end - r->out->ptr);
}

#endif
