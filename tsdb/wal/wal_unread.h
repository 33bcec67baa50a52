/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAL segments that were set aside because the disk could not read them
 * (*.unread). A replay could not take them back: it skips records with LSNs up
 * to which their series has been flushed since. So their profiles are appended
 * again, and whoever stores them finds duplicates.
 *
 * Ownership: nothing is kept.
 * Threads: wal_unread_take() and wal_unread_take_all() one thread at a time, the
 * others any.
 */
#ifndef TSDB_WAL_WAL_UNREAD_H
#define TSDB_WAL_WAL_UNREAD_H

#include "tsdb/wal/wal.h"

/* Appends a profile again. An error ends the attempt, which is repeated later. */
typedef int wal_unread_fn(void *ctx, const struct segment_profile *p,
			  struct err *err);

/* Whether a name is that of something unread; *.unread, *.unread-2, … */
bool wal_unread_is_name(const char *name);

/*
 * Pass the profiles of the unread segment at `path` to `fn`, make the log
 * durable, and remove the file; if some records are damaged, rename it to
 * *.damaged. ERR_IO: the disk still cannot read it. Errors of `fn`. The file
 * stays then.
 */
NODISCARD int wal_unread_take(struct wal *w, const char *path,
			      wal_unread_fn *fn, void *ctx, struct err *err);

/*
 * Take all unread segments, and log what came of each. Returns the first error
 * that is not about a segment alone.
 */
NODISCARD int wal_unread_take_all(struct wal *w, wal_unread_fn *fn, void *ctx,
				  struct err *err);

/*
 * Set segment `number` aside: rename it to *.unread. Under its name, the next
 * start would replay it, and skip records that flushes or blocks seem to
 * include. If that fails, wal_unread_settle() tries again.
 */
void wal_set_aside(struct wal *w, uint64_t number);

/*
 * Try again to set segments aside that could not be. Called when the log is
 * closed, too.
 */
void wal_unread_settle(struct wal *w);

/*
 * Whether there are segments that must be set aside and are not yet. No block
 * may be made meanwhile: its LSNs might include those of profiles that are in
 * such a segment alone.
 */
bool wal_has_unread(struct wal *w);

/* Log what came of an attempt to read something again. */
void wal_unread_report(const struct log *log, const char *path, int rc,
		       const struct err *err);

#endif
