/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/regular_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/defs.h"

/*
 * Whether the kernel makes the content of the files of a file system when they
 * are read. To read some of them has an effect, as with /proc/kmsg.
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
