/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed bodies: how large they say to be, and what becomes of lies. */
#include "base/compressed_body.h"

#include "base/gzip.h"
#include "base/units.h"
#include "tests/check.h"

#define MAX ((size_t)1 << 20)

/* A body, and what came out of it. */
struct opened {
	struct zstd *zstd;
	struct buf body;
	struct buf out;
	struct bytes message;
	size_t size;
	struct err err;
};

static int opened_run(struct opened *o, enum compression c)
{
	int rc;

	o->err = (struct err){ .msg = "" };
	buf_fini(&o->out);
	rc = compressed_body_size(c, buf_bytes(&o->body), MAX, &o->size,
				  &o->err);
	o->out = buf_init(o->size ? o->size : 1);
	return rc ? rc :
		    compressed_body_decode(c, o->zstd, buf_bytes(&o->body),
					   &o->out, &o->message, &o->err);
}

static void opened_begin(struct opened *o)
{
	*o = (struct opened){ .zstd = zstd_new() };
}

static void opened_end(struct opened *o)
{
	zstd_free(o->zstd);
	buf_fini(&o->body);
	buf_fini(&o->out);
}

/* Make n zeros, compressed by gzip, the body. */
static void put_gzip(struct opened *o, size_t n)
{
	struct gzip *gzip = gzip_new();
	struct buf zeros = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_byte(&zeros, 0);
	gzip_compress(gzip, 6, buf_bytes(&zeros), &o->body);
	gzip_free(gzip);
	buf_fini(&zeros);
}

/* The same by zstd. */
static void put_zstd(struct opened *o, size_t n)
{
	struct buf zeros = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_byte(&zeros, 0);
	zstd_compress(o->zstd, 3, &(struct bytes){ zeros.ptr, zeros.len }, 1,
		      &o->body);
	buf_fini(&zeros);
}

Test(compressed_body, the_header_names_the_compression)
{
	static const struct {
		const char *header;
		enum compression c;
	} cases[] = {
		{ "", COMPRESSION_NONE },     { "identity", COMPRESSION_NONE },
		{ "gzip", COMPRESSION_GZIP }, { "GZIP", COMPRESSION_GZIP },
		{ "zstd", COMPRESSION_ZSTD },
	};
	enum compression c;
	struct err err = { .msg = "" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_expect(!compressed_body_kind(cases[i].header, &c, NULL));
		cr_expect(c == cases[i].c);
	}
	cr_expect(compressed_body_kind("br", &c, &err) == ERR_MEDIA);
	cr_expect(strstr(err.msg, "\"br\""), "%s", err.msg);
}

Test(compressed_body, the_first_bytes_tell_the_compression)
{
	struct opened o;

	opened_begin(&o);
	cr_expect(compressed_body_sniff(buf_bytes(&o.body)) ==
		  COMPRESSION_NONE);
	buf_add(&o.body, "\x28\xb5\x2f", 3);
	cr_expect(compressed_body_sniff(buf_bytes(&o.body)) ==
		  COMPRESSION_NONE);
	buf_reset(&o.body);
	put_gzip(&o, 10);
	cr_expect(compressed_body_sniff(buf_bytes(&o.body)) ==
		  COMPRESSION_GZIP);
	buf_reset(&o.body);
	put_zstd(&o, 10);
	cr_expect(compressed_body_sniff(buf_bytes(&o.body)) ==
		  COMPRESSION_ZSTD);
	opened_end(&o);
}

Test(compressed_body, a_body_that_is_not_compressed_is_the_message)
{
	struct opened o;

	opened_begin(&o);
	buf_str(&o.body, "hello");
	cr_expect(!opened_run(&o, COMPRESSION_NONE));
	cr_expect(!o.size, "it takes no more memory");
	cr_expect(o.message.ptr == o.body.ptr);
	opened_end(&o);
}

Test(compressed_body, a_body_says_its_size)
{
	struct opened o;

	opened_begin(&o);
	put_gzip(&o, 5000);
	cr_expect(!opened_run(&o, COMPRESSION_GZIP), "%s", o.err.msg);
	cr_expect(o.size == 5000 && o.message.len == 5000);
	buf_reset(&o.body);
	put_zstd(&o, 6000);
	cr_expect(!opened_run(&o, COMPRESSION_ZSTD), "%s", o.err.msg);
	cr_expect(o.size == 6000 && o.message.len == 6000);
	opened_end(&o);
}

Test(compressed_body, what_is_too_large_is_refused_before_it_is_decompressed)
{
	struct opened o;

	opened_begin(&o);
	put_gzip(&o, MAX + 1);
	cr_expect(opened_run(&o, COMPRESSION_GZIP) == ERR_TOOBIG);
	cr_expect(strstr(o.err.msg, "1048577"), "%s", o.err.msg);
	cr_expect(!o.out.cap);
	buf_reset(&o.body);
	put_zstd(&o, MAX + 1);
	cr_expect(opened_run(&o, COMPRESSION_ZSTD) == ERR_TOOBIG);
	cr_expect(!o.out.cap);
	opened_end(&o);
}

/* Two frames, as encoders of streams write them, do not say their size. */
Test(compressed_body, a_body_of_unknown_size_may_be_32_times_as_large)
{
	struct opened o;

	opened_begin(&o);
	put_zstd(&o, 10);
	put_zstd(&o, 10);
	cr_expect(!opened_run(&o, COMPRESSION_ZSTD), "%s", o.err.msg);
	cr_expect(o.size == 32 * o.body.len);
	cr_expect(o.message.len == 20);
	buf_reset(&o.body);
	put_zstd(&o, 100000);
	put_zstd(&o, 100000);
	cr_expect(opened_run(&o, COMPRESSION_ZSTD) == ERR_TOOBIG);
	cr_expect(strstr(o.err.msg, "32 times"), "%s", o.err.msg);
	opened_end(&o);
}

/* A frame of a few bytes may ask its reader for a window of 128 MB. */
Test(compressed_body, the_window_of_a_decompressor_counts)
{
	static const uint8_t frame[] = { 0x28,    0xb5, 0x2f, 0xfd, 0,
					 17 << 3, 1,    0,    0 };
	static const uint8_t skipped[] = { 0x50, 0x2a, 0x4d, 0x18, 1,
					   0,    0,    0,    'x' };
	struct opened o;

	opened_begin(&o);
	buf_add(&o.body, skipped, sizeof(skipped));
	buf_add(&o.body, frame, sizeof(frame));
	cr_expect(compressed_body_memory(COMPRESSION_ZSTD, buf_bytes(&o.body),
					 5) == ((size_t)1 << 27) + 5);
	cr_expect(compressed_body_memory(COMPRESSION_GZIP, buf_bytes(&o.body),
					 5) == 5);
	buf_reset(&o.body);
	put_zstd(&o, 6000);
	cr_expect(compressed_body_memory(COMPRESSION_ZSTD, buf_bytes(&o.body),
					 5) < (size_t)1 << 23);
	opened_end(&o);
}

Test(compressed_body, damage_and_lies_are_refused)
{
	struct opened o;

	opened_begin(&o);
	buf_str(&o.body, "hello");
	cr_expect(opened_run(&o, COMPRESSION_GZIP) == ERR_INVALID);
	cr_expect(opened_run(&o, COMPRESSION_ZSTD) == ERR_INVALID);
	buf_reset(&o.body);
	/* The end of the stream is the size; here that of the second member. */
	put_gzip(&o, 5000);
	put_gzip(&o, 5);
	cr_expect(opened_run(&o, COMPRESSION_GZIP) == ERR_INVALID);
	cr_expect(strstr(o.err.msg, "one member"), "%s", o.err.msg);
	buf_reset(&o.body);
	put_zstd(&o, 5000);
	o.body.len -= 2;
	cr_expect(opened_run(&o, COMPRESSION_ZSTD) == ERR_INVALID);
	opened_end(&o);
}
