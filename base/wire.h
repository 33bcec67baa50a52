/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of the wire format of protocol buffers, with the rules of
 * google/pprof's own decoder (profile/proto.go): varints have up to 10 bytes
 * and excess bits are dropped; groups are refused; repeated fields may be
 * packed or not.
 *
 * Errors are sticky: wire_next() returns false at the first one, and `bad`
 * stays set. Callers therefore read until wire_next() returns false and check
 * `bad` once at the end.
 *
 * Ownership: a reader borrows its input, which must outlive it.
 * Threads: plain values; each thread uses its own readers.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include "base/bytes.h"

/* Wire types, the low three bits of a field's key. */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
	WIRE_32 = 5
};

/* A reader: the bytes of one message that are still to be read. */
struct wire {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad; /* the message is malformed or truncated */
};

/*
 * One field of a message. `value` is set for WIRE_VARINT and WIRE_64, and `bytes`
 * for WIRE_BYTES; the contents of WIRE_32 are skipped, because no message that
 * everprof reads has such fields.
 */
struct wire_field {
	uint64_t number;
	enum wire_type type;
	uint64_t value;
	struct bytes bytes;
};

/* Return a reader of the message in b, which is borrowed. */
static inline struct wire wire_init(struct bytes b)
{
	return (struct wire){ .pos = b.ptr,
			      .end = b.len ? b.ptr + b.len : b.ptr };
}

/* Return the number of a field of type double, which is a WIRE_64. */
static inline double wire_double(const struct wire_field *f)
{
	double v;

	memcpy(&v, &f->value, sizeof(v));
	return v;
}

/* Implement wire_varint() for varints of any length. */
uint64_t wire_varint_slow(struct wire *w);

/*
 * Read a varint. Returns 0 and sets `bad` if the varint is truncated or longer
 * than 10 bytes. Varints of one or two bytes are read inline.
 */
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

/*
 * Implement wire_next() for all fields, not only for those that its fast path
 * handles.
 */
bool wire_next_slow(struct wire *w, struct wire_field *out);

/* Return the length of v as a varint, in bytes. */
static inline size_t wire_varint_len(uint64_t v)
{
	return 1 + (v ? (size_t)(63 - __builtin_clzll(v)) / 7 : 0);
}

/*
 * Read the next field into *out. Returns false at the end of the message and
 * at an error; `bad` tells these two apart.
 */
static inline bool wire_next(struct wire *w, struct wire_field *out)
{
	const uint8_t *p = w->pos;

	/*
	 * Fast path: nearly all fields are a varint or a short byte string,
	 * after a key of one byte.
	 */
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
 * Read the next field if it is a varint with a key of one byte and a value of
 * one or two bytes. Returns false for any other field, and leaves the position
 * unchanged for wire_next(). Most fields of locations, lines and functions are
 * of this kind; reading them here avoids filling a struct in memory.
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
