/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segments of the WAL: create a file, open it, read records from it, and find
 * the segment of a position.
 *
 * Ownership: reference counted; wal_segment_unref() releases a reference.
 * Threads: reading: any. Creating and opening: one thread at a time.
 */
#ifndef TSDB_WAL_WAL_SEGMENT_H
#define TSDB_WAL_WAL_SEGMENT_H

#include "tsdb/wal/body.h"
#include "tsdb/wal/wal.h"

/* The highest number of a segment. */
#define SEGMENT_NUMBER_MAX INT32_MAX

/*
 * Number of a segment, parsed from its file name; 0 if the name is not that of
 * a segment.
 */
uint64_t segment_number(const char *name);

/*
 * Number of a segment that was set aside, parsed from its file name (*.unread,
 * *.damaged and others); 0 if the name is not that of such a segment.
 */
uint64_t segment_aside_number(const char *name);

/* Path of a segment's file with a suffix (may be ""); the caller frees it. */
char *segment_path(const struct wal *w, uint64_t number, const char *suffix);

/*
 * Append s to the log's list of segments, which takes over the caller's
 * reference. The caller holds `mu`, or is the only thread.
 */
void segment_push(struct wal *w, struct wal_segment *s);

/*
 * Create the file of a new segment after one whose records end at the offset
 * `before` (0: not known); the file and its name are durable on return. The caller owns *out. ERR_NOSPACE, ERR_IO: no segment was created.
 */
NODISCARD int segment_create(struct wal *w, uint64_t number, uint32_t before,
			     struct wal_segment **out, struct err *err);

/*
 * Set a segment aside as *.damaged that had records, and has none that can be read.
 */
NODISCARD int wal_segment_set_aside(struct wal *w, struct file *f,
				    struct err *err);

/* Log that a segment could not be synced, and what that means. */
void wal_segment_report_unsynced(const struct wal *w, const struct err *err);

/*
 * Log and count a segment that cannot be read. Its file stays on disk, and is
 * set aside if the disk could not read it; see wal_unread.h. The
 * segment is not in the list of segments, so its file is never removed.
 * wal_begin() takes the segment into account.
 */
void segment_tell_left_alone(struct wal *w, uint64_t number, const char *path,
			     const struct err *err);

/*
 * Open an existing segment and add it to the list. *end is the offset after the
 * segment's last record, as the header of the next segment says it, or 0 if
 * that is not known; it is set to what this header says about the segment
 * before. If the file has no records, it is removed, or set aside if it had
 * some. An unreadable file is left alone. These cases return 0.
 * ERR_UNSUPPORTED: another format version. ERR_NOTFOUND: no such file.
 */
NODISCARD int segment_open(struct wal *w, uint64_t number, uint32_t *end,
			   struct err *err);

/*
 * Open the file of a segment at `path` for reading, and read its header. The
 * caller owns *out, which is in no list. Errors as for segment_open().
 */
NODISCARD int segment_open_read(struct wal *w, const char *path,
				uint64_t number, struct wal_segment **out,
				struct err *err);

/* Release a reference; the last one closes the file. NULL is a no-op. */
void wal_segment_unref(struct wal_segment *s);

/*
 * Call fn for each profile that the directory of a sealed segment lists, and set
 * *end to the offset after the last record, and *numbers. ERR_CORRUPT: there is no directory,
 * or it is damaged; fn has not been called. ERR_IO: the disk could not read it.
 */
NODISCARD int wal_segment_directory(const struct wal_segment *s,
				    segment_entry_fn fn, void *ctx,
				    uint64_t *end,
				    struct segment_numbers *numbers,
				    struct err *err);

/*
 * Read and verify the record of `len` bytes at `lsn`. The record replaces the
 * contents of `buf`, and *out borrows from `buf`. ERR_CORRUPT: the record is
 * damaged; the message names file and offset. ERR_IO: the disk could not read
 * it. ERR_TOOBIG: `len` exceeds the limit of `buf`.
 */
NODISCARD int wal_segment_read(const struct wal_segment *s, uint64_t lsn,
			       uint32_t len, struct buf *buf,
			       struct segment_profile *out, struct err *err);

/*
 * Decode the profile of a record that wal_segment_read() has read, as
 * body_decode() does. The message of an error names file and offset.
 */
NODISCARD int wal_segment_body(const struct wal_segment *s,
			       const struct segment_profile *p,
			       struct body_decoder *d, struct buf *out,
			       struct err *err);

/*
 * Read and verify the record at `lsn` without its body: out->body is empty. On
 * entry buf->len is a guess of the head's length; a good guess saves a second
 * read. Callers pass the buffer of the previous call: heads of the same series
 * have similar lengths. Errors as for wal_segment_read().
 */
NODISCARD int wal_segment_head(const struct wal_segment *s, uint64_t lsn,
			       uint32_t len, struct buf *buf,
			       struct segment_profile *out, struct err *err);

/* The segment that has a position, or NULL; the caller holds `mu`. */
struct wal_segment *wal_find_locked(const struct wal *w, uint64_t lsn);

/*
 * Note that a segment with this number is kept on disk, although it is not in
 * the list of segments; wal_begin() takes it into account.
 */
void wal_note_kept(struct wal *w, uint64_t number);

#endif
