/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the WAL share. No file outside of them includes it.
 *
 * Ownership: the log holds one reference to each of its segments.
 * Threads: see struct wal.
 */
#ifndef TSDB_WAL_WAL_PRIVATE_H
#define TSDB_WAL_WAL_PRIVATE_H

#include <pthread.h>

#include "tsdb/wal/wal.h"
#include "tsdb/wal/wal_key.h"

#define OFFSET_MAX UINT32_MAX

struct wal_segment {
	_Atomic uint32_t refs;
	uint64_t number;
	uint64_t salt;
	struct file *file;
	uint64_t size;
	uint64_t durable; /* LSN before which it is */
	bool failed;      /* a sync or cleanup failed: leave it, and flush it */
	bool guessed;     /* its header cannot be read: the salt is the key's */
	bool unread;      /* stretches of it: it is set aside, not removed */
	bool unsealed;    /* its directory could not be written: flush it */
};

struct wal {
	struct wal_options o;
	char *dir;
	struct wal_key key; /* of the salts */
	uint64_t lowest;    /* segment that was left alone; UINT64_MAX: none */
	struct metric *corruptions;
	struct metric *syncs;
	struct metric *sync_failures;

	/*
	 * The appender's. The current segment is the last of the list; only
	 * the appender changes it, with mu held.
	 */
	struct wal_segment *current; /* NULL: none could be begun yet */
	uint64_t next; /* number of the first segment of this start */
	struct segment_dir directory;
	struct buf scratch;

	pthread_mutex_t mu;
	pthread_cond_t synced;
	struct wal_segment **segments; /* oldest first */
	size_t count;
	size_t cap;
	uint64_t end; /* LSN behind the last record */
	bool syncing; /* one at a time: a failure is told to one alone */
};

/*
 * Begin a new segment and seal the old one. The new one comes first: without
 * room for it nothing has changed.
 */
NODISCARD int wal_roll(struct wal *w, struct err *err);

#endif
