/* SPDX-License-Identifier: Apache-2.0 */
#include "base/enc.h"

void enc_put_be32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

void enc_put_be64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "x86-64 and arm64 only: put_* and dec_* swap bytes");

void enc_be16(struct buf *b, uint16_t v)
{
	buf_byte(b, (uint8_t)(v >> 8));
	buf_byte(b, (uint8_t)v);
}

void enc_be32(struct buf *b, uint32_t v)
{
	uint8_t bytes[4];

	enc_put_be32(bytes, v);
	buf_add(b, bytes, sizeof(bytes));
}

void enc_be64(struct buf *b, uint64_t v)
{
	uint8_t bytes[8];

	enc_put_be64(bytes, v);
	buf_add(b, bytes, sizeof(bytes));
}

/*
 * Seven bits per byte, the least significant ones first; the high bit says that
 * another byte follows.
 */
void enc_uvarint(struct buf *b, uint64_t v)
{
	while (v >= 0x80) {
		buf_byte(b, (uint8_t)(v | 0x80));
		v >>= 7;
	}
	buf_byte(b, (uint8_t)v);
}

/*
 * Zigzag: 0, -1, 1, -2 become 0, 1, 2, 3. The right shift of a negative number
 * is assumed to copy the sign bit, as gcc and clang implement it.
 */
void enc_svarint(struct buf *b, int64_t v)
{
	enc_uvarint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void enc_str(struct buf *b, struct str s)
{
	enc_uvarint(b, s.len);
	buf_add(b, s.ptr, s.len);
}

/*
 * 64 zeros suffice, because no format of everprof aligns to more than 64 bytes.
 */
void enc_pad(struct buf *b, size_t align)
{
	static const uint8_t zeros[64];
	size_t rest = b->len & (align - 1);

	if (rest)
		buf_add(b, zeros, align - rest);
}
