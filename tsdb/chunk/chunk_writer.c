/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/chunk/chunk_writer.h"

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "tsdb/chunk/codec_zstd.h"

/*
 * After REFUSALS_MAX chunks that the columns codec refused, the rest of the
 * series is stored with zstd. Chunks of more than COLUMNS_BYTES_MAX bytes are
 * not tried as columns.
 */
#define REFUSALS_MAX      3
#define COLUMNS_BYTES_MAX (16 * MIB)
#define BUFFER_KEEP       MIB /* buffers of more bytes are freed after use */

/* Create an encoder and a decoder of the codec `c`; none if `c` is NULL. */
static struct chunk_codec codec_begin(const struct codec *c, int level)
{
	if (!c)
		return (struct chunk_codec){ 0 };
	return (struct chunk_codec){ .codec = c,
				     .encoder = c->encoder_new(level),
				     .decoder = c->decoder_new() };
}

static void codec_end(struct chunk_codec *c)
{
	if (!c->codec)
		return;
	c->codec->encoder_free(c->encoder);
	c->codec->decoder_free(c->decoder);
}

struct chunk_writer *chunk_writer_new(const struct codec *columns, int level)
{
	struct chunk_writer *b = mem_new(struct chunk_writer);

	b->zstd = codec_begin(&codec_zstd, level);
	b->columns = codec_begin(columns, level);
	b->meta.totals = b->totals;
	return b;
}

void chunk_writer_free(struct chunk_writer *b)
{
	if (!b)
		return;
	codec_end(&b->zstd);
	codec_end(&b->columns);
	for (size_t i = 0; i < ARRAY_SIZE(b->raw); i++)
		buf_fini(&b->raw[i]);
	buf_fini(&b->typeset);
	buf_fini(&b->scratch);
	mem_free(b);
}

void chunk_writer_begin_series(struct chunk_writer *b)
{
	b->refused = 0;
}

bool chunk_writer_is_stripe_full(const struct chunk_writer *b)
{
	const struct chunk_codec *c = &b->columns;

	return c->codec && c->codec->encoder_is_full(c->encoder);
}

int chunk_writer_end_stripe(struct chunk_writer *b, struct buf *out,
			    struct err *err)
{
	const struct chunk_codec *c = &b->columns;

	return c->codec ? c->codec->encoder_finish(c->encoder, out, err) : 0;
}

bool chunk_writer_is_full(const struct chunk_writer *b, uint32_t raw_len,
			  struct bytes typeset)
{
	return b->meta.count && (b->meta.count == CHUNK_PROFILES_MAX ||
				 b->raw_bytes + raw_len > CHUNK_BYTES_MAX ||
				 !bytes_eq(buf_bytes(&b->typeset), typeset));
}

void chunk_writer_add(struct chunk_writer *b, const struct chunk_profile *p,
		      struct bytes typeset, const int64_t *totals,
		      struct buf *raw)
{
	struct chunk_meta *h = &b->meta;
	uint16_t i = h->count++;
	struct buf empty = b->raw[i];

	/* Buffers are exchanged, not copied: profiles can be large. */
	b->raw[i] = *raw;
	*raw = empty;
	b->raw_bytes += p->raw_len;
	h->total_count = (uint16_t)typeset_count(typeset);
	h->profiles[i] = *p;
	for (size_t t = 0; t < h->total_count; t++)
		h->totals[t * CHUNK_PROFILES_MAX + i] = totals[t];
	if (i)
		return;
	buf_reset(&b->typeset);
	buf_add(&b->typeset, typeset.ptr, typeset.len);
}

/*
 * Decode the bytes that are about to be stored, and compare every hash: a bug
 * in a codec must never destroy a profile.
 */
static int chunk_writer_verify(struct chunk_writer *b,
			       const struct chunk_codec *c,
			       const struct chunk_meta *h, struct bytes stored,
			       struct err *err)
{
	uint32_t lens[CHUNK_PROFILES_MAX];
	struct codec_group group = { .stored = stored,
				     .lens = lens,
				     .count = h->count };
	size_t at = 0;
	int rc;

	if (c->codec->encoder_table)
		group.table = c->codec->encoder_table(c->encoder);
	for (size_t i = 0; i < h->count; i++)
		lens[i] = h->profiles[i].raw_len;
	buf_reset(&b->scratch);
	rc = c->codec->decode(c->decoder, &group, 0, h->count, &b->scratch,
			      err);
	for (size_t i = 0; i < h->count && !rc; at += lens[i++]) {
		struct bytes value = { .ptr = b->scratch.ptr + at,
				       .len = lens[i] };
		char time[40];

		if (hash_bytes(value) == h->profiles[i].hash)
			continue;
		time_format(h->profiles[i].ms, time);
		rc = err_set(
			err, ERR_CORRUPT,
			"codec %s did not restore the profile at %s byte for byte (a bug, or faulty memory of this machine)",
			c->codec->name, time);
	}
	return rc;
}

/*
 * Verify the bytes that a codec appended to `out` (those from offset `at` on),
 * and set codec, length and CRC in *h. On failure the bytes are removed again.
 */
static int accept_group(struct chunk_writer *b, const struct chunk_codec *c,
			struct chunk_meta *h, struct buf *out, size_t at,
			struct err *err)
{
	struct bytes stored = { .ptr = out->ptr + at, .len = out->len - at };
	int rc = chunk_writer_verify(b, c, h, stored, err);

	if (rc) {
		out->len = at;
		return rc;
	}
	h->codec = c->codec->id;
	h->place.table = (struct chunk_table){ 0 };
	h->place.len = (uint32_t)stored.len;
	h->place.crc = crc32c_extend(0, stored);
	return 0;
}

/*
 * Compress the chunk with one codec and append the stored bytes to `out`. If
 * the codec refuses, `out` is unchanged.
 */
static int chunk_writer_store_as(struct chunk_writer *b,
				 const struct chunk_codec *c, struct buf *out,
				 struct err *err)
{
	struct bytes values[CHUNK_PROFILES_MAX];
	struct chunk_meta *h = &b->meta;
	size_t at = out->len;
	int rc;

	for (size_t i = 0; i < h->count; i++)
		values[i] = buf_bytes(&b->raw[i]);
	rc = c->codec->encode(c->encoder, values, h->count, out, err);
	return rc ? rc : accept_group(b, c, h, out, at, err);
}

int chunk_writer_adopt(struct chunk_writer *b, struct chunk_meta *h,
		       const struct codec_table *table, struct bytes stored,
		       struct buf *out, struct err *err)
{
	const struct chunk_codec *c = &b->columns;
	uint32_t lens[CHUNK_PROFILES_MAX];
	struct codec_group group = { .table = table,
				     .stored = stored,
				     .lens = lens,
				     .count = h->count };
	size_t at = out->len;
	int rc;

	if (!c->codec || c->codec->id != h->codec || !c->codec->adopt)
		return err_set(
			err, ERR_UNSUPPORTED,
			"no codec can copy the chunk without encoding it again");
	for (size_t i = 0; i < h->count; i++)
		lens[i] = h->profiles[i].raw_len;
	rc = c->codec->adopt(c->encoder, &group, out, err);
	return rc ? rc : accept_group(b, c, h, out, at, err);
}

/* Whether to try the columns codec for the current chunk. */
static bool suits_columns(const struct chunk_writer *b)
{
	return b->columns.codec && b->refused < REFUSALS_MAX &&
	       b->raw_bytes <= COLUMNS_BYTES_MAX;
}

int chunk_writer_store(struct chunk_writer *b, struct buf *out, struct err *err)
{
	if (suits_columns(b)) {
		if (!chunk_writer_store_as(b, &b->columns, out, err))
			return 0;
		/*
		 * After any failure of the columns codec, or if its chunk did
		 * not decode to the same profiles, zstd is used, which accepts
		 * all bytes.
		 */
		b->refused++;
	}
	return chunk_writer_store_as(b, &b->zstd, out, err);
}

/* Empty a buffer, and free it if a very large profile grew it. */
static void chunk_writer_trim(struct buf *b)
{
	if (b->cap > BUFFER_KEEP)
		buf_fini(b);
	else
		buf_reset(b);
}

void chunk_writer_reset(struct chunk_writer *b)
{
	for (size_t i = 0; i < b->meta.count; i++)
		chunk_writer_trim(&b->raw[i]);
	chunk_writer_trim(&b->scratch);
	b->meta.count = 0;
	b->raw_bytes = 0;
}
