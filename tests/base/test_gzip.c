/* SPDX-License-Identifier: Apache-2.0 */
#include <libdeflate.h>
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

Test(gzip, concatenated_members_are_decompressed_as_one)
{
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };
	struct buf out = buf_init(1 << 20);

	sample(&raw, 50000);
	gzip_compress(g, 1, buf_bytes(&raw), &packed);
	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	cr_expect(!gzip_decompress(g, buf_bytes(&packed), &out, NULL));
	cr_assert(out.len == 2 * raw.len);
	cr_assert(!memcmp(out.ptr, raw.ptr, raw.len));
	cr_expect(!memcmp(out.ptr + raw.len, raw.ptr, raw.len));
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	gzip_free(g);
}

Test(gzip, truncated_data_and_trailing_bytes_are_refused)
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

/*
 * Unpacks a gzip member whose header has these flags, with their fields behind
 * the first ten bytes. Returns the code of gzip_decompress().
 */
static int unpack_with(uint8_t flags, struct bytes fields, bool with_crc)
{
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };
	struct buf whole = { 0 };
	struct buf out = buf_init(1 << 20);
	int rc;

	sample(&raw, 300);
	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	buf_add(&whole, packed.ptr, 10);
	whole.ptr[3] = flags;
	buf_add(&whole, fields.ptr, fields.len);
	if (with_crc) {
		uint32_t crc = libdeflate_crc32(0, whole.ptr, whole.len);

		buf_byte(&whole, (uint8_t)crc);
		buf_byte(&whole, (uint8_t)(crc >> 8));
	}
	buf_add(&whole, packed.ptr + 10, packed.len - 10);
	rc = gzip_decompress(g, buf_bytes(&whole), &out, NULL);
	cr_expect(rc || bytes_eq(buf_bytes(&raw), buf_bytes(&out)));
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&whole);
	buf_fini(&out);
	gzip_free(g);
	return rc;
}

Test(gzip, headers_are_accepted_and_refused_as_in_go)
{
	uint8_t name[600];
	const struct bytes none = { NULL, 0 };

	memset(name, 'x', sizeof(name));
	cr_expect(!unpack_with(0xe0, none, false), "reserved flags");
	cr_expect(!unpack_with(2, none, true), "a CRC of the header");
	cr_expect(unpack_with(2, (struct bytes){ name, 2 }, false),
		  "a wrong one");
	name[511] = 0;
	cr_expect(!unpack_with(8, (struct bytes){ name, 512 }, false));
	cr_expect(!unpack_with(16 + 2, (struct bytes){ name, 512 }, true));
	memset(name, 'x', sizeof(name));
	name[512] = 0;
	cr_expect(unpack_with(8, (struct bytes){ name, 513 }, false),
		  "a name of 513 bytes");
	memcpy(name, "\4\0abcd", 6);
	cr_expect(!unpack_with(4, (struct bytes){ name, 6 }, false), "extra");
	memcpy(name, "\xff\xff", 2);
	cr_expect(unpack_with(4, (struct bytes){ name, 2 }, false),
		  "extra beyond the end");
}

Test(gzip, decompression_bomb_stops_at_the_maximum)
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
	/* A size field with too large a value does not make the output grow. */
	memset(packed.ptr + packed.len - 4, 0xff, 4);
	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) != 0);
	cr_expect(out.cap <= 1000);
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	gzip_free(g);
}

/* Bytes that gzip cannot compress, so that a member has its greatest length. */
static void noise(struct buf *b, size_t n)
{
	unsigned x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		buf_byte(b, (uint8_t)(x >> 16));
	}
}

Test(gzip, a_member_needs_the_room_that_it_has_and_no_more)
{
	static const struct {
		const char *what;
		void (*fill)(struct buf *b, size_t n);
		size_t len;
	} cases[] = {
		{ "few bytes", sample, 100 },
		{ "many bytes", sample, 3 << 20 },
		{ "noise", noise, 200000 },
	};
	struct gzip *g = gzip_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf raw = { 0 };
		struct buf packed = { 0 };
		struct buf tight;
		struct buf small;

		cases[i].fill(&raw, cases[i].len);
		gzip_compress(g, 1, buf_bytes(&raw), &packed);
		/* libdeflate wants some bytes more than the member has. */
		tight = buf_init(packed.len + 32);
		gzip_compress(g, 1, buf_bytes(&raw), &tight);
		cr_assert(!tight.over, "%s", cases[i].what);
		cr_expect(bytes_eq(buf_bytes(&tight), buf_bytes(&packed)), "%s",
			  cases[i].what);
		small = buf_init(packed.len);
		buf_byte(&small, 'a');
		gzip_compress(g, 1, buf_bytes(&raw), &small);
		cr_assert(small.over, "%s", cases[i].what);
		cr_expect(small.len == 1, "%s", cases[i].what);
		buf_fini(&raw);
		buf_fini(&packed);
		buf_fini(&tight);
		buf_fini(&small);
	}
	gzip_free(g);
}

Test(gzip, a_member_may_have_a_note)
{
	static const size_t sizes[] = { 0, 1, 300, GZIP_NOTE_MAX,
					GZIP_NOTE_MAX + 1 };
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };

	sample(&raw, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct buf note = { 0 };
		struct buf packed = { 0 };
		struct buf out = buf_init(1 << 20);
		struct bytes got;

		noise(&note, sizes[i]);
		buf_str(&packed, "before");
		gzip_compress_noted(g, 6, buf_bytes(&raw), buf_bytes(&note),
				    &packed);
		struct bytes member = { packed.ptr + 6, packed.len - 6 };

		cr_assert(!gzip_decompress(g, member, &out, NULL));
		cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&raw)));
		got = gzip_note(member);
		if (sizes[i] > GZIP_NOTE_MAX)
			cr_expect(!got.len);
		else
			cr_expect(bytes_eq(got, buf_bytes(&note)), "%zu",
				  sizes[i]);
		/* A note is never read beyond what there is of its member. */
		for (size_t n = 0; n < member.len && n < 400; n++) {
			struct buf cut = { 0 };

			buf_add(&cut, member.ptr, n);
			got = gzip_note(buf_bytes(&cut));
			cr_expect(got.len == 0 || n >= 16 + note.len);
			buf_fini(&cut);
		}
		buf_fini(&note);
		buf_fini(&packed);
		buf_fini(&out);
	}
	buf_fini(&raw);
	gzip_free(g);
}
