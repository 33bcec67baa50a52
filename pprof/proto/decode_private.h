/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the decoder of profile.proto share. No other
 * file includes this header.
 *
 * Functions that return bool return false for a profile that is refused; the
 * reason is then in the decoder's `why`.
 *
 * Ownership: as described in pprof/proto/decode.h.
 * Threads: as described in pprof/proto/decode.h.
 */
#ifndef PPROF_PROTO_DECODE_PRIVATE_H
#define PPROF_PROTO_DECODE_PRIVATE_H

#include "base/wire.h"
#include "pprof/legacy/legacy.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/id_index.h"

/* The state of a decoder. */
struct decoder {
	struct pprof p;
	/* Maps from ids to places (array indexes), one per table. */
	struct id_index mapping_ids;
	struct id_index function_ids;
	struct id_index location_ids;
	/*
	 * The mapping id of each location and the function id of each line,
	 * kept until all ids are known.
	 */
	VEC(uint64_t) location_mappings;
	VEC(uint64_t) line_functions;
	uint64_t max_string; /* highest string index referred to */
	/*
	 * String indexes in the fields of the profile itself. If a field is
	 * repeated, its last value counts, so the indexes are checked when all
	 * fields are read.
	 */
	struct {
		uint64_t drop_frames;
		uint64_t keep_frames;
		uint64_t default_type;
		uint64_t doc_url;
		uint64_t period[2]; /* type and unit of the period */
	} header;
	struct legacy *legacy;
	size_t max;        /* memory bound in bytes */
	size_t memory;     /* estimate of the memory used, in bytes */
	const char *why;   /* the first reason to refuse the profile */
	bool over;         /* whether the memory bound was exceeded */
	bool concatenated; /* whether the input has several profiles */
};

/*
 * Records why the profile is refused, unless a reason is known already, and
 * returns false. `why` is a static string.
 */
static inline bool decode_refuse(struct decoder *d, const char *why)
{
	if (!d->why)
		d->why = why;
	return false;
}

/*
 * Returns whether an array may grow by one element of `size` bytes. The growth
 * is added to the memory estimate before memory is allocated, so that a hostile
 * profile is refused in time.
 */
static inline bool decode_has_room(struct decoder *d, size_t count, size_t cap,
				   size_t size)
{
	if (count < cap)
		return true;
	d->memory += (cap / 2 + 4) * size;
	if (d->memory <= d->max && count < UINT32_MAX - 1)
		return true;
	d->over = true;
	return decode_refuse(d, "the profile takes too much memory");
}

/*
 * Evaluates to a new element of a vector, or to NULL if the memory bound
 * forbids it.
 */
#define decode_add(d, vec)                                                 \
	(decode_has_room(d, (vec)->count, (vec)->cap, sizeof(*(vec)->v)) ? \
		 vec_add(vec) :                                            \
		 NULL)

/*
 * Returns whether an array may grow by n elements of `size` bytes. Like
 * decode_has_room(), adds the growth to the memory estimate first.
 */
static inline bool decode_reserve(struct decoder *d, size_t count, size_t cap,
				  size_t n, size_t size)
{
	if (n <= cap - count)
		return true;
	d->memory += (cap / 2 + n) * size;
	if (d->memory <= d->max && count + n < UINT32_MAX - 1)
		return true;
	d->over = true;
	return decode_refuse(d, "the profile takes too much memory");
}

/* Reads a number field. Refuses every wire type but varint, as pprof does. */
static inline bool decode_number(struct decoder *d, const struct wire_field *f,
				 uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return decode_refuse(d, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

/*
 * Starts reading the contents of a length-delimited field; refuses other wire
 * types.
 */
static inline bool decode_message(struct decoder *d, const struct wire_field *f,
				  struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return decode_refuse(d, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

/* Returns whether a message was read to its end without an error. */
static inline bool decode_ended(struct decoder *d, const struct wire *w)
{
	return w->bad ? decode_refuse(d, "a field is damaged or truncated") :
			true;
}

/*
 * Records that string i is referred to and returns i. Returning only 32 bits is
 * harmless: decode_strings() later compares all bits with the size of the
 * string table.
 */
static inline uint32_t decode_string_index(struct decoder *d, uint64_t i)
{
	if (i > d->max_string)
		d->max_string = i;
	return (uint32_t)i;
}

#endif
