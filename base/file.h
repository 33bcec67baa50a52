/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: everprof accesses its data directory only through this header and
 * base/fs.h.
 *
 * Files are opened with a struct fs, whose hooks let tests observe each call to
 * the operating system and make it fail (tests/support/powercut.h). A NULL
 * struct fs * means that there are no hooks.
 *
 * Ownership: a file owns its descriptor and its path.
 * Threads: several threads may read and write a file at once (pread, pwrite).
 * Errors: ERR_NOTFOUND, ERR_EXISTS and ERR_NOSPACE as in err_sys(); ERR_IO: the
 * operating system reported an error, and the bytes on disk may be intact;
 * ERR_CORRUPT: the operating system returned bytes that are wrong or too few.
 * Every message names the path.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"

/* The operations that a struct fs can observe and refuse. */
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
	FS_STAT, /* stat, lstat and fstat */
	FS_LIST, /* opendir and readdir */
	/*
	 * close(); the descriptor is closed even if the hook refuses the call.
	 */
	FS_CLOSE,
	FS_PAGE, /* access to a mapped page; a refusal acts like SIGBUS */
};

/* Describes one call to the operating system, for the hooks of struct fs. */
struct fs_call {
	enum fs_op op;
	const char *path; /* path of the file or directory */
	const char *to;   /* the new name, for FS_RENAME and FS_LINK */
	int fd;           /* descriptor of an open file, or -1 */
	/*
	 * offset of FS_READ, FS_WRITE and FS_PAGE in the file; for FS_TRUNCATE
	 * the new size, in bytes
	 */
	uint64_t offset;
	/*
	 * number of bytes; for FS_ALLOCATE and FS_MMAP counted from the start
	 * of the file
	 */
	size_t len;
	bool create; /* whether FS_OPEN creates a missing file */
};

/*
 * Hooks that tests place around every call to the operating system; each may be
 * NULL. before() returns 0 to permit a call or an errno to refuse it; after()
 * is called when a call has succeeded. The hooks may be called by any thread.
 */
struct fs {
	int (*before)(struct fs *fs, const struct fs_call *call);
	void (*after)(struct fs *fs, const struct fs_call *call);
};

/* How file_open() opens a file. */
enum file_mode {
	FILE_READ,   /* read only, must exist */
	FILE_WRITE,  /* read and write, must exist */
	FILE_CREATE, /* read and write, must not exist */
	FILE_ENSURE, /* read and write, created when missing */
};

/* An open regular file or character device (such as /dev/null). */
struct file;

/*
 * Open the file `path`. Returns ERR_NOTFOUND, ERR_EXISTS (FILE_CREATE),
 * ERR_NOSPACE or ERR_IO as err_sys() does, and ERR_CORRUPT when `path` is
 * neither a regular file nor a character device. The caller closes *out.
 */
NODISCARD int file_open(struct fs *fs, const char *path, enum file_mode mode,
			struct file **out, struct err *err);

/*
 * Close and free a file; NULL is a no-op. Data that was not synced with
 * file_sync() is not durable.
 */
void file_close(struct file *f);

/* For CLEANUP(file_closep): close *f and set it to NULL. */
void file_closep(struct file **f);

/* Return the path by which the file was opened; the file owns it. */
const char *file_path(const struct file *f);

/* Store the size of the file in bytes. Returns the errors of err_sys(). */
NODISCARD int file_size(const struct file *f, uint64_t *out, struct err *err);

/*
 * Read exactly n bytes, beginning at `offset`, into p. Returns ERR_CORRUPT when
 * the file is too short, or ERR_IO.
 */
NODISCARD int file_read(const struct file *f, uint64_t offset, void *p,
			size_t n, struct err *err);

/*
 * Append the whole file to `out`. Returns ERR_TOOBIG when the file exceeds the
 * maximum of `out`, or the errors of file_read().
 */
NODISCARD int file_read_all(const struct file *f, struct buf *out,
			    struct err *err);

/*
 * Append the whole file to `out`, even when the disk cannot read some of its
 * pages: those pages are zeros in `out`, and lost() is called with each
 * contiguous range of unreadable pages. Returns ERR_IO when no page at all can
 * be read, ERR_TOOBIG as file_read_all() does.
 */
NODISCARD int file_read_around(const struct file *f, struct buf *out,
			       void (*lost)(void *ctx, uint64_t offset,
					    uint64_t len),
			       void *ctx, struct err *err);

/*
 * Write all of b at `offset`. After an error (ERR_NOSPACE, ERR_IO) a part of b
 * may have been written; the caller removes that part with file_truncate().
 */
NODISCARD int file_write(struct file *f, uint64_t offset, struct bytes b,
			 struct err *err);

/*
 * Make the file's data durable (fdatasync). Returns ERR_NOSPACE or ERR_IO;
 * after a failure, data written since the last successful sync may be lost,
 * even if a later sync succeeds.
 */
NODISCARD int file_sync(struct file *f, struct err *err);

/* Set the size of the file, cutting it or extending it with zeros. */
NODISCARD int file_truncate(struct file *f, uint64_t size, struct err *err);

/*
 * Reserve disk blocks for the first `size` bytes, extending the file to that
 * size. Returns ERR_NOSPACE when the disk does not have enough room.
 */
NODISCARD int file_allocate(struct file *f, uint64_t size, struct err *err);

/*
 * Map the first `len` bytes of the file (len must not be 0), privately and
 * read-only. The caller unmaps them with file_unmap(), and reads them only with
 * file_map_read(): an access to a page that the disk cannot read, or that lies
 * beyond the end of a truncated file, raises SIGBUS (docs/decisions.md, 83).
 */
NODISCARD int file_map(const struct file *f, size_t len, struct bytes *out,
		       struct err *err);

/*
 * Copy exactly n bytes of the map, beginning at `offset`, into p; the caller
 * guarantees that the bytes lie inside the map. When a page of the map cannot
 * be read, the bytes are read with file_read() instead, which succeeds if the
 * disk has recovered and otherwise returns the error.
 */
NODISCARD int file_map_read(const struct file *f, struct bytes map,
			    uint64_t offset, void *p, size_t n,
			    struct err *err);

/* Unmap what file_map() has mapped and clear *b; an empty *b is a no-op. */
void file_unmap(struct bytes *b);

/* Names in a directory, sorted, without "." and "..". */
struct name_list {
	char **names;
	size_t count;
};

/*
 * Identifies a version of a file by its metadata: when the content of the file
 * changes, so does the stamp.
 */
struct file_stamp {
	int64_t mtime_ns;
	int64_t size;
	uint64_t inode;
};

/* Whether two stamps are equal. */
static inline bool file_stamp_eq(struct file_stamp a, struct file_stamp b)
{
	return a.mtime_ns == b.mtime_ns && a.size == b.size &&
	       a.inode == b.inode;
}

/*
 * Ask the hook of fs, if any, whether the call may be made. Returns 0, or -1
 * with errno set, as a failing system call does.
 */
int fs_call_before(struct fs *fs, const struct fs_call *call);

/*
 * Finish a call whose result is `rc`: on success report the call to the hook
 * and return 0; when `rc` is negative, set *err from errno and return the error
 * code.
 */
NODISCARD int fs_call_done(struct fs *fs, const struct fs_call *call, int rc,
			   struct err *err);

#endif
