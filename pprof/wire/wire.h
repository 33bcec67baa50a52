/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers' wire format, as google/pprof's own decoder reads it
 * (profile/proto.go): varints of up to 10 bytes, excess bits dropped; groups
 * refused; packed and unpacked repeated fields.
 *
 * Errors are sticky: after one, every read gives zero and `bad` stays set.
 *
 * Ownership: borrows the input, which must outlive it.
 * Threads: plain values.
 */
#ifndef PPROF_WIRE_WIRE_H
#define PPROF_WIRE_WIRE_H

#include "base/bytes.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
	WIRE_32 = 5
};

struct wire {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad;
};

/* One field: value for the numbers, bytes for WIRE_BYTES. */
struct wire_field {
	uint64_t number;
	enum wire_type type;
	uint64_t value;
	struct bytes bytes;
};

static inline struct wire wire_init(struct bytes b)
{
	return (struct wire){ .pos = b.ptr,
			      .end = b.len ? b.ptr + b.len : b.ptr };
}

uint64_t wire_varint_slow(struct wire *w);

static inline uint64_t wire_varint(struct wire *w)
{
	const uint8_t *p = w->pos;

	if (p < w->end && p[0] < 0x80) {
		w->pos = p + 1;
		return p[0];
	}
	if (w->end - p > 1 && p[1] < 0x80) {
		w->pos = p + 2;
		return (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
	}
	return wire_varint_slow(w);
}

bool wire_next_slow(struct wire *w, struct wire_field *out);

/* How many bytes v takes. */
static inline size_t wire_varint_len(uint64_t v)
{
	return 1 + (v ? (size_t)(63 - __builtin_clzll(v)) / 7 : 0);
}

/* The next field; false at the end, or when w is bad. */
static inline bool wire_next(struct wire *w, struct wire_field *out)
{
	const uint8_t *p = w->pos;

	/* Nearly all are a number, or bytes, behind a key of one byte. */
	if (w->end - p < 2 || p[0] >= 0x80)
		return wire_next_slow(w, out);
	out->number = p[0] >> 3;
	out->type = (enum wire_type)(p[0] & 7);
	if (out->type == WIRE_VARINT) {
		w->pos = p + 1;
		out->value = wire_varint(w);
		return !w->bad;
	}
	if (out->type != WIRE_BYTES || p[1] >= 0x80 || p[1] > w->end - p - 2)
		return wire_next_slow(w, out);
	out->bytes = (struct bytes){ .ptr = p + 2, .len = p[1] };
	w->pos = p + 2 + p[1];
	return true;
}

/*
 * The next field if it is a varint with a key of one byte and a value of one
 * or two; otherwise false, and the position stays. Most fields of locations,
 * lines and functions are of this kind, and it needs no struct in memory.
 */
static inline bool wire_next_small(struct wire *w, uint64_t *number,
				   uint64_t *value)
{
	const uint8_t *p = w->pos;

	if (w->end - p < 3 || (p[0] & 0x87) != WIRE_VARINT)
		return false;
	*number = p[0] >> 3;
	if (p[1] < 0x80) {
		*value = p[1];
		w->pos = p + 2;
		return true;
	}
	if (p[2] >= 0x80)
		return false;
	*value = (uint64_t)(p[1] & 0x7f) | (uint64_t)p[2] << 7;
	w->pos = p + 3;
	return true;
}

#endif
