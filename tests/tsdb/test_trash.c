/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that are removed in the end, however often their removal fails,
 * and files that are set aside and must not be removed.
 */
#include "tsdb/io/trash.h"

#include <sys/stat.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"

TestSuite(trash, .timeout = 60);

struct scene {
	struct tempdir dir;
	struct hook hook;
	struct trash trash;
	char name[2][160];
};

/*
 * Makes directories "a" and "b" with a file in each. Both are listed to be
 * removed.
 */
static struct scene *scene_new(void)
{
	struct scene *s = mem_new(struct scene);

	s->dir = tempdir_make();
	s->hook = hook_make();
	s->trash.fs = &s->hook.fs;
	for (int i = 0; i < 2; i++) {
		char file[200];
		FILE *f;

		snprintf(s->name[i], sizeof(s->name[i]), "%s/%c", s->dir.path,
			 'a' + i);
		cr_assert(!mkdir(s->name[i], 0700));
		snprintf(file, sizeof(file), "%s/file", s->name[i]);
		f = fopen(file, "w");
		cr_assert(f);
		cr_assert(!fclose(f));
		trash_add(&s->trash, s->name[i], ".gone");
	}
	return s;
}

static void scene_free(struct scene *s)
{
	trash_fini(&s->trash);
	tempdir_fini(&s->dir);
	mem_free(s);
}

static bool is_there(const struct scene *s, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", s->dir.path, name);
	return access(path, F_OK) == 0;
}

/* Returns which of these names exist, in this order. */
static const char *names_there(const struct scene *s)
{
	static const char *const names[] = { "a", "b", "a.gone", "b.gone" };
	static char text[64];

	text[0] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (is_there(s, names[i])) {
			strcat(text, names[i]);
			strcat(text, " ");
		}
	}
	return text;
}

Test(trash, directories_go_with_all_that_is_in_them)
{
	struct scene *s = scene_new();

	cr_expect(!trash_empty(&s->trash, NULL));
	cr_expect(!strcmp(names_there(s), ""), "%s", names_there(s));
	cr_expect(s->trash.count == 0);
	cr_expect(!trash_empty(&s->trash, NULL), "nothing is left to do");
	scene_free(s);
}

/* Calls of one kind fail, once or always. Then the disk works again. */
static const struct {
	const char *name;
	enum fs_op op;
	const char *part;
	int times;
	int rc;
	size_t kept;
	const char *there;
} mishaps[] = {
	{ "no rename", FS_RENAME, "/a", -1, ERR_IO, 2, "a b " },
	{ "the second rename: nothing is removed yet", FS_RENAME, "/b", -1,
	  ERR_IO, 2, "b a.gone " },
	{ "the renames may not be durable", FS_SYNC_DIR, "", 1, ERR_IO, 2,
	  "b a.gone " },
	{ "the bytes of one cannot be removed", FS_UNLINK, "a.gone", -1, 0, 1,
	  "a.gone " },
	{ "the bytes of none can be removed", FS_UNLINK, "file", -1, 0, 2,
	  "a.gone b.gone " },
	{ "a directory cannot be removed", FS_RMDIR, "b.gone", 1, 0, 1,
	  "b.gone " },
};

Test(trash, what_could_not_be_removed_is_removed_by_the_next_call)
{
	for (size_t i = 0; i < ARRAY_SIZE(mishaps); i++) {
		struct scene *s = scene_new();
		int rc;

		hook_arm(&s->hook, mishaps[i].op, mishaps[i].part, EIO,
			 mishaps[i].times);
		rc = trash_empty(&s->trash, NULL);
		cr_expect(rc == mishaps[i].rc, "%s: %d", mishaps[i].name, rc);
		cr_expect(s->trash.count == mishaps[i].kept, "%s: %zu",
			  mishaps[i].name, s->trash.count);
		cr_expect(!strcmp(names_there(s), mishaps[i].there), "%s: %s",
			  mishaps[i].name, names_there(s));
		s->hook.times = 0;
		cr_expect(!trash_empty(&s->trash, NULL), "%s", mishaps[i].name);
		cr_assert(s->trash.count == 0, "%s", mishaps[i].name);
		cr_expect(!*names_there(s), "%s", mishaps[i].name);
		scene_free(s);
	}
}

Test(trash, what_was_renamed_once_is_not_renamed_again)
{
	struct scene *s = scene_new();

	hook_arm(&s->hook, FS_SYNC_DIR, "", EIO, 1);
	cr_expect(trash_empty(&s->trash, NULL) == ERR_IO);
	/* Another program creates a file of the same name. */
	cr_assert(!mkdir(s->name[0], 0700));
	cr_expect(!trash_empty(&s->trash, NULL));
	cr_expect(!strcmp(names_there(s), "a "), "%s", names_there(s));
	scene_free(s);
}

Test(trash, what_is_gone_already_needs_no_removal)
{
	struct scene *s = scene_new();

	tempdir_clear(s->name[0]);
	cr_expect(!trash_empty(&s->trash, NULL));
	cr_assert(s->trash.count == 0);
	cr_expect(!*names_there(s));
	scene_free(s);
}

Test(trash, hidden_directories_are_not_renamed)
{
	struct scene *s = scene_new();

	trash_fini(&s->trash);
	cr_assert(s->trash.count == 0);
	cr_expect(!s->trash.v);
	s->trash.fs = &s->hook.fs;
	trash_add_hidden(&s->trash, s->name[1]);
	hook_arm(&s->hook, FS_RENAME, "", EIO, -1);
	cr_expect(!trash_empty(&s->trash, NULL));
	cr_assert(s->hook.hits == 0, "%s", names_there(s));
	cr_expect(!strcmp(names_there(s), "a "), "%s", names_there(s));
	scene_free(s);
}

Test(trash, a_list_that_is_freed_removes_nothing)
{
	struct scene *s = scene_new();

	trash_fini(&s->trash);
	trash_fini(&s->trash); /* twice */
	cr_expect(!strcmp(names_there(s), "a b "));
	scene_free(s);
}

Test(trash, files_set_aside_replace_none_that_were_before)
{
	struct scene *s = scene_new();
	char path[160];

	snprintf(path, sizeof(path), "%s/log", s->dir.path);
	for (int i = 0; i < 3; i++) {
		FILE *f = fopen(path, "w");

		cr_assert(f);
		cr_assert(!fclose(f));
		cr_expect(!trash_rename_aside(NULL, path, ASIDE_DAMAGED, NULL));
		cr_expect(!is_there(s, "log"));
	}
	cr_expect(is_there(s, "log.damaged"));
	cr_expect(is_there(s, "log.damaged-2"));
	cr_expect(is_there(s, "log.damaged-3"));
	cr_expect(!is_there(s, "log.damaged-1"));
	cr_expect(!trash_rename_aside(NULL, s->name[0], ASIDE_DAMAGED, NULL),
		  "a directory, too");
	cr_expect(is_there(s, "a.damaged/file"));
	cr_expect(trash_rename_aside(NULL, path, ASIDE_DAMAGED, NULL) ==
		  ERR_NOTFOUND);
	scene_free(s);
}

Test(trash, too_many_files_set_aside_are_an_error)
{
	struct scene *s = scene_new();
	struct err err = { .msg = "" };
	char path[200];

	for (int i = 1; i <= 1000; i++) {
		snprintf(path, sizeof(path),
			 i == 1 ? "%s.damaged" : "%s.damaged-%d", s->name[0],
			 i);
		cr_assert(!mkdir(path, 0700));
	}
	cr_expect(trash_rename_aside(NULL, s->name[0], ASIDE_DAMAGED, &err) ==
		  ERR_EXISTS);
	cr_expect(strstr(err.msg, s->name[0]) != NULL, "%s", err.msg);
	cr_expect(is_there(s, "a"));
	snprintf(path, sizeof(path), "%s.damaged-7", s->name[0]);
	cr_assert(!rmdir(path));
	cr_expect(!trash_rename_aside(NULL, s->name[0], ASIDE_DAMAGED, NULL),
		  "a gap is used");
	cr_expect(is_there(s, "a.damaged-7/file"));
	scene_free(s);
}

Test(trash, a_name_is_only_used_when_it_is_certainly_free)
{
	static const struct {
		enum fs_op op;
		const char *there;
	} cases[] = {
		{ FS_STAT, "a" },             /* the name may be taken */
		{ FS_RENAME, "a" },           /* nothing was renamed */
		{ FS_SYNC_DIR, "a.damaged" }, /* may not be durable yet */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene *s = scene_new();

		hook_arm(&s->hook, cases[i].op, "", EIO, 1);
		cr_expect(trash_rename_aside(&s->hook.fs, s->name[0],
					     ASIDE_DAMAGED, NULL) == ERR_IO,
			  "op %d", cases[i].op);
		cr_expect(is_there(s, cases[i].there), "op %d", cases[i].op);
		scene_free(s);
	}
}
