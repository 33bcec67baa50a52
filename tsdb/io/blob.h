/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blob: the bytes of one immutable file, by range. All that a block's readers
 * know of where it is: a local file today, an object of a store tomorrow.
 *
 * Ownership: the caller owns a blob. A view borrows from the scratch buffer
 * that was given, and is used before the next call with it: whatever happens
 * to the file afterwards, its bytes stay as they were read.
 * Threads: any, each with its own scratch.
 */
#ifndef TSDB_IO_BLOB_H
#define TSDB_IO_BLOB_H

#include "base/file.h"

struct blob;

/* How a local file is read. */
enum blob_mode {
	BLOB_MAP,  /* by a map: small pieces, many times */
	BLOB_READ, /* by pread: large pieces, once */
};

NODISCARD int blob_open(struct fs *fs, const char *path, enum blob_mode mode,
			struct blob **out, struct err *err);

/* NULL is a no-op. */
void blob_close(struct blob *b);

uint64_t blob_size(const struct blob *b);
const char *blob_path(const struct blob *b);

/*
 * Exactly len bytes from offset. ERR_CORRUPT when the blob ends before;
 * ERR_IO: the disk did not give them back.
 */
NODISCARD int blob_view(const struct blob *b, uint64_t offset, size_t len,
			struct buf *scratch, struct bytes *out,
			struct err *err);

#endif
