/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAL segments that the disk could not read completely, or of which some
 * profiles are stored nowhere else. Such a segment is marked: its file gets a
 * second name, *.unread, before anything is written that counts its profiles as
 * flushed or as sent. A replay could not take them back: it skips records with
 * LSNs up to which their series has been flushed since. So all profiles of the
 * file are appended again when the disk reads it, and whoever stores them finds
 * duplicates. The segment itself is used and removed as every other one.
 *
 * Threads: wal_unread_take_all() one thread at a time, the others any. No other lock is needed.
 */
#ifndef TSDB_WAL_WAL_UNREAD_H
#define TSDB_WAL_WAL_UNREAD_H

#include "tsdb/wal/wal.h"

/* How the profiles of unread segments are taken. */
struct wal_unread_taker {
	/*
	 * Appends a profile again. If `partial`, the disk cannot read all of the
	 * segment yet, so that its profiles may be passed again: what would be
	 * appended each time must wait. An error ends the attempt, which is
	 * repeated later.
	 */
	int (*profile)(void *ctx, const struct segment_profile *p, bool partial,
		       struct err *err);
	void *ctx;
	/* Take nothing of a segment before the disk reads all of it. */
	bool whole;
	/*
	 * Whether everprof stops (NULL: it does not): then an attempt ends with
	 * ERR_CLOSED.
	 */
	const _Atomic int *quit;
};

/*
 * Take all unread segments, and log what came of each. Returns the first error
 * that is not about a segment alone.
 */
NODISCARD int wal_unread_take_all(struct wal *w,
				  const struct wal_unread_taker *taker,
				  struct err *err);

/* Whether such an error is about one file, so that others may be well. */
bool wal_unread_is_of_one(int rc);

/* Log what came of an attempt to read something again. */
void wal_unread_report(const struct log *log, const char *path, int rc,
		       const struct err *err);

#endif
