/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verify single files: checksums of whole files, of the records of a log, and
 * of the bytes of stored chunks.
 *
 * Ownership: nothing is kept.
 * Threads: any.
 */
#ifndef TSDB_TOOLS_VERIFY_FILES_H
#define TSDB_TOOLS_VERIFY_FILES_H

#include "tsdb/part/part.h"
#include "tsdb/verify.h"

void PRINTF(3, 4)
	verify_report(struct verify *v, const char *path, const char *fmt, ...);

/* A file's length and checksum, against meta.json. */
void verify_file(struct verify *v, const struct block *b,
		 const struct meta_file *f);

void verify_log(struct verify *v, const char *path, uint32_t magic, bool live,
		bool sealed);

/* Only its header: groups are checked one by one. */
void verify_values(struct verify *v, const struct head *r, bool live);

#endif
