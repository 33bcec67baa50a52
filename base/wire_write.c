/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire_write.h"

#include "base/enc.h"
#include "base/wire.h"

/* Write the key of a field. */
static void wire_write_key(struct buf *out, uint32_t number,
			   enum wire_type type)
{
	enc_uvarint(out, (uint64_t)number << 3 | type);
}

void wire_write_number(struct buf *out, uint32_t number, uint64_t value)
{
	if (!value)
		return;
	wire_write_key(out, number, WIRE_VARINT);
	enc_uvarint(out, value);
}

void wire_write_double(struct buf *out, uint32_t number, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (bits)
		wire_write_element(out, number, value);
}

void wire_write_element(struct buf *out, uint32_t number, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wire_write_key(out, number, WIRE_64);
	for (unsigned i = 0; i < 8; i++)
		buf_byte(out, (uint8_t)(bits >> (8 * i)));
}

void wire_write_begin(struct buf *out, uint32_t number, size_t len)
{
	wire_write_key(out, number, WIRE_BYTES);
	enc_uvarint(out, len);
}

void wire_write_bytes(struct buf *out, uint32_t number, struct bytes value)
{
	wire_write_begin(out, number, value.len);
	buf_add(out, value.ptr, value.len);
}

void wire_write_str(struct buf *out, uint32_t number, struct str value)
{
	if (value.len)
		wire_write_bytes(out, number, bytes_of(value));
}
