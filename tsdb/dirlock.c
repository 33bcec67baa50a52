/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/dirlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"

struct dirlock {
	int fd;
};

static int busy(int fd, const char *dir, struct err *err)
{
	char pid[32];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = 0;
	return err_set(err, ERR_BUSY,
		       "%s is in use by the everprof with pid %ld", dir,
		       strtol(pid, NULL, 10));
}

int dirlock_take(const char *dir, struct dirlock **out, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	struct dirlock *l;
	int rc = 0;

	if (fd < 0)
		return err_sys(err, "open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		rc = errno == EWOULDBLOCK ? busy(fd, dir, err) :
					    err_sys(err, "lock %s", path);
	if (rc) {
		close(fd);
		return rc;
	}
	/* The lock is ours even where there is no room for the pid. */
	if (ftruncate(fd, 0) < 0 || dprintf(fd, "%d\n", getpid()) < 0) {
		/* Then the next one is told "pid 0". */
	}
	l = mem_new(struct dirlock);
	l->fd = fd;
	*out = l;
	return 0;
}

void dirlock_release(struct dirlock *l)
{
	if (!l)
		return;
	close(l->fd);
	mem_free(l);
}

bool dirlock_is_held(const char *dir)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/lock", dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return held;
}
