/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the decoder share. No file outside of them includes it.
 *
 * Ownership, threads: those of the decoder (decode.h).
 */
#ifndef PPROF_PROTO_DECODE_PRIVATE_H
#define PPROF_PROTO_DECODE_PRIVATE_H

#include "pprof/decode.h"
#include "pprof/legacy/legacy.h"
#include "pprof/wire/idmap.h"
#include "pprof/wire/wire.h"

struct decoder {
	struct pprof p;
	struct idmap mapping_ids;
	struct idmap function_ids;
	struct idmap location_ids;
	/* What locations and lines refer to, until the tables are complete. */
	VEC(uint64_t) location_mappings;
	VEC(uint64_t) line_functions;
	uint64_t max_string; /* the highest index referred to */
	struct legacy *legacy;
	size_t max;
	size_t memory;
	const char *why; /* the first reason to refuse */
	bool over;
	bool concatenated;
};

static inline bool decode_refuse(struct decoder *d, const char *why)
{
	if (!d->why)
		d->why = why;
	return false;
}

/* Whether an array may grow by one element more. */
static inline bool decode_has_room(struct decoder *d, size_t count, size_t cap,
				   size_t size)
{
	if (count < cap)
		return true;
	d->memory += (cap / 2 + 4) * size;
	if (d->memory <= d->max && count < UINT32_MAX - 1)
		return true;
	d->over = true;
	return decode_refuse(d, "it takes too much memory");
}

/* A new element of a vector; NULL when there is no room. */
#define decode_add(d, vec)                                                 \
	(decode_has_room(d, (vec)->count, (vec)->cap, sizeof(*(vec)->v)) ? \
		 vec_add(vec) :                                            \
		 NULL)

/* Room for n elements more; false when that is too much. */
static inline bool decode_reserve(struct decoder *d, size_t count, size_t cap,
				  size_t n, size_t size)
{
	if (n <= cap - count)
		return true;
	d->memory += (cap / 2 + n) * size;
	if (d->memory <= d->max && count + n < UINT32_MAX - 1)
		return true;
	d->over = true;
	return decode_refuse(d, "it takes too much memory");
}

static inline bool decode_number(struct decoder *d, const struct wire_field *f,
				 uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return decode_refuse(d, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

static inline bool decode_message(struct decoder *d, const struct wire_field *f,
				  struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return decode_refuse(d, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

static inline bool decode_ended(struct decoder *d, const struct wire *w)
{
	return w->bad ? decode_refuse(d, "a field is damaged or cut short") :
			true;
}

static inline uint32_t decode_string_index(struct decoder *d, uint64_t i)
{
	if (i > d->max_string)
		d->max_string = i;
	return (uint32_t)i;
}

#endif
