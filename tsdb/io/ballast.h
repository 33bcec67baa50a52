/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ballast: a file of fixed size that only keeps disk space allocated. When the
 * disk is full, the database deletes the file and has room for the flushes and
 * compactions that free more space.
 *
 * Ownership: ballast_fini() frees the memory; the file stays on disk.
 * Threads: any; locks inside.
 */
#ifndef TSDB_IO_BALLAST_H
#define TSDB_IO_BALLAST_H

#include "base/file.h"
#include "base/mutex.h"

struct ballast {
	struct fs *fs;
	char *path;
	uint64_t size; /* size the file should have, in bytes */
	struct mutex mu;
	uint64_t held; /* size the file has now; 0: no file */
};

/*
 * Initialise *b for the file `ballast` in the directory `dir`. If an earlier
 * process left the file, it is taken over. `fs` is borrowed and must outlive
 * *b.
 */
void ballast_init(struct ballast *b, struct fs *fs, const char *dir,
		  uint64_t size);

/*
 * Free the memory of *b but leave the file on disk. The zero value is a no-op.
 */
void ballast_fini(struct ballast *b);

/*
 * Allocate the ballast file if it does not have its configured size. Nothing is
 * allocated unless twice that size is free. Failures are ignored: the next call
 * tries again.
 */
void ballast_make(struct ballast *b);

/* Delete the ballast file, so that its space is free for other files. */
void ballast_release(struct ballast *b);

/*
 * Bytes that must be free on a disk of `total` bytes before profiles are
 * accepted again after the disk was full: twice the size of the ballast, so
 * that as much remains after the ballast is made again, but at most an eighth
 * of the disk.
 */
uint64_t ballast_space_needed(const struct ballast *b, uint64_t total);

/* Bytes of disk that the ballast file takes now. */
uint64_t ballast_bytes(struct ballast *b);

#endif
