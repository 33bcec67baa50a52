/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File reader: reads pprof files of this machine, one after another, into one
 * merge.
 *
 * Ownership: file_reader_fini() frees everything.
 * Threads: one thread.
 */
#ifndef CMD_CLI_FILE_READER_H
#define CMD_CLI_FILE_READER_H

#include "base/gzip.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"

/* The buffers are used again for each file. */
struct file_reader {
	struct gzip *gzip;
	struct decoder *decoder;
	struct merge *merge;
	struct buf body;
	struct buf raw;
	/* Called with each profile after it was merged; may be NULL. */
	int (*added)(void *ctx, const struct pprof *p, struct err *err);
	void *ctx;
};

/* Begin with an empty merge. */
void file_reader_init(struct file_reader *r);

/* Free the merge and the buffers. */
void file_reader_fini(struct file_reader *r);

/*
 * Read a file or pipe, or all files of a folder in the order of their names;
 * sub-folders are errors. Errors name the path.
 */
NODISCARD int file_reader_read(struct file_reader *r, const char *path,
			       struct err *err);

#endif
