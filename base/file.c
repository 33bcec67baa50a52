/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"

struct file {
	struct fs *fs;
	char *path;
	int fd;
};

static const char *const op_names[] = {
	[FS_OPEN] = "open",         [FS_READ] = "read",
	[FS_WRITE] = "write",       [FS_SYNC] = "sync",
	[FS_TRUNCATE] = "truncate", [FS_ALLOCATE] = "allocate",
	[FS_MMAP] = "map",          [FS_RENAME] = "rename",
	[FS_LINK] = "link",         [FS_UNLINK] = "remove",
	[FS_MKDIR] = "make",        [FS_RMDIR] = "remove",
	[FS_SYNC_DIR] = "sync",
};

/* Ask the hook. On refusal errno is set and -1 returned, as by a call. */
static int before(struct fs *fs, const struct fs_call *call)
{
	int refused = fs && fs->before ? fs->before(fs, call) : 0;

	if (refused)
		errno = refused;
	return refused ? -1 : 0;
}

/* The end of every call: tell the hook, or make the error. */
static int done(struct fs *fs, const struct fs_call *call, int rc,
		struct err *err)
{
	if (rc < 0)
		return err_sys(err, "%s %s", op_names[call->op], call->path);
	if (fs && fs->after)
		fs->after(fs, call);
	return 0;
}

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

/* A file, or /dev/null and its like: no directory, no pipe. */
static bool has_bytes(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode));
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

	rc = before(fs, &call);
	/* O_NONBLOCK: what stands there may be a pipe. */
	if (!rc)
		rc = call.fd = open(path, open_flags(mode) | O_NONBLOCK, 0640);
	rc = done(fs, &call, rc, err);
	if (rc)
		return rc;
	if (!has_bytes(call.fd)) {
		close(call.fd);
		err_set(err, ERR_CORRUPT, "%s is not a regular file", path);
		return ERR_CORRUPT;
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
	close(f->fd);
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

	if (fstat(f->fd, &st) < 0)
		return err_sys(err, "stat %s", f->path);
	*out = (uint64_t)st.st_size;
	return 0;
}

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

	if (before(f->fs, &call))
		return done(f->fs, &call, -1, err);
	while (got < n) {
		ssize_t rc = pread(f->fd, (char *)p + got, n - got,
				   (off_t)(offset + got));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return done(f->fs, &call, -1, err);
		if (!rc)
			return err_set(err, ERR_CORRUPT,
				       "%s ends before %llu + %zu", f->path,
				       (unsigned long long)offset, n);
		got += (size_t)rc;
	}
	return done(f->fs, &call, 0, err);
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

int file_write(struct file *f, uint64_t offset, struct bytes b, struct err *err)
{
	struct fs_call call = call_on(f, FS_WRITE, offset, b.len);
	size_t put = 0;

	if (before(f->fs, &call))
		return done(f->fs, &call, -1, err);
	while (put < b.len) {
		ssize_t rc = pwrite(f->fd, b.ptr + put, b.len - put,
				    (off_t)(offset + put));

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc < 0)
			return done(f->fs, &call, -1, err);
		put += (size_t)rc;
	}
	return done(f->fs, &call, 0, err);
}

int file_sync(struct file *f, struct err *err)
{
	struct fs_call call = call_on(f, FS_SYNC, 0, 0);
	int rc = before(f->fs, &call);

	return done(f->fs, &call, rc ? rc : fdatasync(f->fd), err);
}

int file_truncate(struct file *f, uint64_t size, struct err *err)
{
	struct fs_call call = call_on(f, FS_TRUNCATE, size, 0);
	int rc = before(f->fs, &call);

	return done(f->fs, &call, rc ? rc : ftruncate(f->fd, (off_t)size), err);
}

int file_allocate(struct file *f, uint64_t size, struct err *err)
{
	struct fs_call call = call_on(f, FS_ALLOCATE, 0, size);
	int rc = before(f->fs, &call);

	if (!rc && (errno = posix_fallocate(f->fd, 0, (off_t)size)) != 0)
		rc = -1;
	return done(f->fs, &call, rc, err);
}

int file_map(const struct file *f, size_t len, struct bytes *out,
	     struct err *err)
{
	struct fs_call call = call_on(f, FS_MMAP, 0, len);
	void *p = MAP_FAILED;
	int rc = before(f->fs, &call);

	if (!rc)
		p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, f->fd, 0);
	rc = done(f->fs, &call, p == MAP_FAILED ? -1 : 0, err);
	if (!rc)
		*out = (struct bytes){ .ptr = p, .len = len };
	return rc;
}

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

int fs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
	struct fs_call call = {
		.op = FS_RENAME, .path = from, .to = to, .fd = -1
	};
	int rc = before(fs, &call);

	return done(fs, &call, rc ? rc : rename(from, to), err);
}

int fs_link(struct fs *fs, const char *from, const char *to, struct err *err)
{
	struct fs_call call = {
		.op = FS_LINK, .path = from, .to = to, .fd = -1
	};
	int rc = before(fs, &call);

	return done(fs, &call, rc ? rc : link(from, to), err);
}

int fs_unlink(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_UNLINK, .path = path, .fd = -1 };
	int rc = before(fs, &call);

	return done(fs, &call, rc ? rc : unlink(path), err);
}

int fs_mkdir(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_MKDIR, .path = path, .fd = -1 };
	int rc = before(fs, &call);

	return done(fs, &call, rc ? rc : mkdir(path, 0750), err);
}

int fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_SYNC_DIR, .path = path, .fd = -1 };
	int rc = before(fs, &call);
	int fd = -1;

	if (!rc)
		rc = fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		rc = fsync(fd);
	rc = done(fs, &call, rc, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

int file_replace(struct fs *fs, const char *tmp, const char *path,
		 struct bytes b, struct err *err)
{
	struct file *f = NULL;
	int rc = file_open(fs, tmp, FILE_ENSURE, &f, err);

	if (!rc)
		rc = file_truncate(f, 0, err);
	if (!rc)
		rc = file_write(f, 0, b, err);
	if (!rc)
		rc = file_sync(f, err);
	file_close(f);
	return rc ? rc : fs_rename(fs, tmp, path, err);
}

int fs_space(const char *path, uint64_t *total, uint64_t *available,
	     struct err *err)
{
	struct statvfs st;

	if (statvfs(path, &st))
		return err_sys(err, "statvfs %s", path);
	*total = (uint64_t)st.f_blocks * st.f_frsize;
	*available = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static int remove_entry(struct fs *fs, const char *path, struct err *err)
{
	return is_dir(path) ? fs_remove_dir(fs, path, err) :
			      fs_unlink(fs, path, err);
}

int fs_remove_dir(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_RMDIR, .path = path, .fd = -1 };
	struct name_list l = { 0 };
	int rc = fs_list(path, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *name = mem_printf("%s/%s", path, l.names[i]);

		rc = remove_entry(fs, name, err);
	}
	name_list_fini(&l);
	if (rc)
		return rc;
	rc = before(fs, &call);
	return done(fs, &call, rc ? rc : rmdir(path), err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int fs_list(const char *path, struct name_list *out, struct err *err)
{
	struct name_list l = { 0 };
	size_t cap = 0;
	struct dirent *e;
	DIR *d = opendir(path);
	int rc;

	if (!d)
		return err_sys(err, "list %s", path);
	/* glibc's readdir is safe on streams that are not shared. */
	for (;;) {
		errno = 0;
		e = readdir(d); /* NOLINT(concurrency-mt-unsafe) */
		if (!e)
			break;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		l.names = mem_grow(l.names, l.count, &cap, sizeof(*l.names));
		l.names[l.count++] = mem_strdup(e->d_name);
	}
	rc = errno ? err_sys(err, "list %s", path) : 0;
	closedir(d);
	if (rc) {
		name_list_fini(&l);
		return rc;
	}
	if (l.count)
		qsort(l.names, l.count, sizeof(*l.names), by_name);
	*out = l;
	return 0;
}

void name_list_fini(struct name_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->names[i]);
	mem_free(l->names);
	*l = (struct name_list){ 0 };
}

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

static int read_all(const char *path, bool pipes, struct buf *out,
		    struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (pipes ? 0 : O_NONBLOCK));
	int rc;

	if (fd < 0)
		return err_sys(err, "open %s", path);
	if (pipes || has_bytes(fd))
		rc = read_to_end(fd, path, out, err);
	else
		rc = err_set(err, ERR_INVALID, "%s is not a regular file",
			     path);
	close(fd);
	return rc;
}

int file_slurp(const char *path, struct buf *out, struct err *err)
{
	return read_all(path, false, out, err);
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
