/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that go in and out of commands: which profiles a walk over folders and
 * tars finds, and how a result is written.
 */
#include <sys/stat.h>

#include "base/file_slurp.h"
#include "base/gzip.h"
#include "base/tar.h"
#include "base/vec.h"
#include "cmd/cli/output.h"
#include "cmd/tools/source.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(source, .timeout = 60);

/*
 * Returns the path of a name in the folder. The last four results stay valid.
 */
static const char *in(const struct tempdir *d, const char *name)
{
	static char paths[4][400];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", d->path, name);
	return path;
}

/* Write a file, and the folders above it. */
static void put_file(const struct tempdir *d, const char *name,
		     struct bytes content)
{
	struct err err;

	for (const char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
		char folder[200];

		snprintf(folder, sizeof(folder), "%.*s", (int)(p - name), name);
		mkdir(in(d, folder), 0700);
	}
	cr_assert(!output_save(in(d, name), false, content, &err), "%s",
		  err.msg);
}

static void put_text(const struct tempdir *d, const char *name,
		     const char *text)
{
	put_file(d, name, bytes_of(str_of(text)));
}

/* The profiles that a walk found, one in each line: job/type/ms=content. */
struct found {
	struct buf text;
	struct buf unreadable; /* one message in each line */
	int64_t not_before;    /* earlier profiles are not wanted */
	int rc_of_visit;
};

static bool wants_time(void *ctx, int64_t ms)
{
	return ms >= ((struct found *)ctx)->not_before;
}

static int visit_item(void *ctx, const struct source_item *it, struct err *err)
{
	struct found *f = ctx;

	cr_assert(!it->labels);
	cr_expect(it->path);
	buf_printf(&f->text, "%.*s/%.*s/%lld=%.*s\n", STR_ARG(it->job),
		   STR_ARG(it->type), (long long)it->ms,
		   STR_ARG(str_from(it->data)));
	return f->rc_of_visit ? err_set(err, f->rc_of_visit, "enough") : 0;
}

static void note_unreadable(void *ctx, const struct err *err)
{
	struct found *f = ctx;

	buf_printf(&f->unreadable, "%d %s\n", err->code, err->msg);
}

static int walk(struct found *f, const char *path, struct err *err)
{
	struct source_visitor v = { wants_time, visit_item, note_unreadable,
				    f };

	buf_reset(&f->text);
	buf_reset(&f->unreadable);
	return source_walk(path, &v, err);
}

static bool found_text(struct found *f, const char *want)
{
	return check_str(str_from(buf_bytes(&f->text)), want);
}

static void found_fini(struct found *f)
{
	buf_fini(&f->text);
	buf_fini(&f->unreadable);
}

/*
 * Makes a tar with files of these names. The content of each file is its index
 * in `names`, as text.
 */
static struct buf tar_of(const char *const *names)
{
	struct buf out = { 0 };
	struct tar *t = tar_new(&out);

	for (int i = 0; names[i]; i++) {
		char content[8];

		snprintf(content, sizeof(content), "%d", i % 1000);
		cr_assert(!tar_add(t, names[i], 0, bytes_of(str_of(content)),
				   NULL));
	}
	cr_assert(!tar_end(t, NULL));
	tar_free(t);
	return out;
}

Test(source, folders_are_walked_in_the_order_of_names)
{
	struct tempdir d = tempdir_make();
	struct found f = { 0 };
	struct err err;

	put_text(&d, "web/heap/2000.pb.gz", "b");
	put_text(&d, "web/heap/1000.pb.gz", "a");
	put_text(&d, "web/heap/3000", "c");
	put_text(&d, "web/heap/notes.txt", "no");
	put_text(&d, "web/heap/-5.pb", "no");
	put_text(&d, "web/heap/1x.pb", "no");
	put_text(&d, "web/heap/.5.pb", "no");
	put_text(&d, "web/heap/99999999999999999999.pb", "no");
	put_text(&d, "app/cpu/0.pb", "zero");
	put_text(&d, "app/deep/er/7.pb", "");
	cr_expect(!walk(&f, d.path, &err), "%s", err.msg);
	cr_expect(found_text(&f, "app/cpu/0=zero\n"
				 "deep/er/7=\n"
				 "web/heap/1000=a\n"
				 "web/heap/2000=b\n"
				 "web/heap/3000=c\n"));
	cr_expect(!f.unreadable.len);
	f.not_before = 2000;
	cr_expect(!walk(&f, in(&d, "web//"), &err));
	cr_expect(found_text(&f, "web/heap/2000=b\nweb/heap/3000=c\n"));
	f.rc_of_visit = ERR_LIMIT;
	cr_expect(walk(&f, d.path, &err) == ERR_LIMIT);
	cr_expect(found_text(&f, "web/heap/2000=b\n"), "it ended there");
	cr_expect(!strcmp(err.msg, "enough"));
	found_fini(&f);
	tempdir_fini(&d);
}

Test(source, a_file_that_is_named_may_have_any_name)
{
	struct tempdir d = tempdir_make();
	struct found f = { .not_before = -1 };
	struct err err;

	put_text(&d, "web/heap/profile.pb", "x");
	cr_expect(!walk(&f, in(&d, "web/heap/profile.pb"), &err));
	cr_expect(found_text(&f, "web/heap/-1=x\n"));
	put_text(&d, "web/heap/-5.pb", "y");
	cr_expect(!walk(&f, in(&d, "web/heap/-5.pb"), &err));
	cr_expect(found_text(&f, "web/heap/-1=y\n"), "no time before 1970");
	f.not_before = 0;
	cr_expect(!walk(&f, in(&d, "web/heap/profile.pb"), &err));
	cr_expect(found_text(&f, ""));
	cr_expect(walk(&f, in(&d, "none"), &err) == ERR_NOTFOUND);
	cr_expect(strstr(err.msg, "none") != NULL);
	cr_expect(!f.unreadable.len);
	found_fini(&f);
	tempdir_fini(&d);
}

Test(source, links_to_folders_are_not_followed_nor_fifos_opened)
{
	struct tempdir d = tempdir_make();
	struct found f = { 0 };
	struct err err;

	put_text(&d, "real/heap/1.pb", "a");
	mkdir(in(&d, "links"), 0700);
	cr_assert(!symlink("../real", in(&d, "links/folder")));
	cr_assert(!symlink("..", in(&d, "links/cycle")));
	cr_assert(!symlink("../real/heap/1.pb", in(&d, "links/2.pb")));
	cr_assert(!symlink("nowhere", in(&d, "links/3.pb")));
	/* Opening a FIFO would wait for its writer for ever. */
	cr_assert(!mkfifo(in(&d, "links/4.pb"), 0600));
	cr_assert(!symlink("4.pb", in(&d, "links/5.pb")));
	cr_expect(!walk(&f, in(&d, "links"), &err));
	cr_expect(strstr(buf_cstr(&f.text), "/links/2=a\n") != NULL,
		  "files are");
	cr_expect(strchr(buf_cstr(&f.text), '\n') ==
			  strrchr(buf_cstr(&f.text), '\n'),
		  "nothing else: %s", buf_cstr(&f.text));
	cr_expect(strstr(buf_cstr(&f.unreadable), "links/3.pb") != NULL);
	found_fini(&f);
	tempdir_fini(&d);
}

Test(source, folders_are_nested_sixteen_deep_at_most)
{
	struct tempdir d = tempdir_make();
	struct found f = { 0 };
	char path[200] = "";
	struct err err;

	for (int i = 1; i <= 17; i++) {
		size_t n = strlen(path);
		char name[220];

		snprintf(path + n, sizeof(path) - n, "d%d/", i);
		snprintf(name, sizeof(name), "%s%d.pb", path, i);
		put_text(&d, name, "x");
	}
	cr_expect(!walk(&f, d.path, &err));
	cr_expect(strstr(buf_cstr(&f.text), "d15/d16/16=x\n") != NULL);
	cr_expect(!strstr(buf_cstr(&f.text), "d16/d17/17=x\n"));
	cr_expect(strstr(buf_cstr(&f.unreadable), "d17 ") != NULL, "%s",
		  buf_cstr(&f.unreadable));
	found_fini(&f);
	tempdir_fini(&d);
}

Test(source, tars_are_read_like_folders)
{
	static const char *const names[] = { "web/heap/1000.pb.gz",
					     "web/heap/readme", "2000.pb",
					     "./x/app/cpu/3000.pb", NULL };
	static const char want[] = "web/heap/1000=0\n//2000=2\n"
				   "app/cpu/3000=3\n";
	struct tempdir d = tempdir_make();
	struct found f = { 0 };
	struct buf tar = tar_of(names);
	struct buf packed = { 0 };
	struct gzip *g = gzip_new();
	struct err err;

	gzip_compress(g, 6, buf_bytes(&tar), &packed);
	put_file(&d, "plain.tar", buf_bytes(&tar));
	put_file(&d, "packed.tar.gz", buf_bytes(&packed));
	put_file(&d, "short.tgz", buf_bytes(&packed));
	put_file(&d, "folder/below.tar", buf_bytes(&tar));
	cr_assert(!walk(&f, in(&d, "plain.tar"), &err));
	cr_expect(found_text(&f, want));
	cr_assert(!walk(&f, in(&d, "packed.tar.gz"), &err));
	cr_expect(found_text(&f, want));
	cr_assert(!walk(&f, in(&d, "short.tgz"), &err));
	cr_expect(found_text(&f, want));
	cr_assert(!walk(&f, in(&d, "folder"), &err));
	cr_expect(found_text(&f, want));
	f.not_before = 2000;
	cr_assert(!walk(&f, in(&d, "plain.tar"), &err));
	cr_expect(found_text(&f, "//2000=2\napp/cpu/3000=3\n"));
	cr_expect(!f.unreadable.len);
	f.rc_of_visit = ERR_IO;
	cr_expect(walk(&f, in(&d, "plain.tar"), &err) == ERR_IO);
	cr_expect(found_text(&f, "//2000=2\n"));
	gzip_free(g);
	buf_fini(&tar);
	buf_fini(&packed);
	found_fini(&f);
	tempdir_fini(&d);
}

Test(source, what_a_damaged_tar_had_before_is_kept)
{
	static const char *const names[] = { "a/b/1.pb", "a/b/2.pb", NULL };
	struct tempdir d = tempdir_make();
	struct found f = { 0 };
	struct buf tar = tar_of(names);
	struct err err;

	/*
	 * Each file has a header and one block of content, of 512 bytes each.
	 * The tar is cut after the header of the second file.
	 */
	put_file(&d, "cut.tar", (struct bytes){ tar.ptr, 1536 });
	put_text(&d, "none.tar", "this is no tar at all, but a text");
	put_text(&d, "z/y/9.pb", "after them");
	cr_expect(!walk(&f, d.path, &err));
	cr_expect(found_text(&f, "a/b/1=0\nz/y/9=after them\n"));
	cr_expect(strstr(buf_cstr(&f.unreadable), "a/b/2.pb") != NULL);
	cr_expect(strstr(buf_cstr(&f.unreadable), "none.tar") != NULL);
	cr_expect(str_starts(str_of(buf_cstr(&f.unreadable)), str_of("-2 ")),
		  "it is corrupt: %s", buf_cstr(&f.unreadable));
	buf_fini(&tar);
	found_fini(&f);
	tempdir_fini(&d);
}

Test(source, an_output_replaces_what_the_file_held)
{
	struct tempdir d = tempdir_make();
	struct buf b = { 0 };
	struct err err;

	put_text(&d, "f", "a longer text that was there");
	cr_expect(!output_save(in(&d, "f"), false, bytes_of(str_of("new")),
			       &err));
	cr_expect(!file_slurp(in(&d, "f"), &b, &err));
	cr_expect(check_str(str_from(buf_bytes(&b)), "new"));
	buf_reset(&b);
	cr_expect(!output_save(in(&d, "f"), false, (struct bytes){ 0 }, &err));
	cr_assert(!file_slurp(in(&d, "f"), &b, &err));
	cr_expect(!b.len);
	cr_expect(output_save(in(&d, "none/f"), false, (struct bytes){ 0 },
			      &err) == ERR_NOTFOUND);
	cr_expect(strstr(err.msg, "none/f") != NULL);
	cr_expect(output_save(d.path, false, (struct bytes){ 0 }, &err) ==
		  ERR_IO);
	cr_expect(!output_save("-", false, (struct bytes){ 0 }, &err));
	cr_expect(access("-", F_OK) < 0, "that is standard output");
	buf_fini(&b);
	tempdir_fini(&d);
}
