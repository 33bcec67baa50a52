/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAL numbers: the file `wal/numbers` (docs/format/segment.md), which says with
 * which profile the log begins, and which one is its last durable one. No segment
 * says how many profiles were before the first or in the last one, so without
 * this file, nobody would notice that these were removed, emptied or cut short.
 *
 * Ownership: struct wal owns the open file.
 * Threads: wal_numbers_read() and wal_numbers_start(): start-up only. The others:
 * any; they take numbers_mu and mu.
 */
#ifndef TSDB_WAL_WAL_NUMBERS_H
#define TSDB_WAL_WAL_NUMBERS_H

#include "base/fs.h"

struct wal;

/* The first profile of the log, or the next one, if it has none. */
struct wal_begin {
	uint64_t segment; /* from which on it is */
	uint64_t number;
	int64_t ms; /* its time; 0: not known */
};

/* The last profile of the log. */
struct wal_tail {
	uint64_t segment; /* the last segment */
	uint64_t first;   /* number of the first profile there; 0: none */
	uint64_t next;    /* number of the log's next profile */
	int64_t last_ms;  /* time of the last profile; 0: not known */
};

struct wal_numbers {
	struct wal_begin begin;
	struct wal_tail tail;
	uint64_t salt; /* of the file */
};

/*
 * Read the file, of the log in a directory. ERR_NOTFOUND: there is none. Other
 * errors: it is not usable.
 */
NODISCARD int wal_numbers_read(struct wal_numbers *out, struct fs *fs,
			       const char *dir, struct err *err);

/*
 * Make the file say what the log has after a replay. If that fails, the old file
 * is removed, and the next start would notice less. A file that says no more than
 * the log has is kept, and written in its place without a sync: after a power cut,
 * it may say what it said before.
 */
void wal_numbers_start(struct wal *w);

/*
 * Say that everything up to `tail` is durable. This is not synced: it outlives
 * the process, and after a power cut, the file says what it said before. A file
 * that could not be written is made anew with the next segment.
 */
void wal_numbers_note(struct wal *w, const struct wal_tail *tail);

/* Say the same durably, when the log is closed. */
void wal_numbers_stop(struct wal *w);

/*
 * Say durably that the log begins behind segment `upto`, before the segments up
 * to that one are removed; 0: where it begins now, if the file does not say so. On
 * a full disk, the file is removed instead: it would take them for lost. Other
 * errors: nothing may be removed now.
 */
NODISCARD int wal_numbers_drop(struct wal *w, uint64_t upto, struct err *err);

#endif
