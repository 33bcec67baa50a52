/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dec.h"

/*
 * All reads call this function, which checks for the end of the input. Only
 * dec_uvarint() has a check of its own, for varints of one or two bytes.
 */
struct bytes dec_bytes(struct dec *d, size_t n)
{
	struct bytes b = { .ptr = d->pos, .len = n };

	if (d->bad || n > (size_t)(d->end - d->pos)) {
		d->bad = true;
		return (struct bytes){ .ptr = d->end, .len = 0 };
	}
	d->pos += n;
	return b;
}

uint8_t dec_u8(struct dec *d)
{
	struct bytes b = dec_bytes(d, 1);

	return b.len ? b.ptr[0] : 0;
}

uint16_t dec_be16(struct dec *d)
{
	struct bytes b = dec_bytes(d, sizeof(uint16_t));
	uint16_t v;

	if (!b.len)
		return 0;
	/* memcpy() because the input may be unaligned. */
	memcpy(&v, b.ptr, sizeof(v));
	return __builtin_bswap16(v);
}

uint32_t dec_be32(struct dec *d)
{
	struct bytes b = dec_bytes(d, sizeof(uint32_t));
	uint32_t v;

	if (!b.len)
		return 0;
	memcpy(&v, b.ptr, sizeof(v));
	return __builtin_bswap32(v);
}

uint64_t dec_be64(struct dec *d)
{
	struct bytes b = dec_bytes(d, sizeof(uint64_t));
	uint64_t v;

	if (!b.len)
		return 0;
	memcpy(&v, b.ptr, sizeof(v));
	return __builtin_bswap64(v);
}

uint16_t dec_le16(struct dec *d)
{
	return __builtin_bswap16(dec_be16(d));
}

uint32_t dec_le32(struct dec *d)
{
	return __builtin_bswap32(dec_be32(d));
}

uint64_t dec_le64(struct dec *d)
{
	return __builtin_bswap64(dec_be64(d));
}

/*
 * Each byte holds 7 bits, the least significant ones first. The tenth byte
 * holds bit 63 alone, so it may be at most 1.
 */
uint64_t dec_uvarint_long(struct dec *d)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = dec_u8(d);

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			/*
			 * At the end of the input dec_u8() returns 0, which
			 * looks like the last byte of a varint; only `bad`
			 * tells the difference.
			 */
			return d->bad ? 0 : value;
	}
	d->bad = true;
	return 0;
}

/*
 * Bit 6 of the last byte is the sign, and the bits above it are copies of the
 * sign. The tenth byte holds bit 63 and the copies.
 */
int64_t dec_sleb128(struct dec *d)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = dec_u8(d);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte >= 0x80)
			continue;
		if (shift < 57 && byte & 0x40)
			value |= UINT64_MAX << (shift + 7);
		return d->bad ? 0 : (int64_t)value;
	}
	d->bad = true;
	return 0;
}

uint64_t dec_count(struct dec *d, uint64_t max)
{
	uint64_t n = dec_uvarint(d);

	if (n > max) {
		d->bad = true;
		return 0;
	}
	return n;
}

/*
 * The length is limited to the bytes that are left, so that a damaged length
 * can neither overflow nor lead beyond the end of the input.
 */
struct str dec_str(struct dec *d)
{
	uint64_t n = dec_count(d, dec_left(d));

	return str_from(dec_bytes(d, (size_t)n));
}
