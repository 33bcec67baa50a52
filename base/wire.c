/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire.h"

uint64_t wire_varint_slow(struct wire *w)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 10 && w->pos < w->end; i++) {
		uint8_t byte = *w->pos++;

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80)
			return value;
	}
	/*
	 * The varint is too long or truncated: skip the rest of the input, so
	 * that the callers' loops end.
	 */
	w->bad = true;
	w->pos = w->end;
	return 0;
}

/*
 * Consume and return the next n bytes of the input. If fewer are left, sets
 * `bad` and returns an empty range. n comes from the input and may be any
 * 64-bit number.
 */
static struct bytes wire_take(struct wire *w, uint64_t n)
{
	struct bytes b = { .ptr = w->pos, .len = (size_t)n };

	if (n > (uint64_t)(w->end - w->pos)) {
		w->bad = true;
		w->pos = w->end;
		return (struct bytes){ .ptr = w->end, .len = 0 };
	}
	w->pos += n;
	return b;
}

/* Read 8 bytes, little-endian. */
static uint64_t wire_fixed64(struct wire *w)
{
	struct bytes b = wire_take(w, 8);
	uint64_t v = 0;

	for (size_t i = 0; i < b.len; i++)
		v |= (uint64_t)b.ptr[i] << (8 * i);
	return v;
}

bool wire_next_slow(struct wire *w, struct wire_field *out)
{
	uint64_t key;

	if (w->pos == w->end || w->bad)
		return false;
	key = wire_varint(w);
	out->number = key >> 3;
	out->type = (enum wire_type)(key & 7);
	switch (out->type) {
	case WIRE_VARINT:
		out->value = wire_varint(w);
		break;
	case WIRE_64:
		out->value = wire_fixed64(w);
		break;
	case WIRE_BYTES:
		out->bytes = wire_take(w, wire_varint(w));
		break;
	case WIRE_32:
		wire_take(w, 4);
		break;
	/*
	 * Refuse groups (wire types 3 and 4) and the unassigned types 6 and 7.
	 */
	default:
		w->bad = true;
		break;
	}
	return !w->bad;
}
