/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/dirlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * A lock: two file descriptors, each with a flock(). One is on the directory
 * itself, because a program that cleans up temporary files may remove a lock
 * file, but not the directory (docs/decisions.md, 90). The other is on the file
 * `lock` in the directory, which contains the process id; earlier versions of
 * everprof check only this lock.
 */
struct dirlock {
	int dir;
	int file;
};

/*
 * Set ERR_BUSY. The message contains the process id of the process that holds
 * the lock, read from the lock file `fd`, if it has one.
 */
static int dirlock_fail_busy(int fd, const char *dir, struct err *err)
{
	char pid[32];
	ssize_t n = fd < 0 ? 0 : pread(fd, pid, sizeof(pid) - 1, 0);
	long number;

	pid[n > 0 ? n : 0] = 0;
	number = strtol(pid, NULL, 10);
	/* The file is empty while the other process starts, or on a full disk. */
	if (number <= 0)
		return err_set(err, ERR_BUSY,
			       "%s is in use by another everprof process", dir);
	return err_set(err, ERR_BUSY,
		       "%s is in use by another everprof process (pid %ld)",
		       dir, number);
}

/*
 * Lock the file `fd` without waiting. If `fd` is negative, its open() has
 * failed, and errno must still have the error of open().
 */
static int dirlock_lock(int fd, const char *path, const struct dirlock *l,
			const char *dir, struct err *err)
{
	if (fd < 0)
		return err_sys(err, "open %s", path);
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? dirlock_fail_busy(l->file, dir, err) :
				      err_sys(err, "lock %s", dir);
}

/* Path of the lock file; the caller frees it. */
static char *file_in(const char *dir)
{
	return mem_printf("%s/lock", dir);
}

int dirlock_take(const char *dir, struct dirlock **out, struct err *err)
{
	CLEANUP(mem_freep) char *path = file_in(dir);
	struct dirlock *l = mem_new(struct dirlock);
	int rc;

	l->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->file = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0640);
	rc = dirlock_lock(l->dir, dir, l, dir, err);
	if (!rc)
		rc = dirlock_lock(l->file, path, l, dir, err);
	if (rc) {
		dirlock_release(l);
		return rc;
	}
	/*
	 * Write the process id. This fails on a full disk. The lock is held all
	 * the same, so that a server that starts on a full disk can answer
	 * queries (docs/decisions.md, 15).
	 */
	if (!ftruncate(l->file, 0))
		/* If it fails, other processes report "pid 0". */
		(void)!dprintf(l->file, "%d\n", getpid());
	*out = l;
	return 0;
}

void dirlock_release(struct dirlock *l)
{
	if (!l)
		return;
	if (l->file >= 0)
		close(l->file);
	if (l->dir >= 0)
		close(l->dir);
	mem_free(l);
}

/*
 * Whether a process holds the lock on the file or directory at path. The shared
 * lock taken here conflicts with the holder's exclusive lock; close() releases
 * it at once.
 */
static bool is_held(const char *path)
{
	/* Without O_NONBLOCK, opening a pipe would wait for its writer. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return held;
}

bool dirlock_is_held(const char *dir)
{
	CLEANUP(mem_freep) char *path = file_in(dir);

	return is_held(dir) || is_held(path);
}
