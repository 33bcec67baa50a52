/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One segment file of the WAL: create it, open it, read records from it.
 *
 * Ownership: reference counted; wal_segment_unref() gives a reference back.
 * Threads: reading: any. Creating and opening: one thread at a time.
 */
#ifndef TSDB_WAL_WAL_SEGMENT_H
#define TSDB_WAL_WAL_SEGMENT_H

#include "tsdb/wal/wal.h"

char *segment_path(const struct wal *w, uint64_t number, const char *suffix);

void push_segment(struct wal *w, struct wal_segment *s);

/* Make the file of a new segment, durable with its name. */
NODISCARD int segment_create(struct wal *w, uint64_t number,
			     struct wal_segment **out, struct err *err);

/* It stays where it is, out of the list, so that it is never dropped. */
void tell_left_alone(struct wal *w, uint64_t number, const char *path,
		     const struct err *err);

NODISCARD int segment_open(struct wal *w, uint64_t number, struct err *err);

void wal_segment_unref(struct wal_segment *s);

/*
 * Read and verify a record of len bytes; *out borrows from buf, which it
 * replaces. ERR_CORRUPT names file and offset.
 */
NODISCARD int wal_segment_read(const struct wal_segment *s, uint64_t lsn,
			       uint32_t len, struct buf *buf,
			       struct segment_profile *out, struct err *err);

/*
 * The same without the body: out->body is empty, and none of it is read, but
 * for a few bytes where the head is shorter than the one in buf: heads of a
 * series are alike, so that length is read at once.
 */
NODISCARD int wal_segment_head(const struct wal_segment *s, uint64_t lsn,
			       uint32_t len, struct buf *buf,
			       struct segment_profile *out, struct err *err);

#endif
