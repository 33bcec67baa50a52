/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the log ended when it was closed: the file `wal/stopped`
 * (docs/format/segment.md). No later segment says how many profiles the last one
 * had, so without this file, nobody would notice that it was emptied, cut short
 * or removed since.
 *
 * Ownership: a plain value.
 * Threads: start-up and close only.
 */
#ifndef TSDB_WAL_WAL_STOP_H
#define TSDB_WAL_WAL_STOP_H

#include "base/fs.h"
#include "tsdb/wal/segment_format.h"

struct wal_stop {
	uint64_t segment; /* the last one */
	/* Its profiles; `next` is also the number of the log's next one. */
	struct segment_numbers numbers;
	int64_t last_ms; /* time of its last profile, if it has any */
};

/* Read the file. ERR_NOTFOUND: there is none. Other errors: it is not usable. */
NODISCARD int wal_stop_read(struct wal_stop *s, struct fs *fs, const char *dir,
			    struct err *err);

/* Write the file durably. */
NODISCARD int wal_stop_write(const struct wal_stop *s, struct fs *fs,
			     const char *dir, struct err *err);

#endif
