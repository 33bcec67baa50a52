/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of WAL records: each encoding gives the profile back. A body is
 * refused if it does not decode to the profile that was received.
 */
#include "tsdb/wal/body.h"

#include "base/hash.h"
#include "tests/check.h"

TestSuite(body, .timeout = 60);

#define TEXT "hello hello hello hello"

static const uint8_t zlib_text[] = { 0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9,
				     0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01,
				     0x68, 0x03, 0x08, 0xb1 };

/* Appends the text to out, in an encoding of the WAL. */
static void pack(enum body_encoding encoding, struct str text, struct buf *out)
{
	struct bytes raw = bytes_of(text);
	struct gzip *g = gzip_new();
	struct zstd *z = zstd_new();

	if (encoding == BODY_DEFLATE)
		gzip_compress(g, 6, raw, out);
	else if (encoding == BODY_ZSTD)
		zstd_compress(z, 3, &raw, 1, out);
	else
		buf_add(out, raw.ptr, raw.len);
	gzip_free(g);
	zstd_free(z);
}

static struct segment_profile profile_of(enum body_encoding encoding,
					 struct str text, struct bytes body)
{
	return (struct segment_profile){
		.entry = { .raw_len = (uint32_t)text.len,
			   .hash = hash_bytes(bytes_of(text)) },
		.encoding = encoding,
		.body = body,
	};
}

Test(body, each_encoding_gives_the_profile_back)
{
	static const char *const texts[] = { TEXT, "", "x" };
	struct body_decoder d = { 0 };
	struct buf out = { 0 };

	for (int e = BODY_PLAIN; e <= BODY_ZSTD; e++) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			struct str text = str_of(texts[i]);
			struct buf body = { 0 };
			struct segment_profile p;

			pack((enum body_encoding)e, text, &body);
			p = profile_of((enum body_encoding)e, text,
				       buf_bytes(&body));
			buf_str(&out, "what was there before");
			cr_expect(!body_decode(&d, &p, &out, NULL), "%d \"%s\"",
				  e, texts[i]);
			cr_expect(
				check_str(str_from(buf_bytes(&out)), texts[i]));
			buf_fini(&body);
		}
		body_decoder_fini(&d); /* it can be used again */
		cr_assert(!d.gzip);
		cr_expect(!d.zstd);
	}
	buf_fini(&out);
}

Test(body, zlib_is_told_from_gzip_by_its_first_bytes)
{
	struct body_decoder d = { 0 };
	struct buf out = { 0 };
	struct segment_profile p =
		profile_of(BODY_DEFLATE, str_of(TEXT),
			   (struct bytes){ zlib_text, sizeof(zlib_text) });

	cr_expect(!body_decode(&d, &p, &out, NULL));
	cr_expect(check_str(str_from(buf_bytes(&out)), TEXT));
	body_decoder_fini(&d);
	buf_fini(&out);
}

Test(body, a_body_that_is_another_is_refused)
{
	struct body_decoder d = { 0 };

	for (int e = BODY_PLAIN; e <= BODY_ZSTD; e++) {
		struct buf body = { 0 };
		struct buf out = buf_init(4096);
		struct segment_profile good;
		struct segment_profile bad;

		pack((enum body_encoding)e, str_of(TEXT), &body);
		good = profile_of((enum body_encoding)e, str_of(TEXT),
				  buf_bytes(&body));
		bad = good;
		bad.entry.hash++;
		cr_expect(body_decode(&d, &bad, &out, NULL) == ERR_CORRUPT,
			  "%d: another hash", e);
		bad = good;
		bad.entry.raw_len++;
		cr_expect(body_decode(&d, &bad, &out, NULL) == ERR_CORRUPT,
			  "%d: longer than it is", e);
		bad = good;
		bad.entry.raw_len--;
		cr_expect(body_decode(&d, &bad, &out, NULL) == ERR_CORRUPT,
			  "%d: shorter than it is", e);
		bad.entry.raw_len = 0;
		cr_expect(body_decode(&d, &bad, &out, NULL) == ERR_CORRUPT,
			  "%d: nothing", e);
		for (size_t n = 0; n < body.len; n++) {
			bad = good;
			bad.body.len = n;
			cr_expect(body_decode(&d, &bad, &out, NULL) ==
					  ERR_CORRUPT,
				  "%d: cut at %zu", e, n);
		}
		cr_expect(out.max == 4096, "the limit is the caller's");
		cr_expect(!body_decode(&d, &good, &out, NULL),
			  "%d: the decoder goes on", e);
		buf_fini(&body);
		buf_fini(&out);
	}
	body_decoder_fini(&d);
}

Test(body, a_body_cannot_expand_without_bound)
{
	struct body_decoder d = { 0 };
	struct buf zeros = { 0 };

	for (int i = 0; i < 1000000; i++)
		buf_byte(&zeros, 0);
	for (int e = BODY_DEFLATE; e <= BODY_ZSTD; e++) {
		struct buf body = { 0 };
		struct buf out = { 0 };
		struct segment_profile p;

		pack((enum body_encoding)e, str_from(buf_bytes(&zeros)), &body);
		p = profile_of((enum body_encoding)e,
			       str_from(buf_bytes(&zeros)), buf_bytes(&body));
		p.entry.raw_len = 100;
		cr_expect(body_decode(&d, &p, &out, NULL) == ERR_CORRUPT, "%d",
			  e);
		cr_expect(out.cap < 100000, "%d: %zu", e, out.cap);
		buf_fini(&body);
		buf_fini(&out);
	}
	buf_fini(&zeros);
	body_decoder_fini(&d);
}

Test(body, unknown_encodings_are_refused)
{
	struct body_decoder d = { 0 };
	struct buf out = { 0 };

	for (int e = BODY_ZSTD + 1; e < 256; e++) {
		struct segment_profile p = profile_of((enum body_encoding)e,
						      str_of(TEXT),
						      bytes_of(str_of(TEXT)));
		struct err err = { .msg = "" };
		char number[8];

		cr_expect(body_decode(&d, &p, &out, &err) == ERR_CORRUPT);
		snprintf(number, sizeof(number), " %d", e);
		cr_expect(strstr(err.msg, number) != NULL, "%s", err.msg);
	}
	body_decoder_fini(&d);
	buf_fini(&out);
}
