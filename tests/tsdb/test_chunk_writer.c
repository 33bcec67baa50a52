/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunk writer: when a chunk is full, and which codec gets it. What a codec
 * wrote is always checked before it is believed.
 */
#include "tsdb/chunk/chunk_writer.h"

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tsdb/sample.h"
#include "tsdb/chunk/codec_zstd.h"

TestSuite(chunk_writer, .timeout = 60);

/* Settings of this test's codec, which stores profiles as they are. */
static struct {
	int rc;     /* of encode() and adopt() */
	bool spoil; /* what is stored is another profile */
	int asked;
} plain;

static struct codec_encoder *plain_encoder_new(int level)
{
	(void)level;
	return mem_zalloc(1, 8);
}

static void plain_encoder_free(struct codec_encoder *e)
{
	mem_free(e);
}

static int plain_encode(struct codec_encoder *e, const struct bytes *values,
			size_t count, struct buf *out, struct err *err)
{
	size_t at = out->len;

	(void)e;
	plain.asked++;
	if (plain.rc)
		return err_set(err, plain.rc, "refused");
	for (size_t i = 0; i < count; i++)
		buf_add(out, values[i].ptr, values[i].len);
	if (plain.spoil)
		out->ptr[at] ^= 1;
	return 0;
}

static int plain_adopt(struct codec_encoder *e, const struct codec_group *group,
		       struct buf *out, struct err *err)
{
	return plain_encode(e, &group->stored, 1, out, err);
}

static bool plain_is_full(const struct codec_encoder *e)
{
	(void)e;
	return true;
}

static int plain_finish(struct codec_encoder *e, struct buf *out,
			struct err *err)
{
	(void)e;
	(void)err;
	buf_str(out, "table");
	return 0;
}

static struct codec_decoder *plain_decoder_new(void)
{
	return NULL;
}

static void plain_decoder_free(struct codec_decoder *d)
{
	cr_expect(!d);
}

static int plain_decode(struct codec_decoder *d,
			const struct codec_group *group, size_t first, size_t n,
			struct buf *out, struct err *err)
{
	(void)d;
	(void)err;
	cr_assert(first == 0);
	cr_expect(n == group->count);
	buf_add(out, group->stored.ptr, group->stored.len);
	return 0;
}

static const struct codec codec_plain = {
	.id = CODEC_COLUMNS,
	.name = "plain",
	.encoder_new = plain_encoder_new,
	.encoder_free = plain_encoder_free,
	.encode = plain_encode,
	.adopt = plain_adopt,
	.encoder_is_full = plain_is_full,
	.encoder_finish = plain_finish,
	.decoder_new = plain_decoder_new,
	.decoder_free = plain_decoder_free,
	.decode = plain_decode,
};

/* Add a profile of len bytes. */
static void add_profile(struct chunk_writer *b, int64_t ms, size_t len)
{
	struct chunk_profile p = { .ms = ms, .raw_len = (uint32_t)len };
	struct buf raw = { 0 };
	int64_t total = ms * 2;

	for (size_t i = 0; i < len; i++)
		buf_byte(&raw, (uint8_t)((size_t)ms + i));
	p.hash = hash_bytes(buf_bytes(&raw));
	chunk_writer_add(b, &p, sample_types(0), &total, &raw);
	cr_expect(raw.len == 0, "the bytes were taken");
	buf_fini(&raw);
}

Test(chunk_writer, a_chunk_is_full_at_its_limits)
{
	struct chunk_writer *b = chunk_writer_new(NULL, 1);
	struct bytes types = sample_types(0);

	cr_expect(!chunk_writer_is_full(b, UINT32_MAX, sample_types(1)),
		  "never an empty one");
	add_profile(b, 1, 100);
	cr_expect(!chunk_writer_is_full(b, 100, types));
	cr_expect(chunk_writer_is_full(b, 100, sample_types(1)),
		  "another type set");
	cr_expect(!chunk_writer_is_full(b, CHUNK_BYTES_MAX - 100, types));
	cr_expect(chunk_writer_is_full(b, CHUNK_BYTES_MAX - 99, types));
	for (int k = 2; k <= CHUNK_PROFILES_MAX; k++) {
		cr_expect(!chunk_writer_is_full(b, 1, types), "%d", k);
		add_profile(b, k, 1);
	}
	cr_expect(chunk_writer_is_full(b, 0, types));
	chunk_writer_reset(b);
	cr_expect(!chunk_writer_is_full(b, 0, types));
	add_profile(b, 1, CHUNK_BYTES_MAX + 5);
	cr_expect(chunk_writer_is_full(b, 0, types), "one alone may be larger");
	chunk_writer_free(b);
	chunk_writer_free(NULL);
}

Test(chunk_writer, a_chunk_is_stored_behind_what_is_there)
{
	struct chunk_writer *b = chunk_writer_new(NULL, 1);
	struct codec_decoder *d = codec_zstd.decoder_new();
	struct buf out = { 0 };
	struct buf raw = { 0 };
	uint32_t lens[] = { 10, 300, 0 };
	struct codec_group group = { .lens = lens, .count = 3 };

	for (int i = 0; i < 3; i++)
		add_profile(b, i + 7, lens[i]);
	buf_str(&out, "before");
	cr_assert(!chunk_writer_store(b, &out, NULL));
	cr_expect(!memcmp(out.ptr, "before", 6));
	group.stored = (struct bytes){ out.ptr + 6, out.len - 6 };
	cr_expect(b->meta.codec == CODEC_ZSTD);
	cr_expect(b->meta.place.len == group.stored.len);
	cr_expect(b->meta.place.crc == crc32c_extend(0, group.stored));
	cr_assert(b->meta.count == 3);
	cr_expect(b->meta.total_count == 1);
	cr_assert(b->totals[0] == 14);
	cr_expect(b->totals[2] == 18);
	cr_assert(!codec_zstd.decode(d, &group, 0, 3, &raw, NULL));
	cr_assert(raw.len == 310);
	cr_assert(raw.ptr[9] == 16);
	cr_expect(raw.ptr[10] == 8);
	cr_expect(!chunk_writer_is_stripe_full(b), "without columns");
	cr_expect(!chunk_writer_end_stripe(b, &out, NULL));
	cr_expect(out.len == 6 + group.stored.len, "no table");
	codec_zstd.decoder_free(d);
	buf_fini(&out);
	buf_fini(&raw);
	chunk_writer_free(b);
}

/*
 * What the codec for columns, which is tried first, does with a chunk, and the
 * codec that the chunk then has.
 */
static const struct {
	const char *name;
	int rc;
	bool spoil;
	uint8_t codec;
} tries[] = {
	{ "taken", 0, false, CODEC_COLUMNS },
	{ "declined", ERR_UNSUPPORTED, false, CODEC_ZSTD },
	{ "failed", ERR_CORRUPT, false, CODEC_ZSTD },
	{ "changed a profile", 0, true, CODEC_ZSTD },
};

Test(chunk_writer, what_columns_do_not_keep_goes_to_zstd)
{
	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct chunk_writer *b = chunk_writer_new(&codec_plain, 1);
		struct buf out = { 0 };

		plain.rc = tries[i].rc;
		plain.spoil = tries[i].spoil;
		add_profile(b, 1, 50);
		cr_expect(!chunk_writer_store(b, &out, NULL));
		cr_expect(b->meta.codec == tries[i].codec, "%s", tries[i].name);
		cr_assert(b->meta.place.len == out.len,
			  "%s: nothing else is left", tries[i].name);
		cr_expect(b->meta.place.crc ==
				  crc32c_extend(0, buf_bytes(&out)),
			  "%s: nothing else is left", tries[i].name);
		cr_expect(chunk_writer_is_stripe_full(b));
		buf_reset(&out);
		cr_expect(!chunk_writer_end_stripe(b, &out, NULL));
		cr_expect(check_str(str_from(buf_bytes(&out)), "table"));
		buf_fini(&out);
		chunk_writer_free(b);
	}
}

Test(chunk_writer, columns_are_not_tried_for_ever)
{
	struct chunk_writer *b = chunk_writer_new(&codec_plain, 1);
	struct buf out = { 0 };

	plain.rc = ERR_UNSUPPORTED;
	plain.spoil = false;
	plain.asked = 0;
	for (int n = 0; n < 6; n++) {
		add_profile(b, 1, 50);
		cr_expect(!chunk_writer_store(b, &out, NULL));
		chunk_writer_reset(b);
	}
	cr_expect(plain.asked == 3, "%d", plain.asked);
	plain.rc = 0;
	chunk_writer_begin_series(b);
	add_profile(b, 1, 50);
	cr_expect(!chunk_writer_store(b, &out, NULL));
	cr_expect(b->meta.codec == CODEC_COLUMNS, "another series");
	buf_fini(&out);
	chunk_writer_free(b);
}

Test(chunk_writer, a_stored_chunk_is_adopted_if_it_can_be)
{
	struct chunk_writer *b = chunk_writer_new(&codec_plain, 1);
	struct chunk_writer *without = chunk_writer_new(NULL, 1);
	struct bytes stored = bytes_of(str_of("stored"));
	struct chunk_meta h = { .codec = CODEC_COLUMNS, .count = 1 };
	struct buf out = { 0 };

	plain.rc = 0;
	plain.spoil = false;
	h.profiles[0] = (struct chunk_profile){ .raw_len = 6,
						.hash = hash_bytes(stored) };
	h.place.table.len = 77;
	cr_expect(!chunk_writer_adopt(b, &h, NULL, stored, &out, NULL));
	cr_expect(check_str(str_from(buf_bytes(&out)), "stored"));
	cr_assert(h.place.len == 6);
	cr_assert(h.place.crc == crc32c_extend(0, stored));
	cr_expect(!h.place.table.len);
	plain.spoil = true;
	cr_expect(chunk_writer_adopt(b, &h, NULL, stored, &out, NULL) ==
		  ERR_CORRUPT);
	cr_expect(out.len == 6, "nothing is left of it");
	plain.rc = ERR_UNSUPPORTED;
	cr_expect(chunk_writer_adopt(b, &h, NULL, stored, &out, NULL) ==
		  ERR_UNSUPPORTED);
	plain.rc = 0;
	h.codec = CODEC_ZSTD;
	cr_expect(chunk_writer_adopt(b, &h, NULL, stored, &out, NULL) ==
			  ERR_UNSUPPORTED,
		  "another codec's");
	h.codec = CODEC_COLUMNS;
	cr_expect(chunk_writer_adopt(without, &h, NULL, stored, &out, NULL) ==
			  ERR_UNSUPPORTED,
		  "no columns at all");
	cr_expect(out.len == 6);
	buf_fini(&out);
	chunk_writer_free(b);
	chunk_writer_free(without);
}
