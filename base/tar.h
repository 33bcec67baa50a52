/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar output: files appended to a stream, by libarchive (ustar, with pax
 * headers where a name or size needs them).
 *
 * Ownership: tar_free() frees the writer. The output buffer is borrowed and
 * must outlive the writer; the caller may empty it between calls.
 * Threads: one thread at a time.
 */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include "base/buf.h"
#include "base/err.h"

/* A writer of one archive. */
struct tar;

/* Create a writer that appends to the buffer `out`. Never returns NULL. */
struct tar *tar_new(struct buf *out);

/*
 * Free a writer; NULL is a no-op. If tar_end() was not called, the end of the
 * archive is first appended to the output buffer.
 */
void tar_free(struct tar *t);

/*
 * Append a regular file named `path`, with mode 0644 and the modification time
 * mtime_ms (milliseconds since the epoch, cut to seconds). Returns ERR_INVALID
 * when libarchive refuses the file or the output buffer is full.
 */
NODISCARD int tar_add(struct tar *t, const char *path, int64_t mtime_ms,
		      struct bytes content, struct err *err);

/*
 * Append the end of the archive; nothing may be added after it. Returns
 * ERR_INVALID when the output buffer is full.
 */
NODISCARD int tar_end(struct tar *t, struct err *err);

#endif
