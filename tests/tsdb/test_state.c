/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `state`. It lists which records were removed on purpose, for as long
 * as the WAL may still have them. The old file stays until the new one is
 * complete.
 */
#include "tsdb/db/state.h"

#include <fcntl.h>

#include "base/enc.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"
#include "tsdb/io/record.h"

TestSuite(state, .timeout = 60);

struct scene {
	struct tempdir dir;
	struct hook hook;
	struct state s;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .dir = tempdir_make(), .hook = hook_make() };
	state_init(&s->s, &s->hook.fs, s->dir.path);
}

static void scene_fini(struct scene *s)
{
	state_fini(&s->s);
	tempdir_fini(&s->dir);
}

/* Read the file again, as a start does. */
static int load(struct scene *s)
{
	state_fini(&s->s);
	state_init(&s->s, &s->hook.fs, s->dir.path);
	return state_load(&s->s, NULL);
}

static int retire(struct scene *s, int64_t from, int64_t to, uint64_t first,
		  uint64_t last, uint64_t oldest)
{
	struct retired_span span = { from, to, first, last };

	return state_retire(&s->s, &span, oldest, NULL);
}

Test(state, a_record_is_retired_by_its_window_and_its_lsn)
{
	static const struct {
		int64_t window;
		uint64_t lsn;
		bool want;
	} cases[] = {
		{ 100, 10, true },  { 199, 20, true },   { 99, 15, false },
		{ 200, 15, false }, { 150, 9, false },   { 150, 21, false },
		{ -50, 500, true }, { -50, 499, false }, { -1, 500, true },
		{ 0, 500, false },  { 150, 500, false },
	};
	struct scene s;

	scene_init(&s);
	cr_expect(!load(&s), "a new database");
	cr_assert(!s.s.has_clock);
	cr_expect(!state_is_retired(&s.s, 0, 0));
	cr_expect(!retire(&s, 100, 200, 10, 20, 0));
	cr_expect(!retire(&s, -50, 0, 500, UINT64_MAX, 0));
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
			cr_expect(state_is_retired(&s.s, cases[i].window,
						   cases[i].lsn) ==
					  cases[i].want,
				  "case %zu", i);
		cr_assert(!load(&s));
		cr_expect(s.s.span_count == 2);
	}
	scene_fini(&s);
}

Test(state, spans_are_kept_as_long_as_the_wal_may_have_them)
{
	struct scene s;

	scene_init(&s);
	cr_expect(!retire(&s, 0, 9, 1, 10, 5));
	cr_expect(!retire(&s, 0, 9, 11, 20, 10));
	cr_expect(s.s.span_count == 2, "its last record may be there");
	cr_expect(!retire(&s, 0, 9, 21, 30, 11));
	cr_assert(s.s.span_count == 2);
	cr_expect(!state_is_retired(&s.s, 0, 10));
	cr_expect(!retire(&s, 0, 9, 31, 40, 99), "all are gone");
	cr_expect(s.s.span_count == 0);
	cr_assert(!load(&s));
	cr_expect(s.s.span_count == 0);
	scene_fini(&s);
}

Test(state, the_clock_is_kept)
{
	struct scene s;

	scene_init(&s);
	s.s.clock = (struct trusted_clock){ .trusted_ms = INT64_MAX,
					    .doubt_ms = INT64_MIN };
	cr_assert(!state_save(&s.s, NULL));
	cr_expect(!load(&s));
	cr_assert(s.s.has_clock);
	cr_assert(s.s.clock.trusted_ms == INT64_MAX);
	cr_expect(s.s.clock.doubt_ms == INT64_MIN);
	scene_fini(&s);
}

Test(state, the_old_state_stays_until_the_new_one_is_there)
{
	static const enum fs_op ops[] = { FS_OPEN, FS_WRITE, FS_SYNC,
					  FS_RENAME };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct scene s;

		scene_init(&s);
		cr_expect(!retire(&s, 0, 9, 1, 10, 0));
		hook_arm(&s.hook, ops[i], "/state", ENOSPC, 1);
		cr_expect(retire(&s, 0, 9, 11, 20, 0) == ERR_NOSPACE, "op %d",
			  ops[i]);
		cr_expect(!load(&s), "op %d", ops[i]);
		cr_assert(state_is_retired(&s.s, 0, 5), "op %d", ops[i]);
		cr_expect(!state_is_retired(&s.s, 0, 15), "op %d", ops[i]);
		scene_fini(&s);
	}
}

/* Writes a state file that announces two spans but has only one. */
static void write_short(const char *path)
{
	struct file_header h = { .magic = MAGIC_STATE, .salt = 7 };
	struct record rec = { .position = FILE_HEADER, .kind = 1 };
	struct buf body = { 0 };
	struct buf file = { 0 };
	int fd = open(path, O_WRONLY | O_TRUNC);

	enc_svarint(&body, 5);
	enc_svarint(&body, 0);
	enc_uvarint(&body, 2);
	for (int i = 0; i < 4; i++)
		enc_uvarint(&body, 1);
	rec.body = buf_bytes(&body);
	file_header_encode(&h, &file);
	record_encode(&rec, h.salt, &file);
	cr_assert(write(fd, file.ptr, file.len) == (ssize_t)file.len);
	close(fd);
	buf_fini(&body);
	buf_fini(&file);
}

Test(state, what_cannot_be_read_is_told_and_nothing_of_it_kept)
{
	struct scene s;
	struct err err = { .msg = "" };
	char path[160];

	scene_init(&s);
	s.s.clock.trusted_ms = 5;
	cr_expect(!retire(&s, 0, 9, 1, 10, 0));
	hook_arm(&s.hook, FS_READ, "/state", EIO, 1);
	cr_expect(load(&s) == ERR_IO);
	snprintf(path, sizeof(path), "%s/state", s.dir.path);
	cr_assert(!truncate(path, 100));
	cr_expect(load(&s) == ERR_CORRUPT);
	cr_assert(!s.s.has_clock);
	cr_assert(!s.s.clock.trusted_ms);
	cr_expect(!s.s.span_count);
	cr_expect(state_load(&s.s, &err) == ERR_CORRUPT);
	cr_expect(strstr(err.msg, path) != NULL, "%s", err.msg);
	cr_assert(!state_save(&s.s, NULL), "it is replaced");
	cr_expect(!load(&s), "it is replaced");
	/* The checksum is right, but one span is missing. */
	write_short(path);
	cr_expect(load(&s) == ERR_CORRUPT);
	cr_assert(!s.s.clock.trusted_ms);
	cr_expect(!s.s.span_count);
	scene_fini(&s);
	state_fini(&s.s); /* a second call does no harm */
}
