/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/chunk/chunk_meta.h"

#include "base/dec.h"
#include "base/enc.h"

/*
 * Times are stored as differences of differences, which are mostly 0 for
 * regular scrapes. A time may be any 64-bit number, so the subtractions may
 * wrap around. The additions of the decoder then wrap around, too, and restore
 * the times.
 */
static void times_encode(const struct chunk_meta *h, struct buf *out)
{
	int64_t last = 0;
	int64_t step = 0;

	for (size_t i = 0; i < h->count; i++) {
		int64_t diff = wrap_sub(h->profiles[i].ms, last);

		enc_svarint(out, i < 2 ? diff : wrap_sub(diff, step));
		step = diff;
		last = h->profiles[i].ms;
	}
}

/*
 * Read field number `which` of a profile. The metadata stores field 0 of all
 * profiles, then field 1 of all profiles, and so on, because the values of one
 * field resemble each other. The numbers are part of the format.
 */
static int64_t chunk_meta_read_field(const struct chunk_profile *p, int which)
{
	switch (which) {
	case 0:
		return p->duration_ns;
	case 1:
		return p->period;
	case 2:
		return (int64_t)p->sample_count;
	default:
		return p->raw_len;
	}
}

/* Set field number `which` of a profile; see chunk_meta_read_field(). */
static void set_field(struct chunk_profile *p, int which, int64_t v)
{
	switch (which) {
	case 0:
		p->duration_ns = v;
		break;
	case 1:
		p->period = v;
		break;
	case 2:
		p->sample_count = (uint64_t)v;
		break;
	default:
		p->raw_len = (uint32_t)v;
		break;
	}
}

/* Number of fields that chunk_meta_read_field() knows. */
#define FIELDS 4

void chunk_meta_encode_front(const struct chunk_meta *h, struct buf *out)
{
	enc_be16(out, h->count);
	buf_byte(out, 0);
	buf_byte(out, h->codec);
	times_encode(h, out);
	enc_uvarint(out, h->typeset);
	for (size_t t = 0; t < h->total_count; t++) {
		const int64_t *v = &h->totals[t * CHUNK_PROFILES_MAX];

		for (size_t i = 0; i < h->count; i++)
			enc_svarint(out, wrap_sub(v[i], i ? v[i - 1] : 0));
	}
	for (int f = 0; f < FIELDS; f++) {
		int64_t last = 0;

		for (size_t i = 0; i < h->count; i++) {
			int64_t v = chunk_meta_read_field(&h->profiles[i], f);

			enc_svarint(out, wrap_sub(v, last));
			last = v;
		}
	}
	for (size_t i = 0; i < h->count; i++)
		enc_be64(out, h->profiles[i].hash);
}

void chunk_meta_encode_place(const struct chunk_place *p, struct buf *out)
{
	enc_uvarint(out, p->file);
	enc_uvarint(out, p->offset);
	enc_uvarint(out, p->len);
	enc_be32(out, p->crc);
	enc_uvarint(out, p->table.len);
	if (p->table.len) {
		enc_uvarint(out, p->table.offset);
		enc_be32(out, p->table.crc);
	}
	enc_uvarint(out, p->first);
}

void chunk_meta_encode(const struct chunk_meta *h, struct buf *out)
{
	chunk_meta_encode_front(h, out);
	chunk_meta_encode_place(&h->place, out);
}

/*
 * Decode everything before the type set: the number of profiles, which is
 * returned, the codec, and the times. Times that do not increase set d->bad.
 */
static size_t front_decode(struct dec *d, uint8_t *codec, int64_t *ms)
{
	size_t count = dec_be16(d);
	int64_t last = 0;
	int64_t step = 0;

	d->bad = d->bad || !count || count > CHUNK_PROFILES_MAX || dec_u8(d);
	*codec = dec_u8(d);
	for (size_t i = 0; i < count && !d->bad; i++) {
		int64_t v = dec_svarint(d);
		int64_t diff = i < 2 ? v : wrap_add(v, step);

		ms[i] = wrap_add(last, diff);
		d->bad = d->bad || (i && ms[i] <= last);
		step = diff;
		last = ms[i];
	}
	return count;
}

/* Set and return ERR_CORRUPT, the error of all decoders in this file. */
static int chunk_meta_report_damage(struct err *err)
{
	return err_set(err, ERR_CORRUPT, "the chunk metadata is damaged");
}

int chunk_meta_times(struct bytes b, int64_t *ms, size_t *count,
		     struct err *err)
{
	struct dec d = dec_init(b);
	uint8_t codec;
	size_t n = front_decode(&d, &codec, ms);

	if (d.bad)
		return chunk_meta_report_damage(err);
	*count = n;
	return 0;
}

/* The type set follows the times, which must be decoded to find it. */
int chunk_meta_typeset(struct bytes b, uint32_t *out, struct err *err)
{
	struct dec d = dec_init(b);
	int64_t ms[CHUNK_PROFILES_MAX];
	uint8_t codec;
	uint64_t number;

	front_decode(&d, &codec, ms);
	number = dec_count(&d, UINT32_MAX);
	if (d.bad)
		return chunk_meta_report_damage(err);
	*out = (uint32_t)number;
	return 0;
}

/* Counterpart of chunk_meta_encode_place(). */
static void place_decode(struct dec *d, struct chunk_place *p)
{
	p->file = (uint32_t)dec_count(d, UINT32_MAX);
	p->offset = dec_uvarint(d);
	p->len = (uint32_t)dec_count(d, UINT32_MAX);
	p->crc = dec_be32(d);
	p->table = (struct chunk_table){ .len = (uint32_t)dec_count(
						 d, UINT32_MAX) };
	if (p->table.len) {
		p->table.offset = dec_uvarint(d);
		p->table.crc = dec_be32(d);
	}
	p->first = (uint32_t)dec_count(d, UINT32_MAX);
}

/*
 * Decode the totals into h->totals. If h->totals is NULL, the totals are
 * decoded nevertheless, and dropped, to find the field after them.
 */
static void totals_decode(struct dec *d, struct chunk_meta *h)
{
	for (size_t t = 0; t < h->total_count && !d->bad; t++) {
		int64_t last = 0;

		for (size_t i = 0; i < h->count; i++) {
			last = wrap_add(last, dec_svarint(d));
			if (h->totals)
				h->totals[t * CHUNK_PROFILES_MAX + i] = last;
		}
	}
}

int chunk_meta_decode(struct bytes b, struct chunk_meta *h, struct err *err)
{
	struct dec d = dec_init(b);
	int64_t ms[CHUNK_PROFILES_MAX] = { 0 };
	size_t count = front_decode(&d, &h->codec, ms);

	if (d.bad)
		return chunk_meta_report_damage(err);
	h->count = (uint16_t)count;
	h->typeset = (uint32_t)dec_count(&d, UINT32_MAX);
	totals_decode(&d, h);
	for (size_t i = 0; i < count; i++)
		h->profiles[i].ms = ms[i];
	for (int f = 0; f < FIELDS; f++) {
		int64_t last = 0;

		for (size_t i = 0; i < count; i++) {
			last = wrap_add(last, dec_svarint(&d));
			/* The last field is a length, which has 32 bits. */
			if (f == FIELDS - 1 && (last < 0 || last > UINT32_MAX))
				d.bad = true;
			set_field(&h->profiles[i], f, last);
		}
	}
	for (size_t i = 0; i < count; i++)
		h->profiles[i].hash = dec_be64(&d);
	place_decode(&d, &h->place);
	if (d.bad || dec_left(&d))
		return chunk_meta_report_damage(err);
	return 0;
}

/* A chunk is small, so a linear search is enough. */
bool chunk_meta_find(const struct chunk_meta *h, int64_t ms, uint16_t *index)
{
	for (uint16_t i = 0; i < h->count; i++) {
		if (h->profiles[i].ms == ms) {
			*index = i;
			return true;
		}
	}
	return false;
}
