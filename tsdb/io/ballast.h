/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ballast: bytes of the disk that are kept allocated, to be given back when it
 * is full, so that there is room to make room.
 *
 * Ownership: ballast_fini() frees; the file stays on disk.
 * Threads: any; locks inside.
 */
#ifndef TSDB_IO_BALLAST_H
#define TSDB_IO_BALLAST_H

#include <pthread.h>

#include "base/file.h"

struct ballast {
	struct fs *fs;
	char *path;
	uint64_t size; /* to be */
	pthread_mutex_t mu;
	uint64_t held; /* bytes of the file; 0: it is not there */
};

/* Take over the file that is there. */
void ballast_init(struct ballast *b, struct fs *fs, const char *dir,
		  uint64_t size);
void ballast_fini(struct ballast *b);

/* Make it, unless it is there, or would leave less than its size free. */
void ballast_make(struct ballast *b);

/* Give its bytes back. */
void ballast_release(struct ballast *b);

/* Bytes that it takes now. */
uint64_t ballast_bytes(struct ballast *b);

#endif
