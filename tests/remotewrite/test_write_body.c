/* SPDX-License-Identifier: Apache-2.0 */
/* The compression of the bodies of remote write. */
#include "remotewrite/wire/write_body.h"

#include "base/snappy.h"
#include "tests/check.h"

TestSuite(write_body, .timeout = 30);

Test(write_body, headers_decide_the_compression)
{
	static const struct {
		const char *type;
		const char *encoding;
		int rc;
		enum write_compression want;
	} cases[] = {
		{ "application/x-protobuf", "snappy", 0, WRITE_SNAPPY },
		{ "application/x-protobuf", "zstd", 0, WRITE_ZSTD },
		{ "Application/X-Protobuf ; charset=x", "ZSTD", 0, WRITE_ZSTD },
		{ "", "snappy", 0, WRITE_SNAPPY },
		{ "application/x-protobuf", "", ERR_MEDIA, 0 },
		{ "application/x-protobuf", "gzip", ERR_MEDIA, 0 },
		{ "application/x-protobuf", "snappy, zstd", ERR_MEDIA, 0 },
		{ "application/json", "zstd", ERR_MEDIA, 0 },
		{ "application/x-protobuf; charset=utf-8; "
		  "proto=io.prometheus.write.v2.Request",
		  "snappy", ERR_MEDIA, 0 },
		{ "application/x-protobuf;proto=prometheus.WriteRequest",
		  "snappy", ERR_MEDIA, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum write_compression got = WRITE_SNAPPY;
		int rc = write_body_compression(cases[i].type,
						cases[i].encoding, &got, NULL);

		cr_expect(rc == cases[i].rc, "case %zu", i);
		cr_expect(rc || got == cases[i].want, "case %zu", i);
	}
}

/* Compress, then read the size and decompress; also every truncation. */
static void round_trip(enum write_compression c, struct bytes in)
{
	struct zstd *z = zstd_new();
	struct buf body = { 0 };
	struct buf out = { 0 };
	size_t size = 1;

	if (c == WRITE_SNAPPY)
		snappy_add_block(in, &body);
	else
		zstd_compress(z, 1, &in, 1, &body);
	cr_assert(!write_body_size(c, buf_bytes(&body), in.len, &size, NULL));
	cr_expect(size == in.len);
	cr_assert(!write_body_decode(c, z, buf_bytes(&body), size, &out, NULL));
	cr_assert(out.len == in.len);
	cr_expect(!memcmp(out.ptr ?: in.ptr, in.ptr, in.len));
	if (in.len)
		cr_expect(write_body_size(c, buf_bytes(&body), in.len - 1,
					  &size, NULL) == ERR_TOOBIG);
	for (size_t n = 0; n < body.len; n++) {
		struct bytes cut = { .ptr = body.ptr, .len = n };
		int rc = write_body_size(c, cut, in.len, &size, NULL);

		if (!rc)
			rc = write_body_decode(c, z, cut, size, &out, NULL);
		cr_expect(rc == ERR_INVALID, "%d at %zu", rc, n);
	}
	buf_fini(&body);
	buf_fini(&out);
	zstd_free(z);
}

Test(write_body, bodies_are_decompressed_and_truncated_ones_refused)
{
	char text[3000];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * i >> 3);
	for (size_t len = 0; len <= sizeof(text); len += 1000) {
		struct bytes in = { .ptr = (uint8_t *)text, .len = len };

		round_trip(WRITE_SNAPPY, in);
		round_trip(WRITE_ZSTD, in);
	}
}

Test(write_body, bodies_that_lie_about_their_size_are_refused)
{
	/* A block of 3 literals that declares 2, then one that declares 4. */
	static const uint8_t shorter[] = { 2, 2 << 2, 'a', 'b', 'c' };
	static const uint8_t longer[] = { 4, 2 << 2, 'a', 'b', 'c' };
	struct zstd *z = zstd_new();
	struct buf frames = { 0 };
	struct buf out = { 0 };
	size_t size;

	cr_expect(write_body_decode(WRITE_SNAPPY, z,
				    (struct bytes){ shorter, 5 }, 2, &out,
				    NULL) == ERR_INVALID);
	cr_expect(write_body_decode(WRITE_SNAPPY, z,
				    (struct bytes){ longer, 5 }, 4, &out,
				    NULL) == ERR_INVALID);
	/* Two frames; the first one is empty. */
	zstd_compress(z, 1, &(struct bytes){ 0 }, 1, &frames);
	zstd_compress(z, 1, &(struct bytes){ longer, 5 }, 1, &frames);
	cr_expect(write_body_size(WRITE_ZSTD, buf_bytes(&frames), 100, &size,
				  NULL) == ERR_INVALID);
	cr_expect(write_body_size(WRITE_ZSTD, (struct bytes){ longer, 5 }, 100,
				  &size, NULL) == ERR_INVALID);
	buf_fini(&frames);
	buf_fini(&out);
	zstd_free(z);
}

/* The digest is that of RFC 9530, appendix D. */
Test(write_body, a_body_that_was_changed_on_the_way_is_noticed)
{
	static const char good[] =
		"sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
	static const struct {
		const char *header;
		int rc;
	} cases[] = {
		{ "", 0 },
		{ good, 0 },
		{ "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm==:",
		  0 },
		{ "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
		  ERR_AGAIN },
		{ "unknown=:AA==:, sha-256=:AA==:", ERR_AGAIN },
		{ "sha-256=", ERR_AGAIN },
	};
	struct bytes body = bytes_of(str_of("{\"hello\": \"world\"}\n"));
	struct buf got = { 0 };

	write_body_digest(body, &got);
	cr_expect(check_str(str_from(buf_bytes(&got)), good), "%s",
		  buf_cstr(&got));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(write_body_check_digest(cases[i].header, body,
						  NULL) == cases[i].rc,
			  "%s", cases[i].header);
	buf_fini(&got);
}
