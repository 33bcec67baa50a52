/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed and packed bytes: zstd frames, gzip and zlib streams, Snappy
 * blocks, .xz files and tar archives, their bounds and what damage does to them.
 */
#include <archive.h>
#include <archive_entry.h>
#include <libdeflate.h>
#include <lzma.h>
#include <snappy-c.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/snappy.h"
#include "base/tar.h"
#include "base/xz.h"
#include "base/zstd.h"
#include "tests/check.h"

TestSuite(compression, .timeout = 60);

/*
 * Returns n bytes that compress to about half. They are the same in every run.
 */
static struct buf sample_of(size_t n)
{
	struct buf b = { 0 };
	unsigned x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		buf_byte(&b, (uint8_t)(x >> 28));
	}
	return b;
}

/* Compresses the bytes into one zstd frame. */
static struct buf frame_of(struct bytes raw)
{
	struct zstd *z = zstd_new();
	struct buf out = { 0 };

	zstd_compress(z, 3, &raw, 1, &out);
	zstd_free(z);
	return out;
}

Test(compression, parts_come_back_from_a_frame_as_one)
{
	struct zstd *z = zstd_new();
	struct buf raw = sample_of(100000);
	struct bytes parts[] = { { raw.ptr, 1 },
				 { NULL, 0 },
				 { raw.ptr + 1, 70000 },
				 { raw.ptr + 70001, 29999 } };
	struct buf packed = { 0 };
	struct buf out = { 0 };

	buf_str(&out, "before");
	for (int level = 1; level < 20; level += 6) {
		buf_reset(&packed);
		zstd_compress(z, level, parts, ARRAY_SIZE(parts), &packed);
		cr_assert(packed.len < raw.len);
		cr_expect(!packed.over);
		cr_expect(zstd_sniff(buf_bytes(&packed)));
		cr_expect(zstd_is_one_frame(buf_bytes(&packed)));
		out.len = 6;
		cr_expect(!zstd_decompress(z, buf_bytes(&packed), raw.len, &out,
					   NULL));
		cr_assert(out.len == 6 + raw.len);
		cr_expect(!memcmp(out.ptr, "before", 6));
		cr_expect(!memcmp(out.ptr + 6, raw.ptr, raw.len));
	}
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	zstd_free(z);
	zstd_free(NULL);
}

Test(compression, only_the_wanted_bytes_of_a_frame_are_made)
{
	struct zstd *z = zstd_new();
	struct buf raw = sample_of(50000);
	struct buf packed = frame_of(buf_bytes(&raw));
	struct buf out = buf_init(1000);
	struct err err;

	cr_expect(!zstd_decompress(z, buf_bytes(&packed), 1000, &out, &err));
	cr_assert(out.len == 1000);
	cr_expect(!memcmp(out.ptr, raw.ptr, 1000));
	cr_expect(out.cap <= 1000);
	cr_expect(zstd_decompress(z, buf_bytes(&packed), 1, &out, &err) ==
		  ERR_TOOBIG);
	cr_expect(out.len == 1000);
	buf_reset(&out);
	cr_expect(zstd_decompress(z, buf_bytes(&packed), 1001, &out, &err) ==
		  ERR_TOOBIG);
	buf_reset(&out);
	cr_expect(!zstd_decompress(z, buf_bytes(&packed), 0, &out, &err));
	cr_expect(!out.len);
	buf_fini(&out);
	out.max = 0;
	cr_expect(zstd_decompress(z, buf_bytes(&packed), 50001, &out, &err) ==
			  ERR_CORRUPT,
		  "the frame has fewer");
	buf_fini(&out);
	buf_fini(&raw);
	buf_fini(&packed);
	zstd_free(z);
}

Test(compression, a_frame_that_is_cut_is_corrupt)
{
	struct zstd *z = zstd_new();
	struct buf raw = sample_of(400);
	struct buf packed = frame_of(buf_bytes(&raw));

	for (size_t n = 0; n < packed.len; n++) {
		struct bytes cut = { packed.ptr, n };
		struct buf out = buf_init(1 << 20);

		cr_expect(zstd_decompress(z, cut, raw.len, &out, NULL) ==
				  ERR_CORRUPT,
			  "%zu bytes", n);
		cr_expect(!out.len);
		cr_expect(zstd_decompress_all(z, cut, &out, NULL) ==
				  ERR_CORRUPT,
			  "%zu bytes", n);
		cr_expect(!zstd_is_one_frame(cut), "%zu bytes", n);
		buf_fini(&out);
	}
	buf_fini(&raw);
	buf_fini(&packed);
	zstd_free(z);
}

Test(compression, a_frame_fits_exactly_or_not_at_all)
{
	static uint8_t text[300 * 1000];
	struct zstd *z = zstd_new();
	struct bytes all = { text, sizeof(text) };
	struct buf frame = { 0 };
	const size_t lens[] = { 1, 5, 100000, sizeof(text) };

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * i >> 7);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		struct buf fits = buf_init(lens[i]);
		struct buf less = buf_init(lens[i] - (lens[i] > 1));

		all.len = lens[i];
		buf_reset(&frame);
		zstd_compress(z, 1, &all, 1, &frame);
		cr_expect(
			!zstd_decompress_all(z, buf_bytes(&frame), &fits, NULL),
			"%zu bytes", lens[i]);
		cr_expect(bytes_eq(buf_bytes(&fits), all));
		if (lens[i] > 1)
			cr_expect(zstd_decompress_all(z, buf_bytes(&frame),
						      &less,
						      NULL) == ERR_TOOBIG);
		buf_fini(&fits);
		buf_fini(&less);
	}
	buf_fini(&frame);
	zstd_free(z);
}

Test(compression, frames_follow_each_other)
{
	struct zstd *z = zstd_new();
	struct buf raw = sample_of(300000);
	struct buf packed = frame_of(buf_bytes(&raw));
	struct buf empty = frame_of((struct bytes){ 0 });
	struct buf out = buf_init(1 << 20);
	size_t one = packed.len;

	buf_add(&packed, empty.ptr, empty.len);
	buf_reserve(&packed, one);
	buf_add(&packed, packed.ptr, one);
	cr_expect(!zstd_is_one_frame(buf_bytes(&packed)));
	cr_expect(zstd_is_one_frame((struct bytes){ packed.ptr, one }));
	cr_expect(zstd_decompress(z, buf_bytes(&packed), 300001, &out, NULL) ==
			  ERR_CORRUPT,
		  "the first frame alone is read");
	cr_expect(!zstd_decompress_all(z, buf_bytes(&packed), &out, NULL));
	cr_assert(out.len == 600000);
	cr_assert(!memcmp(out.ptr, raw.ptr, 300000));
	cr_expect(!memcmp(out.ptr + 300000, raw.ptr, 300000));
	/* The frames before the damage are decompressed. */
	buf_byte(&packed, 'x');
	buf_reset(&out);
	cr_expect(zstd_decompress_all(z, buf_bytes(&packed), &out, NULL) ==
		  ERR_CORRUPT);
	cr_expect(out.len == 600000);
	buf_fini(&out);
	out = buf_init(400000);
	cr_expect(zstd_decompress_all(z, buf_bytes(&packed), &out, NULL) ==
		  ERR_TOOBIG);
	cr_expect(out.cap <= 400000);
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&empty);
	buf_fini(&out);
	zstd_free(z);
}

Test(compression, a_frame_may_refer_to_a_similar_text)
{
	struct zstd *z = zstd_new();
	struct buf prefix = sample_of(200000);
	struct buf part = sample_of(200000);
	struct buf alone = { 0 };
	struct buf packed = { 0 };
	struct buf out = { 0 };
	struct bytes bytes = buf_bytes(&part);

	part.ptr[1000] ^= 0xff;
	zstd_compress(z, 3, &bytes, 1, &alone);
	zstd_compress_after(z, 3, buf_bytes(&prefix), bytes, &packed);
	cr_expect(packed.len < alone.len / 10, "%zu", packed.len);
	cr_expect(!zstd_decompress_after(z, buf_bytes(&prefix),
					 buf_bytes(&packed), part.len, &out,
					 NULL));
	cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&part)));
	buf_reset(&out);
	cr_expect(zstd_decompress(z, buf_bytes(&packed), part.len, &out,
				  NULL) == ERR_CORRUPT,
		  "not without the prefix");
	/* The context does not remember the prefix. */
	buf_reset(&out);
	cr_expect(!zstd_decompress(z, buf_bytes(&alone), part.len, &out, NULL));
	cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&part)));
	buf_fini(&prefix);
	buf_fini(&part);
	buf_fini(&alone);
	buf_fini(&packed);
	buf_fini(&out);
	zstd_free(z);
}

Test(compression, a_frame_does_not_depend_on_those_before_it)
{
	struct zstd *z = zstd_new();
	struct buf raw = sample_of(100000);
	struct bytes part = buf_bytes(&raw);
	struct bytes little = { raw.ptr, 100 };
	struct buf first = { 0 };
	struct buf other = { 0 };
	struct buf again = { 0 };

	zstd_compress(z, 3, &part, 1, &first);
	zstd_compress(z, 19, &part, 1, &other);
	/*
	 * A frame of 100 bytes has a small window, which the next frame must
	 * not inherit.
	 */
	zstd_compress_after(z, 1, little, little, &other);
	zstd_compress(z, 3, &part, 1, &again);
	cr_expect(bytes_eq(buf_bytes(&first), buf_bytes(&again)));
	buf_fini(&raw);
	buf_fini(&first);
	buf_fini(&other);
	buf_fini(&again);
	zstd_free(z);
}

Test(compression, nothing_is_appended_when_it_may_not_fit)
{
	struct zstd *z = zstd_new();
	struct gzip *g = gzip_new();
	struct buf raw = sample_of(5000);
	struct bytes part = buf_bytes(&raw);
	struct buf out = buf_init(100);

	buf_str(&out, "kept");
	zstd_compress(z, 3, &part, 1, &out);
	cr_assert(out.over);
	cr_expect(check_str(str_from(buf_bytes(&out)), "kept"));
	out.over = false;
	zstd_compress_after(z, 3, part, part, &out);
	cr_assert(out.over);
	cr_expect(check_str(str_from(buf_bytes(&out)), "kept"));
	out.over = false;
	gzip_compress(g, 6, part, &out);
	cr_assert(out.over);
	cr_expect(check_str(str_from(buf_bytes(&out)), "kept"));
	buf_fini(&raw);
	buf_fini(&out);
	zstd_free(z);
	gzip_free(g);
	gzip_free(NULL);
}

Test(compression, streams_are_recognised_by_their_first_bytes)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum gzip_kind kind;
	} cases[] = {
		{ "\x1f\x8b", 2, GZIP_GZIP },
		{ "\x1f", 1, GZIP_NONE },
		{ "", 0, GZIP_NONE },
		{ "\x1f\x8c", 2, GZIP_NONE },
		{ "\x78\x01", 2, GZIP_ZLIB },
		{ "\x78\x9c", 2, GZIP_ZLIB },
		{ "\x78\xda", 2, GZIP_ZLIB },
		{ "\x08\x1d", 2, GZIP_ZLIB }, /* a window of 256 bytes */
		{ "\x78\x9d", 2, GZIP_NONE }, /* no multiple of 31 */
		{ "\x88\x1c", 2, GZIP_NONE }, /* a window of 64 KiB */
		{ "\x79\x9b", 2, GZIP_NONE }, /* not deflate */
		{ "\x78", 1, GZIP_NONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(gzip_sniff(bytes_of((struct str){ cases[i].bytes,
							    cases[i].n })) ==
				  cases[i].kind,
			  "case %zu", i);
	cr_expect(zstd_sniff(bytes_of(str_of("\x28\xb5\x2f\xfd ..."))));
	cr_expect(!zstd_sniff(bytes_of(str_of("\x28\xb5\x2f\xfc ..."))));
	cr_expect(zstd_sniff(bytes_of(str_of("\x28\xb5\x2f\xfd"))));
	cr_expect(!zstd_sniff(bytes_of(str_of("\x28\xb5\x2f"))));
}

/* Compresses the bytes into a zlib stream. */
static struct buf zlib_of(struct bytes raw)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	struct buf out = { 0 };

	buf_reserve(&out, libdeflate_zlib_compress_bound(c, raw.len));
	out.len =
		libdeflate_zlib_compress(c, raw.ptr, raw.len, out.ptr, out.cap);
	libdeflate_free_compressor(c);
	return out;
}

Test(compression, a_zlib_stream_stands_alone)
{
	struct gzip *g = gzip_new();
	struct buf raw = sample_of(3000);
	struct buf packed = zlib_of(buf_bytes(&raw));
	struct buf out = buf_init(1 << 20);

	cr_expect(!gzip_decompress(g, buf_bytes(&packed), &out, NULL));
	cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&raw)));
	for (size_t n = 0; n < packed.len; n += 7) {
		buf_reset(&out);
		cr_expect(gzip_decompress(g, (struct bytes){ packed.ptr, n },
					  &out, NULL) == ERR_CORRUPT,
			  "%zu bytes", n);
	}
	packed.ptr[packed.len - 1] ^= 1;
	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) ==
			  ERR_CORRUPT,
		  "its checksum");
	packed.ptr[packed.len - 1] ^= 1;
	buf_reserve(&packed, packed.len);
	buf_add(&packed, packed.ptr, packed.len);
	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) ==
			  ERR_CORRUPT,
		  "two of them");
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	gzip_free(g);
}

Test(compression, gzip_stops_exactly_at_the_maximum)
{
	static const size_t sizes[] = { 0, 1, 100, 4000, 100000 };
	static const int levels[] = { 1, 6, 12 };
	struct gzip *g = gzip_new();

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct buf raw = sample_of(sizes[i]);

		for (size_t k = 0; k < ARRAY_SIZE(levels); k++) {
			struct buf packed = { 0 };
			struct buf fits = buf_init(sizes[i] + 1);
			struct buf tight = buf_init(sizes[i]);
			struct buf small = buf_init(sizes[i] - 1);

			gzip_compress(g, levels[k], buf_bytes(&raw), &packed);
			cr_expect(!gzip_decompress(g, buf_bytes(&packed), &fits,
						   NULL));
			cr_expect(bytes_eq(buf_bytes(&fits), buf_bytes(&raw)));
			cr_expect(!gzip_decompress(g, buf_bytes(&packed),
						   &tight, NULL));
			cr_expect(bytes_eq(buf_bytes(&tight), buf_bytes(&raw)));
			cr_expect(sizes[i] < 2 ||
				  gzip_decompress(g, buf_bytes(&packed), &small,
						  NULL) == ERR_TOOBIG);
			buf_fini(&packed);
			buf_fini(&fits);
			buf_fini(&tight);
			buf_fini(&small);
		}
		buf_fini(&raw);
	}
	gzip_free(g);
}

Test(compression, every_flipped_byte_of_a_trailer_is_noticed)
{
	struct gzip *g = gzip_new();
	struct buf raw = sample_of(3000);
	struct buf packed = { 0 };
	struct buf out = buf_init(1 << 20);

	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	for (size_t i = packed.len - 8; i < packed.len; i++) {
		packed.ptr[i] ^= 0x10;
		buf_reset(&out);
		cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) ==
				  ERR_CORRUPT,
			  "byte %zu", i);
		packed.ptr[i] ^= 0x10;
	}
	packed.ptr[2] = 7;
	cr_expect(gzip_decompress(g, buf_bytes(&packed), &out, NULL) ==
			  ERR_CORRUPT,
		  "a method that does not exist");
	cr_expect(gzip_decompress(g, (struct bytes){ 0 }, &out, NULL) ==
		  ERR_CORRUPT);
	cr_expect(gzip_decompress(g, bytes_of(str_of("plain")), &out, NULL) ==
		  ERR_CORRUPT);
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&out);
	gzip_free(g);
}

Test(compression, a_snappy_block_replaces_what_was_there)
{
	struct buf raw = sample_of(5000);
	size_t n = snappy_max_compressed_length(raw.len);
	char *packed = mem_alloc(n);
	struct buf out = buf_init(raw.len);
	struct buf small = buf_init(raw.len - 1);
	struct bytes block;

	cr_assert(snappy_compress(str_from(buf_bytes(&raw)).ptr, raw.len,
				  packed, &n) == SNAPPY_OK);
	block = bytes_of((struct str){ packed, n });
	buf_str(&out, "old");
	cr_expect(!snappy_decompress(block, &out, NULL));
	cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&raw)));
	cr_expect(snappy_decompress(block, &small, NULL) == ERR_TOOBIG);
	cr_expect(!small.cap, "nothing was allocated");
	for (size_t cut = 0; cut < n; cut += 11) {
		block.len = cut;
		cr_expect(snappy_decompress(block, &out, NULL) == ERR_CORRUPT,
			  "%zu bytes", cut);
	}
	mem_free(packed);
	buf_fini(&raw);
	buf_fini(&out);
	buf_fini(&small);
}

Test(compression, the_size_that_a_snappy_block_claims_is_not_believed)
{
	static const struct {
		const char *bytes;
		size_t n;
		int rc;
	} cases[] = {
		{ "\x00", 1, 0 },
		{ "\x03\x08"
		  "abc",
		  5, 0 },
		{ "\x04\x08"
		  "abc",
		  5, ERR_CORRUPT },
		{ "\x02\x08"
		  "abc",
		  5, ERR_CORRUPT },
		{ "\xff\xff\xff\xff\x0f\x08"
		  "abc",
		  9, ERR_TOOBIG },
		{ "\xff\xff\xff\xff\xff\xff", 6, ERR_CORRUPT },
		{ "\x03\x01\x01", 3, ERR_CORRUPT }, /* a copy of nothing */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = buf_init(100);
		struct bytes in =
			bytes_of((struct str){ cases[i].bytes, cases[i].n });

		cr_expect(snappy_decompress(in, &out, NULL) == cases[i].rc,
			  "case %zu", i);
		cr_expect(cases[i].rc == 0 || cases[i].rc == ERR_TOOBIG ||
				  !out.len,
			  "case %zu", i);
		buf_fini(&out);
	}
}

/* Returns a name of more than 100 bytes, which needs a pax header in a tar. */
static const char *long_name(void)
{
	static char name[151];

	memset(name, 'n', 150);
	name[75] = '/';
	return name;
}

Test(compression, a_tar_is_read_by_others)
{
	static const struct {
		int64_t ms;
		const char *content;
	} files[] = { { 0, "" }, { 1999, "one" }, { 1700000000123, "two" } };
	const char *names[] = { "a/b.pb.gz", "b c%20", long_name() };
	struct buf out = { 0 };
	struct tar *t = tar_new(&out);
	struct archive *a = archive_read_new();
	struct archive_entry *e;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		cr_expect(!tar_add(t, names[i], files[i].ms,
				   bytes_of(str_of(files[i].content)), NULL));
	cr_expect(!tar_end(t, NULL));
	tar_free(t);
	cr_expect(out.len % 512 == 0);
	archive_read_support_format_tar(a);
	cr_assert(!archive_read_open_memory(a, out.ptr, out.len));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char got[16] = { 0 };

		cr_assert(archive_read_next_header(a, &e) == ARCHIVE_OK);
		cr_expect(!strcmp(archive_entry_pathname(e), names[i]));
		cr_expect(archive_entry_mtime(e) == files[i].ms / 1000);
		cr_expect(archive_entry_mode(e) == (S_IFREG | 0644));
		cr_expect(archive_read_data(a, got, sizeof(got)) ==
			  (la_ssize_t)strlen(files[i].content));
		cr_expect(!strcmp(got, files[i].content));
	}
	cr_expect(archive_read_next_header(a, &e) == ARCHIVE_EOF);
	archive_read_free(a);
	buf_fini(&out);
}

Test(compression, a_tar_may_be_sent_piece_by_piece)
{
	struct buf whole = { 0 };
	struct buf piece = { 0 };
	struct buf sent = { 0 };
	struct tar *a = tar_new(&whole);
	struct tar *b = tar_new(&piece);

	for (int i = 0; i < 20; i++) {
		struct bytes content = { (const uint8_t *)"0123456789",
					 (size_t)i % 10 };

		cr_expect(!tar_add(a, "name", i * 1000, content, NULL));
		cr_expect(!tar_add(b, "name", i * 1000, content, NULL));
		cr_expect(piece.len, "nothing is kept back");
		buf_add(&sent, piece.ptr, piece.len);
		buf_reset(&piece);
	}
	cr_expect(!tar_end(a, NULL));
	tar_free(a);
	tar_free(b); /* this ends the archive, too */
	buf_add(&sent, piece.ptr, piece.len);
	cr_expect(bytes_eq(buf_bytes(&whole), buf_bytes(&sent)));
	buf_fini(&whole);
	buf_fini(&piece);
	buf_fini(&sent);
	tar_free(NULL);
}

Test(compression, a_tar_without_room_is_refused)
{
	struct buf out = buf_init(1000);
	struct tar *t = tar_new(&out);
	struct buf content = sample_of(600);
	struct err err;

	cr_expect(tar_add(t, "a", 0, buf_bytes(&content), &err) == ERR_INVALID);
	cr_assert(out.over);
	cr_expect(out.len <= 1000);
	cr_expect(tar_end(t, &err) == ERR_INVALID);
	tar_free(t);
	buf_fini(&out);
	buf_fini(&content);
}

/* Compresses bytes into an .xz file. */
static struct buf xz_of(struct bytes raw)
{
	struct buf out = { 0 };
	size_t len = 0;

	cr_assert(buf_reserve(&out, lzma_stream_buffer_bound(raw.len)));
	cr_assert(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, raw.ptr,
					  raw.len, out.ptr, &len,
					  out.cap) == LZMA_OK);
	out.len = len;
	return out;
}

Test(compression, xz_files_are_bounded_and_checked)
{
	struct buf raw = sample_of(600 << 10);
	struct buf file = xz_of(buf_bytes(&raw));
	struct buf out = buf_init(raw.len);
	struct bytes in = buf_bytes(&file);
	struct err err;

	/* The contents may be as long as the buffer. */
	cr_assert(!xz_decompress(in, 64 << 20, &out, &err), "%s", err.msg);
	cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&raw)));
	out.max = raw.len - 1;
	buf_reset(&out);
	cr_expect(xz_decompress(in, 64 << 20, &out, &err) == ERR_TOOBIG);
	cr_expect(out.len <= out.max);
	/* The file says that its decoder needs 8 MiB. */
	buf_fini(&out);
	out = buf_init(0);
	cr_expect(xz_decompress(in, 1 << 20, &out, &err) == ERR_TOOBIG);
	for (size_t len = 0; len < in.len; len += 1 + in.len / 100) {
		buf_reset(&out);
		cr_expect(xz_decompress(
				  (struct bytes){ .ptr = in.ptr, .len = len },
				  64 << 20, &out, &err) == ERR_CORRUPT);
	}
	file.ptr[in.len / 2] ^= 1;
	buf_reset(&out);
	cr_expect(xz_decompress(in, 64 << 20, &out, &err) == ERR_CORRUPT);
	buf_fini(&out);
	buf_fini(&file);
	buf_fini(&raw);
}
