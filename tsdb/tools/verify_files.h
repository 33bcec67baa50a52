/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies single files: the checksum of a block's file, and the records of log
 * files.
 *
 * Ownership: keeps nothing.
 * Threads: any.
 */
#ifndef TSDB_TOOLS_VERIFY_FILES_H
#define TSDB_TOOLS_VERIFY_FILES_H

#include "tsdb/block/part.h"
#include "tsdb/tools/verify.h"

/*
 * Counts a problem in the file `path`, and reports it to the caller of the
 * verification by v->found().
 */
void PRINTF(3, 4)
	verify_report(struct verify *v, const char *path, const char *fmt, ...);

/* Compares the checksum of a block's file with the checksum in meta.json. */
void verify_file(struct verify *v, const struct block *b,
		 const struct meta_file *f);

/*
 * Verifies the header and all records of a log file. `magic` is the kind of
 * file. `live` says that a server may be writing to the file, so that an
 * incomplete end is no damage. `sealed` says that the file should end with a
 * segment directory (a list of the segment's profiles) and a footer. A missing
 * file is no problem.
 */
void verify_log(struct verify *v, const char *path, uint32_t magic, bool live,
		bool sealed);

/*
 * Verifies the header and length of a head's values file, but not its chunks.
 */
void verify_values(struct verify *v, const struct head *r, bool live);

#endif
