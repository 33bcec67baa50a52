/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that write profiles again share. No file outside of them
 * includes it.
 *
 * Ownership, threads: those of the writer (reencode.h).
 */
#ifndef PPROF_ROWS_REENCODE_PRIVATE_H
#define PPROF_ROWS_REENCODE_PRIVATE_H

#include "pprof/dictionary/layout.h"
#include "pprof/rows/reencode.h"
#include "pprof/wire/wire.h"

#define VARINT_MAX 10

#define FIELD_MAX ((size_t)1 + VARINT_MAX) /* a field's key and its number */

/* Ids of a profile, given when a thing is first written. */
struct numbering {
	uint32_t *ids;         /* by place in the dictionary; 0: none yet */
	VEC(uint32_t) ordered; /* places, by id - 1 */
	size_t cap;
};

struct replay {
	struct numbering strings;
	struct numbering functions;
	struct numbering locations;
	uint32_t *mapping_ids; /* by mapping of the dictionary */
	size_t mapping_cap;
	VEC(uint32_t) stack; /* ids of a sample's locations */

	/* The row. */
	const struct dictionary *d;
	const struct row *row;
	enum dialect dialect;
	struct shape_walk walk;
	size_t written; /* functions in the output, in Go's dialect */
	uint64_t *starts;
	struct buf *out;
	size_t limit; /* of out's length */
};

/* Give the next id. */
static inline uint32_t reencode_id(struct numbering *n, uint32_t place)
{
	*vec_add(&n->ordered) = place;
	n->ids[place] = (uint32_t)n->ordered.count;
	return n->ids[place];
}

/* Strings are numbered from 0, the empty one. */
static inline uint32_t reencode_string_id(struct replay *r, uint32_t place)
{
	struct numbering *n = &r->strings;
	uint32_t id = n->ids[place];

	return (id ? id : reencode_id(n, place)) - 1;
}

static inline uint8_t *reencode_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline uint8_t *reencode_put_number(uint8_t *p, unsigned field,
					   uint64_t v)
{
	*p++ = (uint8_t)(field << 3 | WIRE_VARINT);
	return reencode_put_varint(p, v);
}

static inline uint8_t *reencode_put_optional(uint8_t *p, unsigned field,
					     uint64_t v)
{
	return v ? reencode_put_number(p, field, v) : p;
}

static inline uint8_t *reencode_room(struct replay *r, size_t n)
{
	return buf_reserve(r->out, n) ? r->out->ptr + r->out->len : NULL;
}

/* A damaged row must not write more than was asked for. */
static inline bool reencode_is_full(const struct replay *r)
{
	return r->out->over || r->out->len > r->limit;
}

/* Whether n things more, of a byte at least, can be within the limit. */
static inline bool reencode_fits(struct replay *r, size_t n)
{
	if (r->out->len <= r->limit && n <= r->limit - r->out->len)
		return true;
	r->out->over = true;
	return false;
}

static inline void reencode_wrote(struct replay *r, const uint8_t *end)
{
	r->out->len = (size_t)(end - r->out->ptr);
}

#endif
