/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/defs.h"

/*
 * Whether the file system of the file `fd` is virtual, or cannot be determined.
 * In a virtual file system, the kernel generates the content of files when they
 * are read. To read some of these files has an effect, as with /proc/kmsg.
 */
static bool file_system_is_virtual(int fd)
{
	static const unsigned long types[] = {
		PROC_SUPER_MAGIC,    SYSFS_MAGIC,      TRACEFS_MAGIC,
		DEBUGFS_MAGIC,       SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,     PSTOREFS_MAGIC,
		EFIVARFS_MAGIC,      BINFMTFS_MAGIC,   SELINUX_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if ((unsigned long)fs.f_type == types[i])
			return true;
	}
	return false;
}

int regular_file_reopen(int place)
{
	char again[64];
	struct stat st;

	if (fstat(place, &st) || !S_ISREG(st.st_mode) ||
	    file_system_is_virtual(place))
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	return open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int regular_file_open(const char *path)
{
	int place = open(path, O_PATH | O_CLOEXEC);
	int fd = place < 0 ? -1 : regular_file_reopen(place);

	if (place >= 0)
		close(place);
	return fd;
}

/*
 * Whether a file is public: its mode has the bit `others` (S_IROTH or S_IXOTH),
 * or the file belongs to the user who runs everprof, and this user is not root.
 */
static bool regular_file_is_public(const struct stat *st, mode_t others)
{
	uid_t own = geteuid();

	return st->st_mode & others || (own && st->st_uid == own);
}

/*
 * Whether `path`, which must not contain symbolic links, still leads to the
 * file `wanted`, and only through directories that are public
 * (regular_file_is_public()). `path` is overwritten.
 */
static bool regular_file_is_reachable(char *path, const struct stat *wanted)
{
	int dir = open("/", O_PATH | O_CLOEXEC);
	struct stat st;
	char *name;
	bool good = dir >= 0 && !fstat(dir, &st);

	while (good && (name = strtok_r(path, "/", &path))) {
		int next = -1;

		if (S_ISDIR(st.st_mode) && regular_file_is_public(&st, S_IXOTH))
			next = openat(dir, name,
				      O_PATH | O_CLOEXEC | O_NOFOLLOW);
		close(dir);
		dir = next;
		good = dir >= 0 && !fstat(dir, &st);
	}
	if (dir >= 0)
		close(dir);
	return good && st.st_dev == wanted->st_dev &&
	       st.st_ino == wanted->st_ino;
}

bool regular_file_has_list(int place)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	return getxattr(name, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != EOPNOTSUPP);
}

int regular_file_open_public(const char *path)
{
	int place = open(path, O_PATH | O_CLOEXEC);
	char real[PATH_MAX] = "";
	char link[64];
	struct stat st;
	int fd = -1;

	if (place < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	if (readlink(link, real, sizeof(real) - 1) > 0 && !fstat(place, &st) &&
	    regular_file_is_public(&st, S_IROTH) &&
	    !regular_file_has_list(place) &&
	    regular_file_is_reachable(real, &st))
		fd = regular_file_reopen(place);
	close(place);
	return fd;
}
