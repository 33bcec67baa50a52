/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoder: reads integers and byte ranges from a borrowed byte range.
 *
 * Errors are sticky. A read past the end sets `bad` and returns zero, and so
 * does every later read, so that a parser reads all its fields and checks once:
 *
 *	uint32_t magic = dec_be32(&d);
 *	uint8_t version = dec_u8(&d);
 *	if (d.bad)
 *		return ERR_CORRUPT;
 *
 * Ownership: a decoder borrows its input, which must outlive the decoder and
 * everything it returned.
 * Threads: one thread per decoder.
 */
#ifndef BASE_DEC_H
#define BASE_DEC_H

#include "base/bytes.h"
#include "base/defs.h"

/* A decoder: its position in the input, and whether an earlier read failed. */
struct dec {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad;
};

/* Return a decoder at the start of b. */
static inline struct dec dec_init(struct bytes b)
{
	/*
	 * b.ptr may be NULL when b is empty, and adding even 0 to NULL is
	 * undefined.
	 */
	return (struct dec){ .pos = b.ptr,
			     .end = b.len ? b.ptr + b.len : b.ptr };
}

/* Return the number of bytes not yet read; 0 after an error. */
static inline size_t dec_left(const struct dec *d)
{
	return d->bad ? 0 : (size_t)(d->end - d->pos);
}

/*
 * Return the next n bytes, borrowed from the input. Sets `bad` and returns an
 * empty range when fewer are left.
 */
struct bytes dec_bytes(struct dec *d, size_t n);

/* Read one byte. */
uint8_t dec_u8(struct dec *d);

/* Read a 16-bit big-endian integer. */
uint16_t dec_be16(struct dec *d);

/* Read a 32-bit big-endian integer. */
uint32_t dec_be32(struct dec *d);

/* Read a 64-bit big-endian integer. */
uint64_t dec_be64(struct dec *d);

/* Read a 16-bit little-endian integer. */
uint16_t dec_le16(struct dec *d);

/* Read a 32-bit little-endian integer. */
uint32_t dec_le32(struct dec *d);

/* Read a 64-bit little-endian integer. */
uint64_t dec_le64(struct dec *d);

/*
 * Read a varint of any length: the slow path of dec_uvarint(), its only caller.
 */
uint64_t dec_uvarint_long(struct dec *d);

/*
 * Read an unsigned varint (LEB128) of at most 10 bytes; a longer varint, or one
 * that exceeds 64 bits, sets `bad`. Varints of one or two bytes are decoded
 * inline for speed: almost all varints in lists of profile times are that
 * short.
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

/* Read a signed varint in zigzag encoding. */
static inline int64_t dec_svarint(struct dec *d)
{
	uint64_t v = dec_uvarint(d);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/*
 * Read a signed varint in two's complement, as DWARF has them (SLEB128), of at
 * most 10 bytes; a longer varint sets `bad`.
 */
int64_t dec_sleb128(struct dec *d);

/*
 * Read an unsigned varint that may be at most `max`; a larger number sets `bad`
 * and returns 0. For counts that determine how much memory the caller
 * allocates.
 */
uint64_t dec_count(struct dec *d, uint64_t max);

/* Read a length (a varint), then that many bytes, borrowed from the input. */
struct str dec_str(struct dec *d);

#endif
