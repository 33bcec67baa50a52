/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held segments: segments whose profiles have been flushed, but which remote
 * write has not sent yet. They are in the sub-directory `held` of the log. They
 * are not replayed and are not counted in the size of the log.
 *
 * Ownership: the log owns its held segments.
 * Threads: any, unless noted.
 */
#ifndef TSDB_WAL_WAL_HELD_H
#define TSDB_WAL_WAL_HELD_H

#include "tsdb/wal/wal.h"
#include "tsdb/wal/wal_private.h"

/*
 * Open the held segments. If wal_options.hold is not set, the held segments of
 * an earlier run are removed instead. *highest is raised to the highest number
 * of a held segment. Startup only.
 */
NODISCARD int wal_held_open(struct wal *w, uint64_t *highest, struct err *err);

/* The path of a held segment; the caller frees it. */
char *wal_held_path(const struct wal *w, uint64_t number);

/* Release all held segments when the log is closed. */
void wal_held_close(struct wal *w);

/*
 * Add a segment to the list of held segments if remote write may need it. The
 * list takes a reference of its own. Returns whether it was added. The caller
 * takes the segment out of the list of segments in the same critical section,
 * so that a reader always finds the segment in one of the two lists.
 */
bool wal_held_take_locked(struct wal *w, struct wal_segment *s) REQUIRES(w->mu);

/*
 * Give the file of a segment a second, durable name in the directory of held
 * segments. The caller then removes the first one. A rename is not enough:
 * after a power cut, the file could have neither name. If this fails, the next
 * start replays the segment; it is not lost.
 */
NODISCARD int wal_held_link(struct wal *w, const struct wal_segment *s,
			    struct err *err);

/* Return the size of all held segments in bytes. */
uint64_t wal_held_bytes(struct wal *w);

/* Remove the held segments that lie before a position, which is sent. */
void wal_held_drop(struct wal *w, uint64_t position);

/* Log that a file of held segments could not be removed. */
void wal_held_log_removal(const struct wal *w, const char *path,
			  const struct err *err);

#endif
