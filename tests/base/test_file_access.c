/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and directories through the gateway of file.h and fs.h: what is read
 * and written, which errors there are, and what the hook sees and refuses.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/sigbus.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(file_access, .timeout = 60);

#define PAGE 4096

/* Returns a path in the folder. The last eight results are valid. */
static const char *in(const struct tempdir *d, const char *name)
{
	static char paths[8][300];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", d->path, name);
	return path;
}

static void put_file(const char *path, const void *p, size_t n)
{
	struct file *f = NULL;
	struct err err;

	cr_assert(!file_open(NULL, path, FILE_ENSURE, &f, &err), "%s", err.msg);
	cr_assert(!file_truncate(f, 0, &err));
	cr_assert(!file_write(f, 0, (struct bytes){ p, n }, &err));
	file_close(f);
}

static void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

/* Whether the file has exactly this text. */
static bool holds(const char *path, const char *want)
{
	struct buf b = { 0 };
	struct err err;
	bool ok = !file_slurp(path, &b, &err) &&
		  check_str(str_from(buf_bytes(&b)), want);

	buf_fini(&b);
	return ok;
}

Test(file_access, modes_say_what_must_exist)
{
	/*
	 * `rc` has the results for a path where there is nothing, for a file,
	 * for a folder and for a pipe.
	 */
	static const struct {
		enum file_mode mode;
		int rc[4];
	} cases[] = {
		{ FILE_READ, { ERR_NOTFOUND, 0, ERR_CORRUPT, ERR_CORRUPT } },
		{ FILE_WRITE, { ERR_NOTFOUND, 0, ERR_IO, ERR_CORRUPT } },
		{ FILE_CREATE, { 0, ERR_EXISTS, ERR_EXISTS, ERR_EXISTS } },
		{ FILE_ENSURE, { 0, 0, ERR_IO, ERR_CORRUPT } },
	};
	static const char *const names[] = { "none", "file", "folder", "pipe" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tempdir d = tempdir_make();

		put_text(in(&d, "file"), "text");
		cr_assert(!mkdir(in(&d, "folder"), 0700));
		cr_assert(!mkfifo(in(&d, "pipe"), 0600));
		for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
			struct file *f = NULL;
			struct err err = { 0 };
			int rc = file_open(NULL, in(&d, names[k]),
					   cases[i].mode, &f, &err);

			cr_expect(rc == cases[i].rc[k], "mode %zu, %s: %s", i,
				  names[k], err.msg);
			cr_expect(!rc == (f != NULL));
			cr_expect(!rc || strstr(err.msg, in(&d, names[k])),
				  "the path is named: %s", err.msg);
			cr_expect(rc ||
				  !strcmp(file_path(f), in(&d, names[k])));
			file_closep(&f);
			cr_expect(!f);
		}
		cr_expect(holds(in(&d, "file"), "text"), "nothing is cut");
		tempdir_fini(&d);
	}
	file_close(NULL);
}

Test(file_access, nothing_is_for_others_to_read)
{
	struct tempdir d = tempdir_make();
	mode_t before = umask(0);
	struct file *f = NULL;
	struct stat st;

	cr_assert(!file_open(NULL, in(&d, "own"), FILE_CREATE, &f, NULL));
	file_closep(&f);
	cr_assert(!stat(in(&d, "own"), &st));
	cr_expect((st.st_mode & 0777) == 0640);
	cr_assert(!fs_mkdir(NULL, in(&d, "dir"), NULL));
	cr_assert(!stat(in(&d, "dir"), &st));
	cr_expect((st.st_mode & 0777) == 0750);
	umask(before);
	tempdir_fini(&d);
}

Test(file_access, what_is_written_at_an_offset_is_read_there)
{
	struct tempdir d = tempdir_make();
	struct file *f = NULL;
	uint64_t size = 7;
	char got[8] = { 0 };
	struct err err;

	cr_assert(!file_open(NULL, in(&d, "f"), FILE_CREATE, &f, &err));
	cr_assert(!file_size(f, &size, &err));
	cr_expect(size == 0);
	cr_expect(!file_write(f, 3, bytes_of(str_of("abc")), &err));
	cr_expect(!file_write(f, 5, bytes_of(str_of("XY")), &err));
	cr_expect(!file_write(f, 0, (struct bytes){ 0 }, &err));
	cr_assert(!file_size(f, &size, &err));
	cr_expect(size == 7);
	cr_expect(!file_read(f, 0, got, 7, &err));
	cr_expect(!memcmp(got, "\0\0\0abXY", 7));
	cr_expect(!file_read(f, 7, got, 0, &err), "nothing is at the end");
	cr_expect(file_read(f, 6, got, 2, &err) == ERR_CORRUPT);
	cr_expect(strstr(err.msg, in(&d, "f")) != NULL);
	cr_expect(file_read(f, 100, got, 1, &err) == ERR_CORRUPT);
	cr_expect(!file_sync(f, &err));
	cr_expect(!file_truncate(f, 4, &err));
	cr_assert(!file_size(f, &size, &err));
	cr_expect(size == 4);
	cr_expect(!file_truncate(f, 6, &err));
	cr_assert(!file_read(f, 3, got, 3, &err));
	cr_expect(!memcmp(got, "a\0\0", 3));
	cr_expect(!file_allocate(f, 5000, &err));
	cr_assert(!file_size(f, &size, &err));
	cr_expect(size == 5000);
	cr_expect(!file_allocate(f, 10, &err));
	cr_assert(!file_size(f, &size, &err), "never smaller");
	cr_expect(size == 5000, "never smaller");
	file_close(f);
	cr_assert(!file_open(NULL, in(&d, "f"), FILE_READ, &f, &err));
	cr_expect(file_write(f, 0, bytes_of(str_of("x")), &err) == ERR_IO);
	cr_expect(file_truncate(f, 0, &err) == ERR_IO);
	file_close(f);
	tempdir_fini(&d);
}

Test(file_access, a_whole_file_fits_exactly_or_not)
{
	struct tempdir d = tempdir_make();
	struct file *f = NULL;
	struct err err;

	put_text(in(&d, "f"), "0123456789");
	put_text(in(&d, "empty"), "");
	cr_assert(!file_open(NULL, in(&d, "f"), FILE_READ, &f, &err));
	for (size_t max = 8; max <= 14; max++) {
		struct buf all = buf_init(max);
		struct buf slurped = buf_init(max);
		int want = max < 12 ? ERR_TOOBIG : 0;

		buf_str(&all, "ab");
		buf_str(&slurped, "ab");
		cr_expect(file_read_all(f, &all, &err) == want);
		cr_expect(!want ? check_str(str_from(buf_bytes(&all)),
					    "ab0123456789") :
				  all.len == 2);
		cr_expect(file_slurp(in(&d, "f"), &slurped, &err) == want);
		cr_expect(want || check_str(str_from(buf_bytes(&slurped)),
					    "ab0123456789"));
		buf_fini(&all);
		buf_fini(&slurped);
	}
	file_close(f);
	cr_assert(!file_open(NULL, in(&d, "empty"), FILE_READ, &f, &err));
	struct buf none = buf_init(1);

	cr_assert(!file_read_all(f, &none, &err));
	cr_expect(!none.len);
	cr_expect(holds(in(&d, "empty"), ""));
	file_close(f);
	buf_fini(&none);
	tempdir_fini(&d);
}

Test(file_access, slurping_waits_for_nobody)
{
	struct tempdir d = tempdir_make();
	struct buf b = buf_init(100);
	struct err err;

	cr_assert(!mkfifo(in(&d, "pipe"), 0600));
	cr_expect(file_slurp(in(&d, "pipe"), &b, &err) == ERR_INVALID);
	cr_expect(file_slurp(d.path, &b, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, d.path) != NULL);
	cr_expect(file_slurp(in(&d, "none"), &b, &err) == ERR_NOTFOUND);
	cr_expect(file_drain(in(&d, "none"), &b, &err) == ERR_NOTFOUND);
	cr_expect(file_drain(d.path, &b, &err) == ERR_IO);
	cr_assert(!file_slurp("/dev/null", &b, &err));
	cr_expect(!b.len);
	cr_expect(file_slurp("/dev/zero", &b, &err) == ERR_TOOBIG);
	cr_expect(b.len <= 100);
	buf_reset(&b);
	cr_expect(file_slurp("/proc/self/status", &b, &err) == ERR_TOOBIG,
		  "a file whose size is said to be 0");
	buf_fini(&b);
	tempdir_fini(&d);
}

Test(file_access, draining_reads_a_pipe_to_its_end)
{
	struct buf b = { 0 };
	struct err err;
	char path[64];
	int ends[2];

	cr_assert(!pipe(ends));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	cr_assert(write(ends[1], "from a pipe", 11) == 11);
	close(ends[1]);
	/* Opening it again through /proc gives the same pipe. */
	cr_expect(!file_drain(path, &b, &err), "%s", err.msg);
	cr_expect(check_str(str_from(buf_bytes(&b)), "from a pipe"));
	close(ends[0]);
	buf_fini(&b);
}

Test(file_access, a_stamp_changes_with_the_content)
{
	struct tempdir d = tempdir_make();
	struct file_stamp a;
	struct file_stamp b;
	struct timespec times[2] = { { .tv_sec = 1000, .tv_nsec = 5 },
				     { .tv_sec = 2000, .tv_nsec = 7 } };

	a = file_stamp(in(&d, "f"));
	cr_assert(!a.mtime_ns);
	cr_assert(!a.size);
	cr_expect(!a.inode);
	put_text(in(&d, "f"), "text");
	cr_assert(!utimensat(AT_FDCWD, in(&d, "f"), times, 0));
	a = file_stamp(in(&d, "f"));
	cr_assert(a.size == 4);
	cr_expect(a.mtime_ns == 2000 * 1000000000LL + 7);
	cr_expect(file_stamp_eq(a, file_stamp(in(&d, "f"))));
	cr_assert(!symlink("f", in(&d, "link")));
	cr_expect(file_stamp_eq(a, file_stamp(in(&d, "link"))),
		  "links are followed");
	times[1].tv_nsec = 8;
	cr_assert(!utimensat(AT_FDCWD, in(&d, "f"), times, 0));
	b = file_stamp(in(&d, "f"));
	cr_expect(!file_stamp_eq(a, b), "a nanosecond later");
	put_text(in(&d, "other"), "text");
	cr_assert(!utimensat(AT_FDCWD, in(&d, "other"), times, 0));
	cr_expect(!file_stamp_eq(b, file_stamp(in(&d, "other"))),
		  "another file of the same size and time");
	tempdir_fini(&d);
}

Test(file_access, names_are_changed_and_listed)
{
	struct tempdir d = tempdir_make();
	struct name_list l = { 0 };
	uint64_t total = 0;
	uint64_t available = 0;
	uint64_t size = 0;
	struct err err;

	put_text(in(&d, "b"), "bb");
	put_text(in(&d, "\xff"), "");
	put_text(in(&d, "B"), "old");
	cr_expect(!fs_link(NULL, in(&d, "b"), in(&d, ".hidden"), &err));
	cr_expect(fs_link(NULL, in(&d, "b"), in(&d, "B"), &err) == ERR_EXISTS);
	cr_expect(fs_link(NULL, in(&d, "x"), in(&d, "y"), &err) ==
		  ERR_NOTFOUND);
	cr_expect(!fs_rename(NULL, in(&d, "b"), in(&d, "B"), &err));
	cr_expect(holds(in(&d, "B"), "bb"), "it was replaced");
	cr_expect(fs_rename(NULL, in(&d, "b"), in(&d, "c"), &err) ==
		  ERR_NOTFOUND);
	cr_expect(!fs_mkdir(NULL, in(&d, "sub"), &err));
	cr_expect(fs_mkdir(NULL, in(&d, "sub"), &err) == ERR_EXISTS);
	cr_expect(fs_mkdir(NULL, in(&d, "no/sub"), &err) == ERR_NOTFOUND);
	cr_expect(fs_unlink(NULL, in(&d, "sub"), &err) == ERR_IO);
	cr_assert(!fs_list(NULL, d.path, &l, &err));
	cr_assert(l.count == 4);
	cr_assert(!strcmp(l.names[0], ".hidden"));
	cr_assert(!strcmp(l.names[1], "B"));
	cr_assert(!strcmp(l.names[2], "sub"));
	cr_expect(!strcmp(l.names[3], "\xff"));
	name_list_fini(&l);
	cr_assert(!l.names);
	cr_expect(!l.count);
	cr_assert(!fs_list(NULL, in(&d, "sub"), &l, &err));
	cr_expect(!l.count);
	cr_expect(fs_list(NULL, in(&d, "none"), &l, &err) == ERR_NOTFOUND);
	cr_expect(fs_list(NULL, in(&d, "B"), &l, &err) == ERR_IO);
	cr_expect(!fs_sync_dir(NULL, d.path, &err));
	cr_expect(fs_sync_dir(NULL, in(&d, "B"), &err) == ERR_IO);
	cr_expect(fs_sync_dir(NULL, in(&d, "none"), &err) == ERR_NOTFOUND);
	cr_assert(!symlink("B", in(&d, "link")));
	cr_assert(!fs_size(NULL, in(&d, "link"), &size, &err),
		  "of the link, not of its target");
	cr_expect(size == 1, "of the link, not of its target");
	cr_assert(!fs_size(NULL, in(&d, "B"), &size, &err));
	cr_expect(size == 2);
	cr_expect(!fs_space(d.path, &total, &available, &err));
	cr_assert(total > 0);
	cr_expect(available <= total);
	cr_expect(fs_space(in(&d, "none"), &total, &available, &err) ==
		  ERR_NOTFOUND);
	cr_expect(!fs_unlink(NULL, in(&d, "B"), &err));
	cr_expect(holds(in(&d, ".hidden"), "bb"), "by its other name");
	cr_expect(fs_unlink(NULL, in(&d, "B"), &err) == ERR_NOTFOUND);
	tempdir_fini(&d);
}

Test(file_access, removing_a_folder_follows_no_links)
{
	struct tempdir d = tempdir_make();
	struct err err;

	cr_assert(!mkdir(in(&d, "kept"), 0700));
	put_text(in(&d, "kept/file"), "kept");
	cr_assert(!mkdir(in(&d, "gone"), 0700));
	cr_assert(!mkdir(in(&d, "gone/deep"), 0700));
	cr_assert(!mkdir(in(&d, "gone/deep/er"), 0700));
	put_text(in(&d, "gone/deep/file"), "x");
	cr_assert(!symlink("../../kept", in(&d, "gone/deep/link")));
	cr_assert(!symlink("nowhere", in(&d, "gone/broken")));
	cr_assert(!mkfifo(in(&d, "gone/pipe"), 0600));
	cr_expect(!fs_remove_dir(NULL, in(&d, "gone"), &err), "%s", err.msg);
	cr_expect(access(in(&d, "gone"), F_OK) < 0);
	cr_expect(holds(in(&d, "kept/file"), "kept"));
	cr_assert(!symlink(in(&d, "kept"), in(&d, "link")));
	cr_expect(!fs_remove_dir(NULL, in(&d, "link"), &err), "%s", err.msg);
	cr_expect(access(in(&d, "link"), F_OK) &&
			  !access(in(&d, "kept/file"), F_OK),
		  "the link is removed, not what it leads to");
	cr_expect(fs_remove_dir(NULL, in(&d, "gone"), &err) == ERR_NOTFOUND);
	cr_expect(fs_remove_dir(NULL, in(&d, "kept/file"), &err) == ERR_IO);
	cr_expect(holds(in(&d, "kept/file"), "kept"));
	tempdir_fini(&d);
}

/* A hook that notes every call, and refuses one of them. */
struct watch {
	struct fs fs;
	char calls[400];  /* a letter for each call; in capitals: its success */
	const char *only; /* note only calls on this path; NULL: all */
	enum fs_op refused_op; /* which operation is refused … */
	int refused_errno;     /* … and with what; 0: none */
	unsigned times;        /* … and how often; 0: always */
	uint64_t from;         /* reads of a page at or behind it … */
	uint64_t to;           /* … and before this one are refused */
};

static const char op_letters[] = "orwytamnlukdsgicp";

static void note_call(struct watch *w, const struct fs_call *c, bool after)
{
	size_t n = strlen(w->calls);
	char letter = op_letters[c->op];

	if (n + 1 < sizeof(w->calls) && (!w->only || !strcmp(c->path, w->only)))
		w->calls[n] = after ? (char)(letter - 'a' + 'A') : letter;
}

static int watch_before(struct fs *fs, const struct fs_call *c)
{
	struct watch *w = (struct watch *)fs;

	note_call(w, c, false);
	if (w->to && (c->op == FS_READ || c->op == FS_PAGE))
		return c->offset < w->to && c->offset + c->len > w->from ? EIO :
									   0;
	if (!w->refused_errno || c->op != w->refused_op)
		return 0;
	if (w->times && !--w->times) {
		int number = w->refused_errno;

		w->refused_errno = 0;
		return number;
	}
	return w->refused_errno;
}

static void watch_after(struct fs *fs, const struct fs_call *c)
{
	note_call((struct watch *)fs, c, true);
}

static struct watch watch_of(enum fs_op refused, int with)
{
	return (struct watch){ .fs = { watch_before, watch_after },
			       .refused_op = refused,
			       .refused_errno = with };
}

Test(file_access, replacing_writes_and_syncs_before_it_renames)
{
	struct tempdir d = tempdir_make();
	struct watch w = watch_of(FS_OPEN, 0);
	struct err err;

	put_text(in(&d, "f"), "old");
	put_text(in(&d, "tmp"), "longer, left behind by a crash");
	cr_expect(!file_replace(&w.fs, in(&d, "tmp"), in(&d, "f"),
				bytes_of(str_of("new")), &err));
	cr_expect(holds(in(&d, "f"), "new"));
	cr_expect(access(in(&d, "tmp"), F_OK) < 0);
	/* The letters mean open, stat, truncate, write, sync, close, rename. */
	cr_expect(!strcmp(w.calls, "oOgGtTwWyYcCnN"), "%s", w.calls);
	tempdir_fini(&d);
}

Test(file_access, a_replacement_that_fails_leaves_the_old_bytes)
{
	static const enum fs_op ops[] = { FS_OPEN,  FS_STAT, FS_TRUNCATE,
					  FS_WRITE, FS_SYNC, FS_RENAME };
	static const struct {
		int number;
		int code;
	} whys[] = { { EIO, ERR_IO }, { ENOSPC, ERR_NOSPACE } };

	for (size_t i = 0; i < ARRAY_SIZE(ops) * 2; i++) {
		struct tempdir d = tempdir_make();
		struct watch w = watch_of(ops[i / 2], whys[i % 2].number);
		struct err err;

		put_text(in(&d, "f"), "old");
		cr_expect(file_replace(&w.fs, in(&d, "tmp"), in(&d, "f"),
				       bytes_of(str_of("new")),
				       &err) == whys[i % 2].code,
			  "operation %zu", i / 2);
		cr_expect(strstr(err.msg, d.path) != NULL);
		cr_expect(holds(in(&d, "f"), "old"), "operation %zu", i / 2);
		tempdir_fini(&d);
	}
}

Test(file_access, every_call_can_be_refused)
{
	struct tempdir d = tempdir_make();
	struct file *f = NULL;
	struct name_list l = { 0 };
	struct bytes map = { 0 };
	uint64_t size;
	char byte;
	struct err err;
	struct watch w = watch_of(FS_OPEN, 0);

	put_text(in(&d, "f"), "text");
	cr_assert(!file_open(&w.fs, in(&d, "f"), FILE_WRITE, &f, &err));
	w.refused_errno = EIO;
#define REFUSED(op, call) \
	(w.refused_op = (op), w.calls[0] = 0, (call) == ERR_IO)
	cr_expect(REFUSED(FS_READ, file_read(f, 0, &byte, 1, &err)));
	cr_expect(REFUSED(FS_WRITE,
			  file_write(f, 0, bytes_of(str_of("x")), &err)));
	cr_expect(REFUSED(FS_SYNC, file_sync(f, &err)));
	cr_expect(REFUSED(FS_TRUNCATE, file_truncate(f, 0, &err)));
	cr_expect(REFUSED(FS_ALLOCATE, file_allocate(f, 9, &err)));
	cr_expect(REFUSED(FS_STAT, file_size(f, &size, &err)));
	cr_assert(REFUSED(FS_MMAP, file_map(f, 4, &map, &err)));
	cr_expect(!map.len);
	cr_expect(REFUSED(FS_LINK,
			  fs_link(&w.fs, in(&d, "f"), in(&d, "g"), &err)));
	cr_expect(REFUSED(FS_UNLINK, fs_unlink(&w.fs, in(&d, "f"), &err)));
	cr_expect(REFUSED(FS_MKDIR, fs_mkdir(&w.fs, in(&d, "d"), &err)));
	cr_expect(REFUSED(FS_LIST, fs_list(&w.fs, d.path, &l, &err)));
	cr_expect(REFUSED(FS_RMDIR, fs_remove_dir(&w.fs, d.path, &err)));
	put_text(in(&d, "f"), "text");
	cr_expect(REFUSED(FS_SYNC_DIR, fs_sync_dir(&w.fs, d.path, &err)));
	cr_expect(REFUSED(FS_STAT, fs_size(&w.fs, in(&d, "f"), &size, &err)));
#undef REFUSED
	cr_expect(access(in(&d, "g"), F_OK) < 0);
	cr_expect(access(in(&d, "d"), F_OK) < 0);
	cr_expect(holds(in(&d, "f"), "text"), "nothing has happened");
	/*
	 * A close that is refused still closes the file. Otherwise the
	 * descriptor would leak.
	 */
	w.refused_op = FS_CLOSE;
	file_close(f);
	tempdir_fini(&d);
}

/* Ranges that could not be read. */
struct lost {
	uint64_t ranges[8][2];
	size_t count;
};

static void note_lost(void *ctx, uint64_t offset, uint64_t len)
{
	struct lost *l = ctx;

	l->ranges[l->count][0] = offset;
	l->ranges[l->count++][1] = len;
}

/* Makes a text of n bytes, in which all pages are different. */
static uint8_t *pages_of(size_t n)
{
	uint8_t *p = mem_alloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(1 + i / PAGE % 250);
	return p;
}

Test(file_access, bad_pages_are_zeros_and_the_rest_is_read)
{
	enum {
		PAGES = 40,
		SIZE = (PAGES - 1) * PAGE + 100
	};
	static const struct {
		uint64_t from; /* the unreadable pages */
		uint64_t to;
		uint64_t lost_len;
		int rc;
	} cases[] = {
		{ 0, 1, PAGE, 0 },       { 5, 6, PAGE, 0 },
		{ 15, 17, 2 * PAGE, 0 }, /* across two reads of 64 KiB */
		{ 39, 40, 100, 0 },      { 10, 40, 29 * PAGE + 100, 0 },
		{ 0, 40, 0, ERR_IO },
	};
	struct tempdir d = tempdir_make();
	uint8_t *want = pages_of(SIZE);
	struct err err;

	put_file(in(&d, "f"), want, SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct watch w = watch_of(FS_OPEN, 0);
		struct lost lost = { 0 };
		struct buf out = { 0 };
		struct file *f = NULL;

		w.from = cases[i].from * PAGE;
		w.to = cases[i].to * PAGE;
		buf_str(&out, "ab");
		cr_assert(!file_open(&w.fs, in(&d, "f"), FILE_READ, &f, &err));
		cr_expect(file_read_around(f, &out, note_lost, &lost, &err) ==
				  cases[i].rc,
			  "case %zu", i);
		cr_expect(cases[i].rc ||
				  (lost.count == 1 &&
				   lost.ranges[0][0] == w.from &&
				   lost.ranges[0][1] == cases[i].lost_len),
			  "case %zu", i);
		cr_expect(cases[i].rc ? out.len == 2 : out.len == 2 + SIZE);
		for (size_t k = 2; k < out.len; k++) {
			uint64_t at = k - 2;
			bool bad = at >= w.from && at < w.to;

			cr_assert(out.ptr[k] == (bad ? 0 : want[at]),
				  "case %zu, byte %zu", i, k);
		}
		file_close(f);
		buf_fini(&out);
	}
	mem_free(want);
	tempdir_fini(&d);
}

Test(file_access, an_error_in_passing_loses_nothing)
{
	struct tempdir d = tempdir_make();
	struct watch w = watch_of(FS_READ, 0);
	struct lost lost = { 0 };
	struct buf out = { 0 };
	struct file *f = NULL;
	uint8_t *want = pages_of(3 * PAGE);
	struct err err;

	put_file(in(&d, "f"), want, 3 * PAGE);
	cr_assert(!file_open(&w.fs, in(&d, "f"), FILE_READ, &f, &err));
	/*
	 * Four reads are tried: of the whole file, of 64 KiB, of one page, and
	 * of the page once more.
	 */
	for (unsigned refusals = 0; refusals <= 4; refusals++) {
		w.refused_errno = refusals ? EIO : 0;
		w.times = refusals;
		lost.count = 0;
		buf_reset(&out);
		cr_expect(!file_read_around(f, &out, note_lost, &lost, &err));
		cr_expect(lost.count == (refusals == 4), "%u", refusals);
		cr_assert(out.len == 3 * PAGE);
		cr_expect(!memcmp(out.ptr + PAGE, want + PAGE, 2 * PAGE));
		cr_expect(!memcmp(out.ptr, want, PAGE) == (refusals < 4));
	}
	buf_reset(&out);
	out.max = 3 * PAGE - 1;
	cr_expect(file_read_around(f, &out, note_lost, &lost, &err) ==
		  ERR_TOOBIG);
	file_close(f);
	buf_fini(&out);
	mem_free(want);
	tempdir_fini(&d);
}

Test(file_access, a_map_is_read_where_its_file_still_is)
{
	struct tempdir d = tempdir_make();
	struct watch w = watch_of(FS_OPEN, 0);
	struct file *f = NULL;
	struct bytes map = { 0 };
	uint8_t *want = pages_of(3 * PAGE);
	uint8_t got[2 * PAGE];
	struct err err;

	put_file(in(&d, "f"), want, 3 * PAGE);
	cr_assert(!file_open(&w.fs, in(&d, "f"), FILE_WRITE, &f, &err));
	cr_assert(!file_map(f, 3 * PAGE, &map, &err));
	cr_assert(map.len == 3 * PAGE);
	cr_expect(!file_map_read(f, map, 100, got, 2 * PAGE, &err));
	cr_expect(!memcmp(got, want + 100, 2 * PAGE));
	cr_expect(sigbus_copy(got, map.ptr + PAGE, PAGE));
	cr_expect(sigbus_copy(got, map.ptr, 0));
	/* A page that the hook refuses is read from the file instead. */
	w.refused_op = FS_PAGE;
	w.refused_errno = EIO;
	memset(got, 0, sizeof(got));
	cr_expect(!file_map_read(f, map, PAGE, got, PAGE, &err));
	cr_expect(!memcmp(got, want + PAGE, PAGE));
	w.refused_errno = 0;
	/*
	 * A read behind the end of the file fails, however often it is tried.
	 */
	cr_assert(!file_truncate(f, PAGE, &err));
	for (int i = 0; i < 3; i++) {
		cr_expect(!sigbus_copy(got, map.ptr + PAGE, 1));
		cr_expect(!sigbus_copy(got, map.ptr + PAGE - 1, 2));
		cr_expect(file_map_read(f, map, PAGE - 1, got, 2, &err) ==
			  ERR_CORRUPT);
		cr_expect(!file_map_read(f, map, PAGE - 2, got, 2, &err));
	}
	file_unmap(&map);
	cr_assert(!map.ptr);
	cr_expect(!map.len);
	file_unmap(&map);
	file_close(f);
	mem_free(want);
	tempdir_fini(&d);
}
