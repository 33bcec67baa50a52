/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_chunk.h"

/* The header: offsets of its fields, all of which have the highest byte first. */
enum {
	AT_VERSION = 4,
	AT_SIZE = 8,
	AT_CONSTANTS = 16,
	AT_METADATA = 24,
	AT_START = 32,
	AT_DURATION = 40,
	AT_TICKS = 56,
	AT_FLAGS = 64,
	HEADER_SIZE = 68,
	/* Flag: numbers are of variable length. */
	FLAG_COMPRESSED = 1,
	MAJOR_VERSION = 2
};

/* Whether bytes begin as a chunk does, however few they are. */
static bool jfr_chunk_is(struct bytes b)
{
	return b.len && !memcmp(b.ptr, "FLR\0", b.len < 4 ? b.len : 4);
}

/* Return a field of the header. */
static uint64_t jfr_chunk_field(struct bytes b, size_t at, size_t size)
{
	struct jfr_reader r =
		jfr_reader_init((struct bytes){ b.ptr + at, size });

	return jfr_reader_fixed(&r, size);
}

/* Check what tells how to read the chunk. */
static int jfr_chunk_check(struct bytes b, struct err *err)
{
	uint64_t version = jfr_chunk_field(b, AT_VERSION, 4);

	if (version >> 16 != MAJOR_VERSION)
		return err_set(
			err, ERR_MEDIA,
			"the recording has version %u.%u of JFR: only version 2 (Java 11 and later, and async-profiler) is read",
			(unsigned)(version >> 16),
			(unsigned)(version & 0xffff));
	if (!(jfr_chunk_field(b, AT_FLAGS, 4) & FLAG_COMPRESSED))
		return err_set(
			err, ERR_MEDIA,
			"the recording has numbers of fixed length (Java was started with compressedintegers=false), which are not read");
	return 0;
}

/* Find the metadata. False: there are none. */
static bool jfr_chunk_find_metadata(struct jfr_chunk *c, uint64_t offset)
{
	struct jfr_reader r = jfr_reader_init(c->bytes);
	uint64_t size;

	(void)jfr_reader_bytes(&r, offset);
	size = jfr_reader_number(&r);
	if (r.bad || size > c->bytes.len - offset)
		return false;
	r.end = c->bytes.ptr + offset + size;
	for (int i = 0; i < 4; i++) /* type, time, duration, ID */
		(void)jfr_reader_number(&r);
	c->metadata = (struct bytes){ r.pos, (size_t)(r.end - r.pos) };
	return !r.bad;
}

int jfr_chunk_next(struct bytes *recording, struct jfr_chunk *out, bool *is_cut,
		   struct err *err)
{
	struct bytes b = *recording;
	uint64_t size;
	uint64_t metadata;
	int rc;

	*out = (struct jfr_chunk){ .constants = 0 };
	*is_cut = false;
	if (!jfr_chunk_is(b))
		return err_set(
			err, ERR_INVALID,
			"the profile is no recording of JFR: it does not begin with \"FLR\"");
	*is_cut = b.len < HEADER_SIZE;
	rc = *is_cut ? 0 : jfr_chunk_check(b, err);
	if (rc || *is_cut)
		return rc;
	size = jfr_chunk_field(b, AT_SIZE, 8);
	out->constants = jfr_chunk_field(b, AT_CONSTANTS, 8);
	metadata = jfr_chunk_field(b, AT_METADATA, 8);
	/* A chunk that is still being written has no size or offsets yet. */
	*is_cut = size < HEADER_SIZE || size > b.len ||
		  out->constants < HEADER_SIZE || out->constants >= size ||
		  metadata < HEADER_SIZE || metadata >= size;
	if (*is_cut)
		return 0;
	out->bytes = (struct bytes){ b.ptr, (size_t)size };
	out->start_ns = (int64_t)jfr_chunk_field(b, AT_START, 8);
	out->duration_ns = (int64_t)jfr_chunk_field(b, AT_DURATION, 8);
	out->ticks_per_second = jfr_chunk_field(b, AT_TICKS, 8);
	if (!jfr_chunk_find_metadata(out, metadata))
		return err_set(err, ERR_INVALID,
			       "the metadata of the recording are malformed");
	*recording = (struct bytes){ b.ptr + size, b.len - (size_t)size };
	return 0;
}

struct jfr_reader jfr_chunk_events(const struct jfr_chunk *c)
{
	struct jfr_reader r = jfr_reader_init(c->bytes);

	r.pos += HEADER_SIZE;
	return r;
}

bool jfr_chunk_event(struct jfr_reader *r, struct jfr_reader *fields,
		     uint64_t *class_id)
{
	const uint8_t *begin = r->pos;
	uint64_t size;

	if (r->pos >= r->end)
		return false;
	size = jfr_reader_number(r);
	if (r->bad || size > (uint64_t)(r->end - begin) ||
	    begin + size <= r->pos) {
		r->bad = true;
		return false;
	}
	*fields = (struct jfr_reader){ .pos = r->pos, .end = begin + size };
	*class_id = jfr_reader_number(fields);
	r->pos = begin + size;
	return true;
}

int64_t jfr_chunk_ns(const struct jfr_chunk *c, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * 1000000000;

	if (!c->ticks_per_second)
		return 0;
	ns /= c->ticks_per_second;
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}
