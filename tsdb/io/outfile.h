/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output file: a file of a block that is being written. Bytes are appended
 * through a buffer, and the file's size and CRC32C are computed as they are
 * added. The first failed write is remembered and makes all later writes
 * no-ops; outfile_flush() and outfile_finish() return its error.
 *
 * Ownership: outfile_close() frees everything, finished or not.
 * Threads: one thread at a time.
 */
#ifndef TSDB_IO_OUTFILE_H
#define TSDB_IO_OUTFILE_H

#include "base/file.h"

/* An output file. The zero value has no file; outfile_close() accepts it. */
struct outfile {
	struct file *file;
	struct buf buf;
	uint64_t size; /* bytes added so far, including those in buf */
	uint32_t crc;  /* CRC32C of all bytes added */
	/* Code of the first error (0: no error), and its message. */
	int rc;
	struct err err;
};

/*
 * Create the file at `path`. ERR_EXISTS: the file exists already. ERR_IO,
 * ERR_NOSPACE: it cannot be created.
 */
NODISCARD int outfile_open(struct outfile *o, struct fs *fs, const char *path,
			   struct err *err);

/* Append bytes. Errors are kept for outfile_flush() and outfile_finish(). */
void outfile_add(struct outfile *o, struct bytes b);

/*
 * Append zeros up to the next multiple of align, a power of two of at most 64.
 */
void outfile_pad(struct outfile *o, uint32_t align);

/*
 * Write the buffer to the file, so that its bytes can be read through another
 * descriptor. Returns the first error of all writes so far.
 */
NODISCARD int outfile_flush(struct outfile *o, struct err *err);

/*
 * Write the buffer and fsync the file. The file stays open, so that it can be
 * read. Returns the first error of all writes, or of the fsync.
 */
NODISCARD int outfile_finish(struct outfile *o, struct err *err);

/* Close the file, discard buffered bytes, and reset *o to zero. */
void outfile_close(struct outfile *o);

#endif
