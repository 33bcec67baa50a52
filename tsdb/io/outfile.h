/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of a block while it is written: buffered, from front to end, with
 * its length and checksum reckoned on the way. The first failure is kept and
 * makes the rest a no-op; outfile_finish() tells it.
 *
 * Ownership: outfile_close() frees, finished or not.
 * Threads: one thread at a time.
 */
#ifndef TSDB_IO_OUTFILE_H
#define TSDB_IO_OUTFILE_H

#include "base/file.h"

/* The zero value is no file. */
struct outfile {
	struct file *file;
	struct buf buf;
	uint64_t size; /* what is still in buf included */
	uint32_t crc;  /* of all of it */
	int rc;
	struct err err;
};

/* Make the file, which must not exist. */
NODISCARD int outfile_open(struct outfile *o, struct fs *fs, const char *path,
			   struct err *err);

void outfile_add(struct outfile *o, struct bytes b);

/* Zeros up to the next multiple of align (a power of two). */
void outfile_pad(struct outfile *o, uint32_t align);

/* Hand what is buffered to the operating system, so that it can be read. */
NODISCARD int outfile_flush(struct outfile *o, struct err *err);

/* The same, and make it durable. The file stays open for reading. */
NODISCARD int outfile_finish(struct outfile *o, struct err *err);

void outfile_close(struct outfile *o);

#endif
