/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that the files of the WAL share. No other file includes this
 * header.
 *
 * Ownership: the log holds one reference to each of its segments.
 * Threads: see struct wal.
 */
#ifndef TSDB_WAL_WAL_PRIVATE_H
#define TSDB_WAL_WAL_PRIVATE_H

#include <pthread.h>

#include "base/mutex.h"
#include "tsdb/wal/wal.h"
#include "tsdb/wal/wal_key.h"

/* Largest offset in a segment: an LSN has 32 bits for it. */
#define OFFSET_MAX UINT32_MAX

/*
 * One segment file. After its creation the fields from `size` on are protected
 * by wal.mu.
 */
struct wal_segment {
	_Atomic uint32_t refs;
	uint64_t number;
	uint64_t salt;
	struct file *file;
	uint64_t size;
	uint64_t durable; /* records before this LSN are durable */
	/*
	 * A sync, or the removal of a partial record, failed. No record is
	 * appended any more, and the profiles are flushed soon.
	 */
	bool failed;
	/* The header is unreadable, and the salt was derived from the key. */
	bool guessed;
	/*
	 * Parts of the file cannot be read; it is renamed instead of removed.
	 */
	bool unread;
	/* The directory could not be written; the profiles are flushed soon. */
	bool unsealed;
};

/* The log. Fields are set once at the start unless noted. */
struct wal {
	struct wal_options o;
	char *dir;
	struct wal_key key; /* the salts of segments are derived from it */
	/*
	 * Lowest number of an unreadable segment that is kept on disk;
	 * UINT64_MAX: none.
	 */
	uint64_t lowest;
	struct metric *corruptions;
	struct metric *syncs;
	struct metric *sync_failures;

	/*
	 * These belong to the appender. The current segment is the last one in
	 * the list; only the appender replaces it, and holds mu while it does.
	 */
	struct wal_segment *current; /* takes appends; NULL: not created yet */
	/* Number of the first segment that this process creates. */
	uint64_t next;
	/*
	 * Directory of the current segment, and a buffer for one encoded
	 * record.
	 */
	struct segment_dir directory;
	struct buf scratch;

	/* Protects the fields below; synced is signalled after each sync. */
	struct mutex mu;
	pthread_cond_t synced;
	struct wal_segment **segments; /* oldest first */
	size_t count;
	size_t cap;
	uint64_t end; /* LSN after the last record */
	/*
	 * A sync is running. Only one runs at a time: the kernel reports a
	 * failed sync to one caller only.
	 */
	bool syncing;
};

/*
 * Create a new segment, make it current, and sync and seal the old one. On
 * failure (ERR_NOSPACE, ERR_IO) nothing has changed. A failed sync of the old
 * segment is logged and marks that segment, but is no failure of this call.
 * Only the appender may call it.
 */
NODISCARD int wal_roll(struct wal *w, struct err *err);

#endif
