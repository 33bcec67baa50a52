/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ballast is made once, given back when asked, and made again. It takes at
 * most half of the space that is free.
 */
#include "tsdb/io/ballast.h"

#include <sys/stat.h>

#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"

TestSuite(ballast, .timeout = 60);

#define SIZE (256 * 1024)

struct scene {
	struct tempdir dir;
	struct hook hook;
	struct ballast b;
	char path[160];
};

static void scene_init(struct scene *s, uint64_t size)
{
	*s = (struct scene){ .dir = tempdir_make(), .hook = hook_make() };
	snprintf(s->path, sizeof(s->path), "%s/ballast", s->dir.path);
	ballast_init(&s->b, &s->hook.fs, s->dir.path, size);
}

static void scene_fini(struct scene *s)
{
	ballast_fini(&s->b);
	tempdir_fini(&s->dir);
}

/* Size of the file, -1 without one. It must be what ballast_bytes() says. */
static int64_t held(struct scene *s)
{
	struct stat st;
	bool there = !stat(s->path, &st);

	cr_expect(ballast_bytes(&s->b) == (there ? (uint64_t)st.st_size : 0));
	return there ? st.st_size : -1;
}

Test(ballast, it_is_made_and_given_back)
{
	struct scene s;
	struct stat st;

	scene_init(&s, SIZE);
	cr_expect(held(&s) == -1, "nothing is made by itself");
	ballast_release(&s.b);
	for (int round = 0; round < 2; round++) {
		ballast_make(&s.b);
		ballast_make(&s.b); /* has no effect the second time */
		cr_expect(held(&s) == SIZE);
		cr_assert(!stat(s.path, &st), "not a hole");
		cr_expect(st.st_blocks * 512 >= SIZE, "not a hole");
		ballast_release(&s.b);
		ballast_release(&s.b); /* has no effect the second time */
		cr_expect(held(&s) == -1);
	}
	scene_fini(&s);
}

Test(ballast, the_file_of_an_earlier_run_is_taken_over)
{
	struct scene s;

	scene_init(&s, SIZE);
	ballast_make(&s.b);
	ballast_fini(&s.b);
	ballast_fini(&s.b); /* has no effect the second time */
	cr_expect(!access(s.path, F_OK), "the file stays");
	ballast_init(&s.b, &s.hook.fs, s.dir.path, SIZE);
	cr_expect(held(&s) == SIZE);
	hook_arm(&s.hook, FS_ALLOCATE, "", EIO, -1);
	ballast_make(&s.b);
	cr_assert(s.hook.hits == 0, "it is as it should");
	cr_expect(held(&s) == SIZE, "it is as it should");
	ballast_release(&s.b);
	cr_expect(held(&s) == -1);
	scene_fini(&s);
}

Test(ballast, a_file_of_another_size_is_replaced)
{
	static const uint64_t sizes[] = { SIZE / 2, SIZE * 2, SIZE + 1, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct scene s;

		scene_init(&s, SIZE);
		ballast_make(&s.b);
		ballast_fini(&s.b);
		ballast_init(&s.b, &s.hook.fs, s.dir.path, sizes[i]);
		cr_expect(held(&s) == SIZE);
		ballast_make(&s.b);
		cr_expect(ballast_bytes(&s.b) == sizes[i], "%zu", i);
		if (sizes[i])
			cr_expect(held(&s) == (int64_t)sizes[i], "%zu", i);
		scene_fini(&s);
	}
}

Test(ballast, it_takes_at_most_half_of_what_is_free)
{
	struct scene s;

	scene_init(&s, (uint64_t)1 << 61);
	hook_arm(&s.hook, FS_ALLOCATE, "", 0, -1);
	ballast_make(&s.b);
	cr_expect(held(&s) == -1);
	cr_expect(s.hook.hits == 0, "not even asked for");
	scene_fini(&s);
}

Test(ballast, a_disk_that_has_no_room_is_asked_again)
{
	static const enum fs_op ops[] = { FS_OPEN, FS_TRUNCATE, FS_ALLOCATE };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct scene s;

		scene_init(&s, SIZE);
		hook_arm(&s.hook, ops[i], "/ballast", ENOSPC, 1);
		ballast_make(&s.b);
		cr_assert(s.hook.hits == 1, "op %d", ops[i]);
		cr_expect(held(&s) == -1, "op %d", ops[i]);
		ballast_make(&s.b);
		cr_expect(held(&s) == SIZE, "op %d", ops[i]);
		scene_fini(&s);
	}
}

Test(ballast, a_file_that_stays_is_counted)
{
	struct scene s;

	scene_init(&s, SIZE);
	ballast_make(&s.b);
	hook_arm(&s.hook, FS_UNLINK, "/ballast", EIO, 1);
	ballast_release(&s.b);
	cr_expect(held(&s) == SIZE);
	ballast_release(&s.b);
	cr_expect(held(&s) == -1);
	scene_fini(&s);
}

Test(ballast, a_small_disk_needs_an_eighth_of_its_size_to_go_on)
{
	static const struct {
		uint64_t size;
		uint64_t total;
		uint64_t want;
	} cases[] = {
		{ 32 << 20, 100ULL << 30, 64 << 20 },
		{ 32 << 20, 512 << 20, 64 << 20 },
		{ 32 << 20, 40 << 20, 5 << 20 },
		{ 0, 40 << 20, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ballast b = { .size = cases[i].size };

		cr_expect(ballast_space_needed(&b, cases[i].total) ==
				  cases[i].want,
			  "%zu", i);
	}
}
