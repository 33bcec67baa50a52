/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file_private.h"
#include "base/mem.h"
#include "base/sigbus.h"

/* Size of a page in bytes: the smallest unit read from a damaged file. */
#define PAGE 4096u
/*
 * Number of bytes read at once from a damaged file; where that fails, the file
 * is read page by page.
 */
#define PIECE (64 * KIB)

/*
 * An open file. The position of its descriptor is not used: every read and
 * write names an offset.
 */
struct file {
	struct fs *fs;
	char *path;
	int fd;
};

/* Names of the operations, as verbs in error messages. */
static const char *const op_names[] = {
	[FS_OPEN] = "open",
	[FS_READ] = "read",
	[FS_WRITE] = "write",
	[FS_SYNC] = "sync",
	[FS_TRUNCATE] = "truncate",
	[FS_ALLOCATE] = "allocate",
	[FS_MMAP] = "map",
	[FS_RENAME] = "rename",
	[FS_LINK] = "link",
	[FS_UNLINK] = "remove",
	[FS_MKDIR] = "create directory",
	[FS_RMDIR] = "remove",
	[FS_SYNC_DIR] = "sync",
	[FS_STAT] = "stat",
	[FS_LIST] = "list",
	[FS_CLOSE] = "close",
	[FS_PAGE] = "read",
};

int fs_call_before(struct fs *fs, const struct fs_call *call)
{
	int refused = fs && fs->before ? fs->before(fs, call) : 0;

	if (refused)
		errno = refused;
	return refused ? -1 : 0;
}

int fs_call_done(struct fs *fs, const struct fs_call *call, int rc,
		 struct err *err)
{
	if (rc < 0)
		return err_sys(err, "%s %s", op_names[call->op], call->path);
	if (fs && fs->after)
		fs->after(fs, call);
	return 0;
}

/*
 * Return the flags of open() for a mode. file_open() chooses the permission
 * bits.
 */
static int open_flags(enum file_mode mode)
{
	switch (mode) {
	case FILE_READ:
		return O_RDONLY | O_CLOEXEC;
	case FILE_WRITE:
		return O_RDWR | O_CLOEXEC;
	case FILE_CREATE:
		return O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL;
	case FILE_ENSURE:
		return O_RDWR | O_CLOEXEC | O_CREAT;
	}
	return O_RDONLY;
}

/* Call fstat() on an open file, with the hooks of fs. */
static int stat_fd(struct fs *fs, const char *path, int fd, struct stat *st,
		   struct err *err)
{
	struct fs_call call = { .op = FS_STAT, .path = path, .fd = fd };
	int rc = fs_call_before(fs, &call);

	*st = (struct stat){ 0 };
	return fs_call_done(fs, &call, rc ? rc : fstat(fd, st), err);
}

int file_check_bytes(struct fs *fs, const char *path, int fd, int refusal,
		     struct err *err)
{
	struct stat st;
	int rc = stat_fd(fs, path, fd, &st, err);

	if (rc || S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))
		return rc;
	return err_set(err, refusal, "%s is not a regular file", path);
}

/*
 * Close a descriptor. If the hook refuses the call, the descriptor is closed
 * all the same: that is what Linux does when close() fails.
 */
static void close_fd(struct fs *fs, const char *path, int fd)
{
	struct fs_call call = { .op = FS_CLOSE, .path = path, .fd = fd };
	bool refused = fs_call_before(fs, &call) != 0;

	/*
	 * The result of close() is ignored: data that must be durable was
	 * synced before.
	 */
	close(fd);
	if (!refused && fs && fs->after)
		fs->after(fs, &call);
}

int file_open(struct fs *fs, const char *path, enum file_mode mode,
	      struct file **out, struct err *err)
{
	struct fs_call call = { .op = FS_OPEN,
				.path = path,
				.fd = -1,
				.create = mode >= FILE_CREATE };
	struct file *f;
	int rc;

	rc = fs_call_before(fs, &call);
	/*
	 * Without O_NONBLOCK, opening a pipe would wait for its writer. Files
	 * are not world-readable.
	 */
	if (!rc)
		rc = call.fd = open(path, open_flags(mode) | O_NONBLOCK, 0640);
	rc = fs_call_done(fs, &call, rc, err);
	if (rc)
		return rc;
	rc = file_check_bytes(fs, path, call.fd, ERR_CORRUPT, err);
	if (rc) {
		close_fd(fs, path, call.fd);
		return rc;
	}
	f = mem_new(struct file);
	f->fs = fs;
	f->fd = call.fd;
	f->path = mem_strdup(path);
	*out = f;
	return 0;
}

void file_close(struct file *f)
{
	if (!f)
		return;
	close_fd(f->fs, f->path, f->fd);
	mem_free(f->path);
	mem_free(f);
}

void file_closep(struct file **f)
{
	file_close(*f);
	*f = NULL;
}

const char *file_path(const struct file *f)
{
	return f->path;
}

int file_size(const struct file *f, uint64_t *out, struct err *err)
{
	struct stat st;
	int rc = stat_fd(f->fs, f->path, f->fd, &st, err);

	if (!rc)
		*out = (uint64_t)st.st_size;
	return rc;
}

/* Return the struct fs_call that describes a call on f, for the hooks. */
static struct fs_call call_on(const struct file *f, enum fs_op op,
			      uint64_t offset, size_t len)
{
	return (struct fs_call){ .op = op,
				 .path = f->path,
				 .fd = f->fd,
				 .offset = offset,
				 .len = len };
}

int file_read(const struct file *f, uint64_t offset, void *p, size_t n,
	      struct err *err)
{
	struct fs_call call = call_on(f, FS_READ, offset, n);
	size_t got = 0;

	if (fs_call_before(f->fs, &call))
		return fs_call_done(f->fs, &call, -1, err);
	/*
	 * pread() may return less than was asked for, and is interrupted by
	 * signals.
	 */
	while (got < n) {
		ssize_t rc = pread(f->fd, (char *)p + got, n - got,
				   (off_t)(offset + got));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return fs_call_done(f->fs, &call, -1, err);
		if (!rc)
			return err_set(
				err, ERR_CORRUPT,
				"%s is too short: cannot read %zu bytes at offset %llu",
				f->path, n, (unsigned long long)offset);
		got += (size_t)rc;
	}
	return fs_call_done(f->fs, &call, 0, err);
}

int file_read_all(const struct file *f, struct buf *out, struct err *err)
{
	uint64_t size = 0;
	int rc = file_size(f, &size, err);

	if (rc)
		return rc;
	if (!buf_reserve(out, (size_t)size))
		return err_set(err, ERR_TOOBIG, "%s is larger than %zu bytes",
			       f->path, out->max);
	rc = file_read(f, 0, out->ptr + out->len, (size_t)size, err);
	if (!rc)
		out->len += (size_t)size;
	return rc;
}

/*
 * State of reading a damaged file in pieces, without the bad sectors. An
 * unreadable range is reported only when its end is known, so that adjacent
 * pages are reported as one range.
 */
struct around {
	const struct file *f;
	uint8_t *to; /* memory that receives the whole file */
	uint64_t size;
	uint64_t lost_from; /* start of the current unreadable range */
	/*
	 * end of the current unreadable range; equal to `lost_from` if there is
	 * no such range
	 */
	uint64_t lost_to;
	uint64_t read; /* number of bytes that could be read so far */
	void (*lost)(void *ctx, uint64_t offset, uint64_t len);
	void *ctx;
};

/* Report the current unreadable range, if any, and reset it to no range. */
static void tell_lost(struct around *a)
{
	if (a->lost_to > a->lost_from)
		a->lost(a->ctx, a->lost_from, a->lost_to - a->lost_from);
	a->lost_from = a->lost_to = 0;
}

/*
 * Read one page, twice if need be: the first error may be transient. An
 * unreadable page becomes zeros and extends the current unreadable range.
 */
static int read_page(struct around *a, uint64_t at, size_t n, struct err *err)
{
	int rc = file_read(a->f, at, a->to + at, n, err);

	if (rc == ERR_IO)
		rc = file_read(a->f, at, a->to + at, n, err);
	if (rc == ERR_IO) {
		memset(a->to + at, 0, n);
		if (a->lost_to != at)
			tell_lost(a);
		a->lost_from = a->lost_to == at ? a->lost_from : at;
		a->lost_to = at + n;
		return 0;
	}
	a->read += n;
	return rc;
}

/*
 * Return how many bytes to read at offset `at`: `piece` bytes, or fewer at the
 * end of the file.
 */
static size_t piece_at(const struct around *a, uint64_t at, size_t piece)
{
	return a->size - at < piece ? (size_t)(a->size - at) : piece;
}

/* Read a piece page by page, because reading it at once failed. */
static int read_pages(struct around *a, uint64_t from, size_t n,
		      struct err *err)
{
	int rc = 0;

	for (uint64_t at = from; at < from + n && !rc; at += PAGE)
		rc = read_page(a, at, piece_at(a, at, PAGE), err);
	return rc;
}

/*
 * Read the file in large pieces, and page by page only where that fails: a disk
 * takes seconds for each unreadable sector.
 */
static int read_pieces(struct around *a, struct err *err)
{
	int rc = 0;

	for (uint64_t at = 0; at < a->size && !rc; at += PIECE) {
		size_t n = piece_at(a, at, PIECE);

		rc = file_read(a->f, at, a->to + at, n, err);
		if (rc == ERR_IO)
			rc = read_pages(a, at, n, err);
		else if (!rc)
			a->read += n;
	}
	if (!rc)
		tell_lost(a);
	return rc      ? rc :
	       a->read ? 0 :
			 err_set(err, ERR_IO,
				 "%s: the disk cannot read any of this file",
				 a->f->path);
}

/*
 * The fast path is one read of the whole file; only after ERR_IO is the file
 * read piece by piece.
 */
int file_read_around(const struct file *f, struct buf *out,
		     void (*lost)(void *ctx, uint64_t offset, uint64_t len),
		     void *ctx, struct err *err)
{
	struct around a = { .f = f, .lost = lost, .ctx = ctx };
	size_t start = out->len;
	int rc = file_read_all(f, out, err);

	if (rc != ERR_IO)
		return rc;
	rc = file_size(f, &a.size, err);
	if (!rc && !buf_reserve(out, (size_t)a.size))
		rc = err_set(err, ERR_TOOBIG, "%s is larger than %zu bytes",
			     f->path, out->max);
	a.to = out->ptr + start;
	if (!rc)
		rc = read_pieces(&a, err);
	if (!rc)
		out->len = start + (size_t)a.size;
	return rc;
}

int file_write(struct file *f, uint64_t offset, struct bytes b, struct err *err)
{
	struct fs_call call = call_on(f, FS_WRITE, offset, b.len);
	size_t put = 0;

	if (fs_call_before(f->fs, &call))
		return fs_call_done(f->fs, &call, -1, err);
	/*
	 * pwrite() may write less than was asked for, and is interrupted by
	 * signals.
	 */
	while (put < b.len) {
		ssize_t rc = pwrite(f->fd, b.ptr + put, b.len - put,
				    (off_t)(offset + put));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return fs_call_done(f->fs, &call, -1, err);
		put += (size_t)rc;
	}
	return fs_call_done(f->fs, &call, 0, err);
}

int file_sync(struct file *f, struct err *err)
{
	struct fs_call call = call_on(f, FS_SYNC, 0, 0);
	int rc = fs_call_before(f->fs, &call);

	return fs_call_done(f->fs, &call, rc ? rc : fdatasync(f->fd), err);
}

int file_truncate(struct file *f, uint64_t size, struct err *err)
{
	struct fs_call call = call_on(f, FS_TRUNCATE, size, 0);
	int rc = fs_call_before(f->fs, &call);

	return fs_call_done(f->fs, &call,
			    rc ? rc : ftruncate(f->fd, (off_t)size), err);
}

/* posix_fallocate() returns its error instead of setting errno. */
int file_allocate(struct file *f, uint64_t size, struct err *err)
{
	struct fs_call call = call_on(f, FS_ALLOCATE, 0, size);
	int rc = fs_call_before(f->fs, &call);

	if (!rc && (errno = posix_fallocate(f->fd, 0, (off_t)size)) != 0)
		rc = -1;
	return fs_call_done(f->fs, &call, rc, err);
}

int file_map(const struct file *f, size_t len, struct bytes *out,
	     struct err *err)
{
	struct fs_call call = call_on(f, FS_MMAP, 0, len);
	void *p = MAP_FAILED;
	int rc = fs_call_before(f->fs, &call);

	if (!rc)
		p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, f->fd, 0);
	rc = fs_call_done(f->fs, &call, p == MAP_FAILED ? -1 : 0, err);
	if (!rc)
		*out = (struct bytes){ .ptr = p, .len = len };
	return rc;
}

/*
 * The hook is called before the access, so that tests can simulate a bad page
 * without a bad disk (docs/decisions.md, 83).
 */
int file_map_read(const struct file *f, struct bytes map, uint64_t offset,
		  void *p, size_t n, struct err *err)
{
	struct fs_call call = call_on(f, FS_PAGE, offset, n);

	if (fs_call_before(f->fs, &call) ||
	    !sigbus_copy(p, map.ptr + offset, n))
		return file_read(f, offset, p, n, err);
	return fs_call_done(f->fs, &call, 0, err);
}

/*
 * munmap() takes a pointer to non-const; the union converts the pointer without
 * a cast.
 */
void file_unmap(struct bytes *b)
{
	union {
		const uint8_t *as_const;
		void *as_is;
	} u = { .as_const = b->ptr };

	if (b->len)
		munmap(u.as_is, b->len);
	*b = (struct bytes){ 0 };
}
