/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor of a remote-write queue: written in turn, through damage. */
#include "remotewrite/send/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"

TestSuite(cursor, .timeout = 30);

static void put_be32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* A cursor in a directory of its own. */
struct scene {
	struct tempdir dir;
	char path[160];
	struct cursor *c;
	struct cursor_state state;
	enum cursor_origin origin;
};

static struct scene scene_of(void)
{
	struct scene s = { .dir = tempdir_make() };

	snprintf(s.path, sizeof(s.path), "%s/q.cursor", s.dir.path);
	return s;
}

/* Open the cursor; a new one gets the position `begin`. */
static void open_at(struct scene *s, uint64_t begin)
{
	struct err err = { .msg = "" };

	cursor_close(s->c);
	s->c = NULL;
	s->state = (struct cursor_state){ .acked = begin };
	cr_assert(
		!cursor_open(NULL, s->path, &s->state, &s->origin, &s->c, &err),
		"%s", err.msg);
}

static void write_acked(struct scene *s, uint64_t acked)
{
	s->state.acked = acked;
	s->state.number = acked + 5;
	s->state.sample_ms = 1700000000999;
	cr_assert(!cursor_write(s->c, &s->state, NULL));
}

static void scene_end(struct scene *s)
{
	cursor_close(s->c);
	tempdir_fini(&s->dir);
}

/* Overwrite bytes of the file. */
static void overwrite(struct scene *s, off_t at, const char *bytes, size_t n)
{
	int fd = open(s->path, O_RDWR);

	cr_assert(fd >= 0);
	cr_assert(pwrite(fd, bytes, n, at) == (ssize_t)n);
	close(fd);
}

Test(cursor, the_last_state_is_read_again)
{
	struct scene s = scene_of();

	open_at(&s, 77);
	cr_expect(s.state.acked == 77);
	open_at(&s, 5);
	cr_expect(s.state.acked == 77, "an existing file counts");
	for (uint64_t n = 100; n < 120; n++) {
		s.state.safe = n / 2;
		s.state.trusted_ms = (int64_t)n + 1;
		s.state.doubt_ms = (int64_t)n + 2;
		write_acked(&s, n);
		cr_expect(!cursor_sync(s.c, NULL));
		open_at(&s, 0);
		cr_assert(s.state.acked == n);
		cr_expect(s.state.safe == n / 2);
		cr_assert(s.state.trusted_ms == (int64_t)n + 1);
		cr_expect(s.state.doubt_ms == (int64_t)n + 2);
	}
	scene_end(&s);
}

/* A write that was cut short leaves the state before it. */
Test(cursor, a_damaged_slot_costs_one_state)
{
	for (off_t at = 0; at < 128; at++) {
		struct scene s = scene_of();
		char byte = 0;
		int fd;

		open_at(&s, 1);
		write_acked(&s, 2); /* in the second slot */
		write_acked(&s, 3); /* in the first slot */
		fd = open(s.path, O_RDONLY);
		cr_assert(pread(fd, &byte, 1, at) == 1);
		close(fd);
		byte = (char)~byte;
		overwrite(&s, at, &byte, 1);
		open_at(&s, 0);
		cr_expect(s.state.acked == (at < 64 ? 2 : 3), "%d: %d", (int)at,
			  (int)s.state.acked);
		scene_end(&s);
	}
}

/* Nothing counts as acknowledged: samples are sent twice, but none is lost. */
Test(cursor, a_file_without_an_intact_slot_states_nothing)
{
	static const size_t lengths[] = { 0, 1, 63, 64, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct scene s = scene_of();

		open_at(&s, 1);
		write_acked(&s, 2);
		overwrite(&s, 0, "garbage", 7);
		cr_assert(!truncate(s.path, (off_t)lengths[i]));
		open_at(&s, 9);
		cr_assert(s.origin == CURSOR_DAMAGED, "%zu", lengths[i]);
		cr_expect(s.state.acked == 0, "%zu", lengths[i]);
		write_acked(&s, 10);
		write_acked(&s, 11);
		open_at(&s, 0);
		cr_assert(s.state.acked == 11);
		cr_expect(s.origin == CURSOR_READ);
		scene_end(&s);
	}
}

/* What the disk may read later is kept. */
Test(cursor, a_file_that_cannot_be_read_is_kept)
{
	struct hook disk = hook_make();
	struct scene s = scene_of();
	CLEANUP(mem_freep) char *kept = mem_printf("%s.unread", s.path);

	open_at(&s, 1);
	write_acked(&s, 2);
	cursor_close(s.c);
	s.c = NULL;
	hook_arm(&disk, FS_READ, "q.cursor", EIO, 1);
	cr_assert(!cursor_open(&disk.fs, s.path, &s.state, &s.origin, &s.c,
			       NULL));
	cr_assert(s.origin == CURSOR_UNREADABLE);
	cr_expect(s.state.acked == 0);
	/* everprof ended before it made a new file: nothing is acknowledged. */
	cursor_close(s.c);
	s.c = NULL;
	cr_assert(!unlink(s.path));
	open_at(&s, 9);
	cr_assert(s.origin == CURSOR_UNREADABLE);
	cr_expect(s.state.acked == 0);
	cursor_close(s.c);
	s.c = NULL;
	cr_assert(!rename(kept, s.path));
	open_at(&s, 9);
	cr_assert(s.state.acked == 2);
	cr_expect(s.origin == CURSOR_READ);
	/* If it cannot be kept, it is not replaced. */
	cursor_close(s.c);
	s.c = NULL;
	hook_arm(&disk, FS_READ, "q.cursor", EIO, 1);
	cr_assert(!mkdir(kept, 0700));
	cr_expect(
		cursor_open(&disk.fs, s.path, &s.state, &s.origin, &s.c, NULL));
	open_at(&s, 9);
	cr_assert(s.state.acked == 2);
	cr_expect(s.origin == CURSOR_READ);
	scene_end(&s);
}

/* A slot of the next version, with a checksum that is right. */
Test(cursor, a_newer_format_is_refused)
{
	struct scene s = scene_of();
	struct buf bytes = { 0 };
	uint64_t serial;

	open_at(&s, 1);
	cr_assert(!file_slurp(s.path, &bytes, NULL));
	bytes.ptr[4]++;
	cr_expect(cursor_decode(buf_bytes(&bytes), &s.state, &serial, NULL) ==
			  ERR_CORRUPT,
		  "the checksum covers the version");
	put_be32(bytes.ptr + 60,
		 crc32c_extend(0, (struct bytes){ bytes.ptr, 60 }));
	cr_expect(cursor_decode(buf_bytes(&bytes), &s.state, &serial, NULL) ==
		  ERR_UNSUPPORTED);
	buf_fini(&bytes);
	scene_end(&s);
}
