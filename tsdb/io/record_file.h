/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record file: a small file with a file header and one record, whose body is
 * all that it says. It is replaced as a whole. Format: docs/format/common.md.
 *
 * Ownership: a decoded body borrows from the bytes that were parsed.
 * Threads: any, but only one at a time writes a file.
 * Errors: of reading: ERR_NOTFOUND; ERR_CORRUPT: damaged, or another kind of
 * file; ERR_UNSUPPORTED: of a newer version; ERR_IO. Of writing: ERR_IO and
 * ERR_NOSPACE: the old file is still there.
 */
#ifndef TSDB_IO_RECORD_FILE_H
#define TSDB_IO_RECORD_FILE_H

#include "base/buf.h"
#include "base/fs.h"

/* Append the contents of such a file. The salt is a random number. */
void record_file_encode(uint32_t magic, uint64_t salt, struct bytes body,
			struct buf *out);

/* Get the body from the contents of such a file. */
NODISCARD int record_file_decode(struct bytes file, uint32_t magic,
				 struct bytes *body, struct err *err);

/* Read a file into *bytes, whose limit is that of the file; *body is in it. */
NODISCARD int record_file_read(struct fs *fs, const char *path, uint32_t magic,
			       struct buf *bytes, struct bytes *body,
			       struct err *err);

/*
 * Write the file `name` in a directory durably. After a crash, either the old
 * or the new file is there.
 */
NODISCARD int record_file_write(struct fs *fs, const char *dir,
				const char *name, uint32_t magic,
				struct bytes body, struct err *err);

#endif
