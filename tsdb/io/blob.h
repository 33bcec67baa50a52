/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blob: the bytes of one immutable file, read by range. The index and the chunk
 * files of a block are read only through this interface, so that they may be
 * objects in an object store later.
 *
 * Ownership: the caller owns a blob. A view borrows from the caller's scratch
 * buffer and is valid until the next call with that buffer. Later changes to
 * the file do not affect the bytes of a view.
 * Threads: any, each with its own scratch buffer.
 */
#ifndef TSDB_IO_BLOB_H
#define TSDB_IO_BLOB_H

#include "base/file.h"

struct blob;

/* How a local file is read. */
enum blob_mode {
	BLOB_MAP,  /* through mmap, for many small reads */
	BLOB_READ, /* through pread, for few large reads */
};

/*
 * Open a local file. The caller owns *out. Fails with the errors of
 * file_open(), file_size() and file_map(), such as ERR_NOTFOUND and ERR_IO.
 */
NODISCARD int blob_open(struct fs *fs, const char *path, enum blob_mode mode,
			struct blob **out, struct err *err);

/* Unmap and close the file, and free the blob. NULL is a no-op. */
void blob_close(struct blob *b);

/* Size of the file in bytes, as it was when the blob was opened. */
uint64_t blob_size(const struct blob *b);

/* Path of the file, for error messages. Borrowed from the blob. */
const char *blob_path(const struct blob *b);

/*
 * Read exactly `len` bytes at `offset` into `scratch`, and set *out to refer to
 * them. ERR_CORRUPT: the range extends beyond the end of the file. ERR_TOOBIG:
 * `len` exceeds the limit of `scratch`. ERR_IO: the disk could not read the
 * bytes.
 */
NODISCARD int blob_view(const struct blob *b, uint64_t offset, size_t len,
			struct buf *scratch, struct bytes *out,
			struct err *err);

#endif
