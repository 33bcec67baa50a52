/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/finder/debug_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "symbols/elf_file.h"

bool debug_file_path(const char *dir, struct bytes build_id, struct buf *out)
{
	if (build_id.len < 2 || build_id.len > ELF_BUILD_ID_MAX || !dir ||
	    !*dir)
		return false;
	buf_printf(out, "%s/.build-id/%02x/", dir, build_id.ptr[0]);
	for (size_t i = 1; i < build_id.len; i++)
		buf_printf(out, "%02x", build_id.ptr[i]);
	buf_str(out, ".debug");
	return true;
}

/* Return the directory of a path, with the slash at its end. */
static struct str path_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return (struct str){ .ptr = path,
			     .len = slash ? (size_t)(slash + 1 - path) : 0 };
}

bool debug_link_path(const char *dir, const char *path, struct str link,
		     unsigned i, struct buf *out)
{
	struct str folder = path_directory(path);

	if (!folder.len || *path != '/' || !link.len ||
	    memchr(link.ptr, '/', link.len) || str_is(link, "..") ||
	    (i == 2 && (!dir || !*dir)))
		return false;
	buf_printf(out, "%s%.*s%s%.*s", i == 2 ? dir : "", STR_ARG(folder),
		   i == 1 ? ".debug/" : "", STR_ARG(link));
	return i < DEBUG_LINK_PLACES;
}

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

int regular_file_open(const char *path)
{
	char again[64];
	struct stat st;
	int place = open(path, O_PATH | O_CLOEXEC);
	int fd = -1;

	if (place < 0)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	if (!fstat(place, &st) && S_ISREG(st.st_mode) &&
	    !file_system_is_virtual(place))
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(place);
	return fd;
}
