/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock on a data directory: who gets it, who is told what, and what is left
 * of it when its holder is gone.
 */
#include "tsdb/io/dirlock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file_slurp.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(dirlock, .timeout = 60);

/*
 * Returns the path of the file `lock` of a directory. The caller frees the
 * path.
 */
static char *lock_of(const struct tempdir *dir)
{
	return mem_printf("%s/lock", dir->path);
}

static bool holds(const struct tempdir *dir, const char *text)
{
	CLEANUP(mem_freep) char *path = lock_of(dir);
	struct buf b = { 0 };
	bool same;

	cr_assert(!file_slurp(path, &b, NULL));
	same = check_str(str_from(buf_bytes(&b)), text);
	buf_fini(&b);
	return same;
}

Test(dirlock, a_lock_is_taken_once)
{
	struct tempdir dir = tempdir_make();
	struct dirlock *first = NULL;
	struct dirlock *second = NULL;
	struct err err = { .msg = "" };
	char pid[32];

	cr_expect(!dirlock_is_held(dir.path), "nobody has it");
	cr_assert(!dirlock_take(dir.path, &first, NULL));
	cr_expect(dirlock_is_held(dir.path));
	cr_expect(dirlock_take(dir.path, &second, &err) == ERR_BUSY);
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	cr_expect(strstr(err.msg, pid) != NULL, "%s", err.msg);
	cr_expect(strstr(err.msg, dir.path) != NULL, "%s", err.msg);
	cr_expect(!second);
	cr_expect(dirlock_is_held(dir.path), "a refusal does not release it");
	dirlock_release(first);
	cr_expect(!dirlock_is_held(dir.path));
	tempdir_fini(&dir);
}

Test(dirlock, the_file_names_its_holder_and_stays)
{
	struct tempdir dir = tempdir_make();
	CLEANUP(mem_freep) char *path = lock_of(&dir);
	struct dirlock *l = NULL;
	char pid[32];
	FILE *f = fopen(path, "w");

	/* The file still has a longer text from before. */
	cr_assert(f);
	cr_assert(fputs("123456789012345\nand more\n", f) >= 0);
	cr_assert(!fclose(f));
	cr_assert(!dirlock_take(dir.path, &l, NULL));
	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	cr_expect(holds(&dir, pid));
	dirlock_release(l);
	cr_expect(holds(&dir, pid));
	cr_assert(!dirlock_take(dir.path, &l, NULL), "and does not lock out");
	dirlock_release(l);
	dirlock_release(NULL);
	tempdir_fini(&dir);
}

Test(dirlock, a_cleaner_that_removes_the_file_does_not_release_the_lock)
{
	struct tempdir dir = tempdir_make();
	CLEANUP(mem_freep) char *path = lock_of(&dir);
	struct dirlock *first = NULL;
	struct dirlock *second = NULL;
	struct err err = { .msg = "" };

	cr_assert(!dirlock_take(dir.path, &first, NULL));
	cr_assert(!unlink(path));
	cr_expect(dirlock_is_held(dir.path));
	cr_expect(dirlock_take(dir.path, &second, &err) == ERR_BUSY);
	cr_expect(!strstr(err.msg, "pid"), "%s", err.msg);
	dirlock_release(first);
	tempdir_fini(&dir);
}

/* Earlier versions locked only the file `lock`. Their lock counts, too. */
Test(dirlock, the_lock_of_an_earlier_version_counts)
{
	struct tempdir dir = tempdir_make();
	CLEANUP(mem_freep) char *path = lock_of(&dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	struct dirlock *l = NULL;
	struct err err = { .msg = "" };

	cr_assert(fd >= 0);
	cr_assert(dprintf(fd, "4711\n") > 0);
	cr_assert(!flock(fd, LOCK_EX | LOCK_NB));
	cr_expect(dirlock_is_held(dir.path));
	cr_expect(dirlock_take(dir.path, &l, &err) == ERR_BUSY);
	cr_expect(strstr(err.msg, "pid 4711") != NULL, "%s", err.msg);
	close(fd);
	cr_expect(!dirlock_is_held(dir.path), "the refused one kept nothing");
	cr_expect(holds(&dir, "4711\n"), "nor changed the file");
	tempdir_fini(&dir);
}

Test(dirlock, a_dead_process_holds_nothing)
{
	struct tempdir dir = tempdir_make();
	struct dirlock *l = NULL;
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(dirlock_take(dir.path, &l, NULL) ? 1 : 0);
	cr_assert(waitpid(pid, &status, 0) == pid);
	cr_assert(!status);
	cr_expect(!dirlock_is_held(dir.path));
	cr_assert(!dirlock_take(dir.path, &l, NULL));
	dirlock_release(l);
	tempdir_fini(&dir);
}

Test(dirlock, what_is_no_directory_cannot_be_locked)
{
	struct tempdir dir = tempdir_make();
	CLEANUP(mem_freep) char *missing = mem_printf("%s/none", dir.path);
	CLEANUP(mem_freep) char *file = mem_printf("%s/file", dir.path);
	FILE *f = fopen(file, "w");
	struct dirlock *l = NULL;
	struct err err = { .msg = "" };

	cr_assert(f);
	cr_assert(!fclose(f));
	cr_expect(dirlock_take(missing, &l, &err) == ERR_NOTFOUND);
	cr_expect(strstr(err.msg, missing) != NULL, "%s", err.msg);
	cr_expect(!dirlock_is_held(missing));
	cr_expect(dirlock_take(file, &l, NULL) == ERR_IO);
	cr_assert(!dirlock_is_held(file));
	cr_expect(!l);
	tempdir_fini(&dir);
}

Test(dirlock, a_look_creates_no_file)
{
	struct tempdir dir = tempdir_make();
	CLEANUP(mem_freep) char *path = lock_of(&dir);

	cr_expect(!dirlock_is_held(dir.path));
	cr_expect(access(path, F_OK) < 0);
	tempdir_fini(&dir);
}
