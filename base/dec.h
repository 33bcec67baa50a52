/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoder: reads integers from a borrowed byte range.
 *
 * Errors are sticky. A read past the end sets bad and returns zero, and so
 * does every later read, so a parser reads all its fields and checks once:
 *
 *	uint32_t magic = dec_be32(&d);
 *	uint8_t version = dec_u8(&d);
 *	if (d.bad)
 *		return ERR_CORRUPT;
 *
 * Ownership: borrows the input, which must outlive it.
 * Threads: one thread a decoder.
 */
#ifndef BASE_DEC_H
#define BASE_DEC_H

#include "base/bytes.h"
#include "base/defs.h"

struct dec {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad;
};

static inline struct dec dec_init(struct bytes b)
{
	/* Nothing may be NULL, to which not even 0 may be added. */
	return (struct dec){ .pos = b.ptr,
			     .end = b.len ? b.ptr + b.len : b.ptr };
}

static inline size_t dec_left(const struct dec *d)
{
	return d->bad ? 0 : (size_t)(d->end - d->pos);
}

/* The next n bytes, borrowed from the input; empty when fewer are left. */
struct bytes dec_bytes(struct dec *d, size_t n);

uint8_t dec_u8(struct dec *d);
uint16_t dec_be16(struct dec *d);
uint32_t dec_be32(struct dec *d);
uint64_t dec_be64(struct dec *d);

uint64_t dec_uvarint_long(struct dec *d); /* for dec_uvarint() alone */

/*
 * LEB128 of at most 10 bytes; a longer or overflowing one is bad. Nearly all
 * are of one or two bytes: lists of times are made of them.
 */
static inline uint64_t dec_uvarint(struct dec *d)
{
	const uint8_t *p = d->pos;

	if (d->bad || d->end - p < 2)
		return dec_uvarint_long(d);
	if (p[0] < 0x80) {
		d->pos = p + 1;
		return p[0];
	}
	if (p[1] < 0x80) {
		d->pos = p + 2;
		return (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
	}
	return dec_uvarint_long(d);
}

/* A zigzag varint. */
static inline int64_t dec_svarint(struct dec *d)
{
	uint64_t v = dec_uvarint(d);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* A uvarint of at most max; a larger one is bad. */
uint64_t dec_count(struct dec *d, uint64_t max);

/* A length as uvarint and that many bytes, borrowed. */
struct str dec_str(struct dec *d);

#endif
