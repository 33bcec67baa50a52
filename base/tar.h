/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar out: files into a stream, by libarchive (ustar, with pax headers where
 * a name or size needs them).
 *
 * Ownership: tar_free() frees the writer; out is borrowed and may be emptied
 * between calls. Threads: one thread at a time.
 */
#ifndef BASE_TAR_H
#define BASE_TAR_H

#include "base/buf.h"
#include "base/err.h"

struct tar;

struct tar *tar_new(struct buf *out);
void tar_free(struct tar *t);

/* Append a file. ERR_INVALID: libarchive refuses it. */
NODISCARD int tar_add(struct tar *t, const char *path, int64_t mtime_ms,
		      struct bytes content, struct err *err);

/* Append the end of the archive: nothing may come after it. */
NODISCARD int tar_end(struct tar *t, struct err *err);

#endif
