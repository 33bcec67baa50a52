/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers' wire format, as google/pprof's own decoder reads it
 * (profile/proto.go): varints of up to 10 bytes, excess bits dropped; groups
 * refused; packed and unpacked repeated fields.
 *
 * Errors are sticky: after one, every read gives zero and `bad` stays set.
 *
 * Threads: plain values.
 */
#ifndef PPROF_WIRE_H
#define PPROF_WIRE_H

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
	if (w->pos < w->end && *w->pos < 0x80)
		return *w->pos++;
	return wire_varint_slow(w);
}

/* The next field; false at the end, or when w is bad. */
bool wire_next(struct wire *w, struct wire_field *out);

#endif
