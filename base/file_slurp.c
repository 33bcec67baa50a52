/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_slurp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file_private.h"
#include "base/mem.h"

/*
 * Read until the end of the file, without relying on its size: for pipes and
 * files in /proc, the reported size is 0.
 */
static int read_to_end(int fd, const char *path, struct buf *out,
		       struct err *err)
{
	for (;;) {
		uint8_t piece[16 * KIB];
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read %s", path);
		if (!n)
			return 0;
		buf_add(out, piece, (size_t)n);
		if (out->over)
			return err_set(err, ERR_TOOBIG,
				       "%s is larger than %zu bytes", path,
				       out->max);
	}
}

/*
 * Read a file outside of the data directory. If `pipes` is false, a pipe is
 * refused, and O_NONBLOCK keeps open() from waiting for the pipe's writer.
 */
static int read_all(const char *path, bool pipes, struct buf *out,
		    struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (pipes ? 0 : O_NONBLOCK));
	int rc;

	if (fd < 0)
		return err_sys(err, "open %s", path);
	rc = pipes ? 0 : file_check_bytes(NULL, path, fd, ERR_INVALID, err);
	if (!rc)
		rc = read_to_end(fd, path, out, err);
	close(fd);
	return rc;
}

int file_slurp(const char *path, struct buf *out, struct err *err)
{
	return read_all(path, false, out, err);
}

int file_slurp_fd(int fd, const char *path, struct buf *out, struct err *err)
{
	return read_to_end(fd, path, out, err);
}

int file_drain(const char *path, struct buf *out, struct err *err)
{
	return read_all(path, true, out, err);
}

struct file_stamp file_stamp(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct file_stamp){ 0 };
	return (struct file_stamp){
		.mtime_ns =
			st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec,
		.size = st.st_size,
		.inode = st.st_ino,
	};
}
