/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/gzip.h"
#include "tests/check.h"

TestSuite(gzip, .timeout = 30);

static void sample(struct buf *b, size_t n)
{
	unsigned x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		buf_byte(b, (uint8_t)(x >> 28));
	}
}

Test(gzip, several_members_come_back_as_one)
{
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };
	struct buf out = buf_init(1 << 20);

	sample(&raw, 50000);
	gzip_compress(g, 1, buf_bytes(&raw), &packed);
	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	cr_expect(!gzip_decompress(g, buf_bytes(&packed), &out, NULL));
	cr_expect(out.len == 2 * raw.len &&
		  !memcmp(out.ptr, raw.ptr, raw.len) &&
		  !memcmp(out.ptr + raw.len, raw.ptr, raw.len));
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	gzip_free(g);
}

Test(gzip, every_truncation_and_trailing_bytes_are_refused)
{
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };

	sample(&raw, 300);
	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	for (size_t n = 1; n < packed.len; n++) {
		struct buf out = buf_init(1 << 20);
		struct bytes cut = { packed.ptr, n };

		cr_expect(gzip_decompress(g, cut, &out, NULL) == ERR_CORRUPT,
			  "n=%zu", n);
		buf_fini(&out);
	}
	buf_byte(&packed, 0);
	struct buf out = buf_init(1 << 20);

	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) ==
		  ERR_CORRUPT);
	buf_fini(&out);
	buf_fini(&raw);
	buf_fini(&packed);
	gzip_free(g);
}

Test(gzip, a_bomb_stops_at_the_maximum)
{
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };
	struct buf out = buf_init(1000);

	buf_reserve(&raw, 10 << 20);
	memset(raw.ptr, 0, 10 << 20);
	raw.len = 10 << 20;
	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) ==
		  ERR_TOOBIG);
	cr_expect(out.cap <= 1000);
	/* A size field that lies asks for no memory. */
	memset(packed.ptr + packed.len - 4, 0xff, 4);
	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) != 0);
	cr_expect(out.cap <= 1000);
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	gzip_free(g);
}
