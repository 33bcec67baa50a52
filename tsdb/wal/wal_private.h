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
#include "base/vec.h"
#include "model/sample_log.h"
#include "tsdb/wal/wal.h"
#include "tsdb/wal/wal_key.h"
#include "tsdb/wal/wal_numbers.h"

/* Largest offset in a segment: an LSN has 32 bits for the offset. */
#define OFFSET_MAX UINT32_MAX

/*
 * One segment file. After the segment's creation, wal.mu protects the members
 * from `size` on.
 */
struct wal_segment {
	_Atomic uint32_t refs;
	uint64_t number;
	uint64_t salt;
	struct file *file;
	uint64_t size;
	/*
	 * Offset after the last record, as the header of the next segment says
	 * it; 0: not known.
	 */
	uint32_t expected_end;
	uint64_t durable; /* LSN before which all records are durable */
	uint64_t first;   /* number of its first profile; 0: none, or unknown */
	int64_t first_ms; /* time of that; 0: not known */
	/*
	 * Whether a sync, or the removal of a partial record, failed. If so, no
	 * more records are appended to the segment, and its profiles are
	 * flushed soon.
	 */
	bool failed;
	/*
	 * Whether the header is unreadable, and `salt` was derived from the
	 * key.
	 */
	bool guessed;
	/*
	 * Whether parts of the file could not be read, or records of it be
	 * placed. If so, the file has a second name; see wal_mark_unread().
	 */
	bool unread;
	bool kept; /* that second name is durable */
	/*
	 * Whether the directory could not be written. If so, the profiles are
	 * flushed soon.
	 */
	bool unsealed;
};

/*
 * A segment of which profiles are, or were, in a file *.unread. Whoever reads the
 * log in order does not find them in their place.
 */
struct wal_aside {
	uint64_t number;
	/* They were appended again, and a file *.returned says so. */
	bool returned;
	/* So many were appended again, of one that is still read in part. */
	size_t found;
};

/* Profiles that are missing, as the numbers of the others say, at the start. */
struct replay_gap {
	uint64_t segment;  /* number of the segment that is read */
	bool unread;       /* the disk does not read all of it */
	uint64_t expected; /* number of its next profile; 0: not known */
	uint64_t profiles; /* that are missing, and are not reported yet */
	int64_t after_ms;  /* time of the last one before; INT64_MIN: none */
};

/* An open log. Its members are set once at startup unless noted. */
struct wal {
	/*
	 * Must be the first member: the functions of sample_log cast a pointer
	 * to it to struct wal *.
	 */
	struct sample_log log;
	struct wal_options o;
	char *dir;
	struct wal_key key; /* key from which segment salts are derived */
	/*
	 * Lowest number of an unreadable segment that is kept on disk;
	 * UINT64_MAX: none.
	 */
	uint64_t lowest;
	VEC(uint64_t) unmarked; /* see wal_mark_unread(); protected by mu */
	VEC(struct wal_aside) asides; /* protected by mu */
	struct metric *corruptions;
	struct metric *missing;
	struct metric *syncs;
	struct metric *sync_failures;

	/*
	 * Only the appender uses the members from `current` to `scratch`. The
	 * current segment is the last one in the list; the appender holds `mu`
	 * while it replaces `current`.
	 */
	/* The segment that takes appends; NULL: none could be created yet. */
	struct wal_segment *current;
	/* Number of the first segment that this process creates. */
	uint64_t next;
	/*
	 * The number of the next profile; see struct segment_numbers. The
	 * appender holds `mu` while it changes it.
	 */
	uint64_t next_number;
	struct replay_gap gap; /* for wal_replay() alone */
	/* What the file wal/numbers said at the start; all zero: nothing. */
	struct wal_numbers found;
	/* Where the records of the segment before it end; 0: not known. */
	uint32_t replayed_end;
	/*
	 * Directory of the current segment, and a buffer for one encoded
	 * record.
	 */
	struct segment_dir directory;
	struct buf scratch;

	/*
	 * Held while the second name of a segment is made or removed; see
	 * wal_unread.h. Taken before `mu`.
	 */
	struct mutex unread_mu;
	/*
	 * Protects the file wal/numbers and what it says. Taken before `mu`.
	 */
	struct mutex numbers_mu;
	struct file *numbers_file; /* NULL: it could not be written */
	struct wal_numbers noted;
	/* Protects the members below. `synced` is signalled after each sync. */
	struct mutex mu;
	pthread_cond_t synced;
	struct wal_segment **segments; /* list of segments, oldest first */
	size_t count;
	size_t cap;
	uint64_t end;         /* LSN after the last record */
	struct wal_tail tail; /* the last record, durable or not */
	/* Segments that are held for remote write, oldest first. */
	struct wal_segment **held;
	size_t held_count;
	size_t held_cap;
	uint64_t keep; /* the position in the last call of sample_log.keep() */
	/*
	 * Whether a sync is running. Only one sync runs at a time, because the
	 * kernel reports a failed sync to only one caller.
	 */
	bool syncing;
};

/*
 * Create a new segment, make it current, and sync and seal the old one. On
 * failure (ERR_NOSPACE, ERR_IO) nothing has changed. If only the sync of the
 * old segment fails, this is logged and recorded in the segment, and the call
 * succeeds. Only the appender may call it.
 */
NODISCARD int wal_roll(struct wal *w, struct err *err);

/*
 * Write a segment's directory at offset `end`, after the records. The records
 * must be durable already. Startup trusts the directory, so a crash must not
 * lose a record that the directory lists (docs/decisions.md, 55). The directory
 * itself is not synced: without it, the next startup scans the segment. A
 * failure is logged and marks the segment as unsealed, so that it is flushed
 * soon.
 */
void wal_write_directory(struct wal *w, struct wal_segment *s,
			 const struct segment_dir *directory, uint64_t end);

/*
 * Create the first segment of this process. ERR_NOSPACE and other errors: the
 * log has no current segment yet, and wal_append() tries again.
 */
NODISCARD int wal_replay_begin(struct wal *w, struct err *err);

/* The segment with a number that the log has open; NULL: none. */
struct wal_segment *wal_mark_find_locked(const struct wal *w, uint64_t number)
	REQUIRES(w->mu);

#endif
