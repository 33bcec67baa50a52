/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a block as they are written (outfile) and read (blob): buffers,
 * bounds, and disks that fail in the middle.
 */
#include "base/crc32c.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"
#include "tsdb/io/blob.h"
#include "tsdb/io/outfile.h"

TestSuite(files, .timeout = 60);

#define BUFFER 262144 /* that of an outfile */

static const enum blob_mode modes[] = { BLOB_MAP, BLOB_READ };

/* A directory with one file, of which nothing is written yet. */
struct scene {
	struct tempdir dir;
	struct hook hook;
	char path[160];
};

static struct scene scene_make(void)
{
	struct scene s = { .dir = tempdir_make(), .hook = hook_make() };

	snprintf(s.path, sizeof(s.path), "%s/file", s.dir.path);
	return s;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
}

Test(files, a_range_of_a_blob_is_read)
{
	static const struct {
		uint64_t offset;
		size_t len;
		int want;
		const char *text;
	} cases[] = {
		{ 0, 10, 0, "0123456789" },
		{ 3, 4, 0, "3456" },
		{ 9, 1, 0, "9" },
		{ 0, 0, 0, "" },
		{ 10, 0, 0, "" },
		{ 10, 1, ERR_CORRUPT, NULL },
		{ 0, 11, ERR_CORRUPT, NULL },
		{ 11, 0, ERR_CORRUPT, NULL },
		{ 5, SIZE_MAX, ERR_CORRUPT, NULL },
		{ UINT64_MAX, 1, ERR_CORRUPT, NULL },
		{ UINT64_MAX - 3, 8, ERR_CORRUPT, NULL },
	};
	struct scene s = scene_make();

	write_text(s.path, "0123456789");
	for (size_t i = 0; i < ARRAY_SIZE(cases) * 2; i++) {
		struct blob *b = NULL;
		struct buf scratch = { 0 };
		struct bytes out = { 0 };
		struct err err = { .msg = "" };
		int rc;

		cr_assert(!blob_open(NULL, s.path, modes[i % 2], &b, NULL));
		cr_assert(blob_size(b) == 10);
		cr_expect(!strcmp(blob_path(b), s.path));
		rc = blob_view(b, cases[i / 2].offset, cases[i / 2].len,
			       &scratch, &out, &err);
		cr_expect(rc == cases[i / 2].want, "case %zu: %d", i / 2, rc);
		if (!rc)
			cr_expect(check_str(str_from(out), cases[i / 2].text));
		else
			cr_expect(strstr(err.msg, s.path) != NULL, "%s",
				  err.msg);
		blob_close(b);
		buf_fini(&scratch);
	}
	tempdir_fini(&s.dir);
}

Test(files, a_blob_heeds_the_limit_of_its_buffer)
{
	struct scene s = scene_make();

	write_text(s.path, "0123456789");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct buf scratch = buf_init(4);
		struct bytes out = { 0 };
		struct blob *b = NULL;

		cr_assert(!blob_open(NULL, s.path, modes[i], &b, NULL));
		cr_expect(!blob_view(b, 2, 4, &scratch, &out, NULL));
		cr_expect(blob_view(b, 2, 5, &scratch, &out, NULL) ==
			  ERR_TOOBIG);
		cr_assert(!blob_view(b, 6, 4, &scratch, &out, NULL),
			  "the buffer can be used again");
		cr_expect(check_str(str_from(out), "6789"),
			  "the buffer can be used again");
		blob_close(b);
		buf_fini(&scratch);
	}
	tempdir_fini(&s.dir);
}

Test(files, a_file_that_is_none_is_no_blob)
{
	struct scene s = scene_make();
	struct bytes out = { 0 };
	struct buf scratch = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct blob *b = NULL;

		cr_expect(blob_open(NULL, s.path, modes[i], &b, NULL) ==
			  ERR_NOTFOUND);
		cr_expect(blob_open(NULL, s.dir.path, modes[i], &b, NULL) ==
			  ERR_CORRUPT);
		cr_expect(!b);
		blob_close(b);
	}
	write_text(s.path, "");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct blob *b = NULL;

		cr_assert(!blob_open(NULL, s.path, modes[i], &b, NULL));
		cr_expect(blob_size(b) == 0);
		cr_assert(!blob_view(b, 0, 0, &scratch, &out, NULL));
		cr_expect(!out.len);
		cr_expect(blob_view(b, 0, 1, &scratch, &out, NULL) ==
			  ERR_CORRUPT);
		blob_close(b);
	}
	buf_fini(&scratch);
	tempdir_fini(&s.dir);
}

Test(files, a_blob_that_cannot_be_opened_leaves_nothing_open)
{
	static const enum fs_op ops[] = { FS_OPEN, FS_STAT, FS_MMAP };
	struct scene s = scene_make();
	struct blob *b = NULL;

	write_text(s.path, "0123456789");
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		hook_arm(&s.hook, ops[i], "/file", EIO, 1);
		cr_expect(blob_open(&s.hook.fs, s.path, BLOB_MAP, &b, NULL) ==
				  ERR_IO,
			  "op %d", ops[i]);
		cr_assert(!b);
		cr_expect(s.hook.hits == 1);
	}
	tempdir_fini(&s.dir);
}

Test(files, a_blob_outlives_changes_to_its_file)
{
	struct scene s = scene_make();

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct blob *b = NULL;
		struct buf scratch = { 0 };
		struct bytes out = { 0 };

		write_text(s.path, "0123456789");
		cr_assert(!blob_open(NULL, s.path, modes[i], &b, NULL));
		cr_expect(!blob_view(b, 2, 3, &scratch, &out, NULL));
		write_text(s.path, "0123456789abc");
		cr_expect(blob_size(b) == 10, "as it was when opened");
		write_text(s.path, "");
		cr_expect(check_str(str_from(out), "234"), "a copy");
		cr_expect(blob_view(b, 2, 3, &scratch, &out, NULL) ==
				  ERR_CORRUPT,
			  "cut beneath the reader, mapped or not");
		blob_close(b);
		buf_fini(&scratch);
	}
	tempdir_fini(&s.dir);
}

Test(files, a_blob_tells_what_the_disk_cannot_read)
{
	struct scene s = scene_make();

	write_text(s.path, "0123456789");
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct blob *b = NULL;
		struct buf scratch = { 0 };
		struct bytes out = { 0 };

		cr_assert(!blob_open(&s.hook.fs, s.path, modes[i], &b, NULL));
		s.hook.to = 4;
		s.hook.sector = "/file";
		cr_expect(blob_view(b, 3, 2, &scratch, &out, NULL) == ERR_IO);
		s.hook.sector = NULL;
		cr_assert(!blob_view(b, 3, 2, &scratch, &out, NULL),
			  "the disk has recovered");
		cr_expect(check_str(str_from(out), "34"),
			  "the disk has recovered");
		blob_close(b);
		buf_fini(&scratch);
	}
	tempdir_fini(&s.dir);
}

Test(files, a_page_that_fails_is_read_from_the_file)
{
	struct scene s = scene_make();
	struct blob *b = NULL;
	struct buf scratch = { 0 };
	struct bytes out = { 0 };

	write_text(s.path, "0123456789");
	cr_assert(!blob_open(&s.hook.fs, s.path, BLOB_MAP, &b, NULL));
	hook_arm(&s.hook, FS_PAGE, "/file", EIO, 1);
	cr_assert(!blob_view(b, 3, 2, &scratch, &out, NULL));
	cr_expect(check_str(str_from(out), "34"));
	cr_expect(s.hook.hits == 1);
	blob_close(b);
	buf_fini(&scratch);
	tempdir_fini(&s.dir);
}

/*
 * Pieces of these lengths are added. `unasked` is how many of their bytes are
 * in the file before a flush is asked for.
 */
static const struct {
	const char *name;
	size_t pieces[5];
	uint64_t unasked;
} outputs[] = {
	{ "nothing", { 0 }, 0 },
	{ "one byte", { 1 }, 0 },
	{ "exactly the buffer", { BUFFER }, 0 },
	{ "exactly the buffer, in two pieces", { BUFFER - 1, 1 }, 0 },
	{ "one byte over, in two pieces", { BUFFER, 1 }, BUFFER },
	{ "one byte over, in one piece", { BUFFER + 1 }, BUFFER + 1 },
	{ "a large piece behind a small one", { 5, BUFFER + 1 }, BUFFER + 6 },
	{ "a large piece between small ones",
	  { 5, 3 * BUFFER, 7, 2 },
	  3 * BUFFER + 5 },
	{ "two buffers", { BUFFER - 9, BUFFER - 9, 20 }, 2 * (BUFFER - 9) },
};

static size_t file_bytes(const char *path)
{
	struct buf b = { 0 };
	size_t n;

	cr_assert(!file_slurp(path, &b, NULL));
	n = b.len;
	buf_fini(&b);
	return n;
}

Test(files, an_output_is_what_was_added)
{
	static uint8_t text[4 * BUFFER];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		struct scene s = scene_make();
		struct outfile o;
		struct buf got = { 0 };
		size_t sum = 0;
		struct bytes want;

		cr_assert(!outfile_open(&o, NULL, s.path, NULL));
		for (size_t k = 0; k < 5; k++) {
			outfile_add(&o, (struct bytes){ text + sum,
							outputs[i].pieces[k] });
			sum += outputs[i].pieces[k];
		}
		want = (struct bytes){ text, sum };
		cr_expect(file_bytes(s.path) == outputs[i].unasked, "%s: %zu",
			  outputs[i].name, file_bytes(s.path));
		cr_expect(!outfile_flush(&o, NULL));
		cr_expect(file_bytes(s.path) == sum, "%s", outputs[i].name);
		cr_expect(!outfile_finish(&o, NULL));
		cr_assert(o.size == sum, "%s", outputs[i].name);
		cr_expect(o.crc == crc32c_extend(0, want), "%s",
			  outputs[i].name);
		cr_assert(!file_slurp(s.path, &got, NULL));
		cr_expect(bytes_eq(buf_bytes(&got), want), "%s",
			  outputs[i].name);
		outfile_close(&o);
		buf_fini(&got);
		tempdir_fini(&s.dir);
	}
}

Test(files, an_output_is_padded_to_a_boundary)
{
	static const struct {
		size_t len;
		uint32_t align;
		uint64_t want;
	} cases[] = {
		{ 0, 16, 0 }, { 1, 16, 16 },  { 15, 16, 16 }, { 16, 16, 16 },
		{ 3, 1, 3 },  { 17, 16, 32 }, { 1, 64, 64 },  { 65, 64, 128 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene s = scene_make();
		struct outfile o;
		uint8_t text[128] = { 0 };
		struct buf got = { 0 };

		memset(text, 'x', cases[i].len);
		cr_assert(!outfile_open(&o, NULL, s.path, NULL));
		outfile_add(&o, (struct bytes){ text, cases[i].len });
		outfile_pad(&o, cases[i].align);
		cr_expect(o.size == cases[i].want, "case %zu", i);
		cr_expect(!outfile_finish(&o, NULL));
		cr_assert(!file_slurp(s.path, &got, NULL));
		cr_assert(got.len == cases[i].want, "case %zu", i);
		cr_expect(bytes_eq(buf_bytes(&got),
				   (struct bytes){ text, got.len }),
			  "case %zu", i);
		outfile_close(&o);
		buf_fini(&got);
		tempdir_fini(&s.dir);
	}
}

Test(files, the_first_failed_write_of_an_output_is_remembered)
{
	struct scene s = scene_make();
	struct outfile o;
	struct err err = { .msg = "" };

	cr_assert(!outfile_open(&o, &s.hook.fs, s.path, NULL));
	outfile_add(&o, bytes_of(str_of("first")));
	hook_arm(&s.hook, FS_WRITE, "/file", ENOSPC, 1);
	cr_expect(outfile_flush(&o, NULL) == ERR_NOSPACE);
	hook_arm(&s.hook, FS_SYNC, "/file", EIO, -1);
	outfile_add(&o, bytes_of(str_of("second")));
	cr_expect(outfile_flush(&o, &err) == ERR_NOSPACE);
	cr_expect(strstr(err.msg, s.path) != NULL, "%s", err.msg);
	cr_expect(outfile_finish(&o, &err) == ERR_NOSPACE);
	cr_expect(s.hook.hits == 0, "there is nothing to sync");
	cr_expect(o.size == 11, "the size counts all the same");
	cr_expect(file_bytes(s.path) == 0, "nothing lies behind a hole");
	outfile_close(&o);
	tempdir_fini(&s.dir);
}

Test(files, a_failed_sync_fails_the_output)
{
	struct scene s = scene_make();
	struct outfile o;

	cr_assert(!outfile_open(&o, &s.hook.fs, s.path, NULL));
	outfile_add(&o, bytes_of(str_of("text")));
	hook_arm(&s.hook, FS_SYNC, "/file", EIO, 1);
	cr_expect(outfile_finish(&o, NULL) == ERR_IO);
	outfile_close(&o);
	tempdir_fini(&s.dir);
}

Test(files, an_output_replaces_no_file)
{
	struct scene s = scene_make();
	struct outfile o = { .size = 9 };

	write_text(s.path, "old");
	cr_expect(outfile_open(&o, NULL, s.path, NULL) == ERR_EXISTS);
	cr_assert(!o.file);
	cr_expect(!o.size);
	outfile_close(&o);
	cr_expect(file_bytes(s.path) == 3);
	tempdir_fini(&s.dir);
}

Test(files, a_closed_output_is_not_written)
{
	struct scene s = scene_make();
	struct outfile o;

	cr_assert(!outfile_open(&o, NULL, s.path, NULL));
	outfile_add(&o, bytes_of(str_of("text")));
	outfile_close(&o);
	cr_assert(!o.file);
	cr_assert(!o.size);
	cr_expect(!o.buf.ptr);
	outfile_close(&o); /* has no effect the second time */
	cr_expect(file_bytes(s.path) == 0);
	tempdir_fini(&s.dir);
}
