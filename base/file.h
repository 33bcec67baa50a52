/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: the one gateway through which everprof touches what it stores.
 *
 * Tests look at, fail or cut short every call through struct fs (powercut.h).
 * A NULL struct fs * is the operating system, plain.
 *
 * Ownership: a file owns its descriptor and path. Threads: a file may be read
 * and written by several threads at once (pread, pwrite).
 * Errors: ERR_NOTFOUND, ERR_EXISTS, ERR_NOSPACE; ERR_IO: the operating system
 * refused, so that nothing is known of the bytes; ERR_CORRUPT: it answered, and
 * they are not what they should be. Every message names the path.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"

enum fs_op {
	FS_OPEN,
	FS_READ,
	FS_WRITE,
	FS_SYNC,
	FS_TRUNCATE,
	FS_ALLOCATE,
	FS_MMAP,
	FS_RENAME,
	FS_LINK,
	FS_UNLINK,
	FS_MKDIR,
	FS_RMDIR,
	FS_SYNC_DIR,
	FS_STAT,  /* stat, lstat and fstat */
	FS_LIST,  /* opendir and readdir */
	FS_CLOSE, /* what it refuses is closed all the same, as by Linux */
	FS_PAGE,  /* a page of a mapped file: refused, it fails as by SIGBUS */
};

/* One call on its way to the operating system. */
struct fs_call {
	enum fs_op op;
	const char *path;
	const char *to; /* FS_RENAME, FS_LINK: the new name */
	int fd;         /* of an open file, or -1 */
	uint64_t offset;
	size_t len;
	bool create; /* FS_OPEN: the file is made if it is not there */
};

/*
 * fs_call_before() may refuse a call by an errno (0: go on); after() is told of each
 * call that succeeded, once its effect is there. Called by any thread.
 */
struct fs {
	int (*before)(struct fs *fs, const struct fs_call *call);
	void (*after)(struct fs *fs, const struct fs_call *call);
};

enum file_mode {
	FILE_READ,   /* must exist */
	FILE_WRITE,  /* read and write, must exist */
	FILE_CREATE, /* read and write, must not exist */
	FILE_ENSURE, /* read and write, made when missing */
	FILE_OUTPUT, /* the same, for whom the umask lets read it */
};

struct file;

NODISCARD int file_open(struct fs *fs, const char *path, enum file_mode mode,
			struct file **out, struct err *err);

/* NULL is a no-op. What is not synced is not durable. */
void file_close(struct file *f);
void file_closep(struct file **f);

const char *file_path(const struct file *f);

NODISCARD int file_size(const struct file *f, uint64_t *out, struct err *err);

/* Exactly n bytes from offset; ERR_CORRUPT when the file ends before. */
NODISCARD int file_read(const struct file *f, uint64_t offset, void *p,
			size_t n, struct err *err);

/* Append the whole file to out; ERR_TOOBIG beyond out's maximum. */
NODISCARD int file_read_all(const struct file *f, struct buf *out,
			    struct err *err);

/*
 * The same, past what the disk does not give back: such pages read as zeros,
 * and lost() is told of each stretch of them. ERR_IO: nothing could be read.
 */
NODISCARD int file_read_around(const struct file *f, struct buf *out,
			       void (*lost)(void *ctx, uint64_t offset,
					    uint64_t len),
			       void *ctx, struct err *err);

/*
 * All of b at offset. On failure a part of it may have been written: the
 * caller truncates it away.
 */
NODISCARD int file_write(struct file *f, uint64_t offset, struct bytes b,
			 struct err *err);

/* fdatasync. */
NODISCARD int file_sync(struct file *f, struct err *err);
NODISCARD int file_truncate(struct file *f, uint64_t size, struct err *err);

/* Reserve blocks for the first size bytes, extending the file. */
NODISCARD int file_allocate(struct file *f, uint64_t size, struct err *err);

/*
 * A private read-only map of the first len bytes; file_unmap() ends it. Its
 * bytes are read by file_map_read() alone: an access to a page that the disk
 * does not give back, or that lies behind the end of a file that was cut, is
 * SIGBUS.
 */
NODISCARD int file_map(const struct file *f, size_t len, struct bytes *out,
		       struct err *err);

/*
 * Copy exactly n bytes from offset of the map into p. Where a page cannot be
 * had, they are read from the file instead, so that the errors, and what a
 * disk says once it answers again, are those of file_read().
 */
NODISCARD int file_map_read(const struct file *f, struct bytes map,
			    uint64_t offset, void *p, size_t n,
			    struct err *err);
void file_unmap(struct bytes *b);

/* A directory's names without "." and "..", sorted. */
struct name_list {
	char **names;
	size_t count;
};

/*
 * Append the whole file to out; ERR_TOOBIG beyond out's maximum. ERR_INVALID:
 * it is no file with bytes; nobody waits for a pipe.
 */
NODISCARD int file_slurp(const char *path, struct buf *out, struct err *err);

/* The same of a pipe, too: for what somebody types at a shell. */
NODISCARD int file_drain(const char *path, struct buf *out, struct err *err);

/* How a file looks from outside: another content has another stamp. */
struct file_stamp {
	int64_t mtime_ns;
	int64_t size;
	uint64_t inode;
};

/* All zero for one that is not there. */
struct file_stamp file_stamp(const char *path);

static inline bool file_stamp_eq(struct file_stamp a, struct file_stamp b)
{
	return a.mtime_ns == b.mtime_ns && a.size == b.size &&
	       a.inode == b.inode;
}

/* Ask the hook. On refusal errno is set and -1 returned, as by a call. */
int fs_call_before(struct fs *fs, const struct fs_call *call);

/* The end of every call: tell the hook, or make the error. */
NODISCARD int fs_call_done(struct fs *fs, const struct fs_call *call, int rc,
			   struct err *err);

#endif
