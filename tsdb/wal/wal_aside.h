/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments whose profiles are not in their place in the log, because the disk
 * could not read them: a file *.unread has them, or they were appended again at
 * the end of the log. A reader that counts what is missing must not count these.
 * A file *.returned, which is empty, says that a segment's profiles were appended
 * again, until no reader can come to their place any more.
 *
 * Ownership: the log owns its list.
 * Threads: any; no other lock is needed.
 */
#ifndef TSDB_WAL_WAL_ASIDE_H
#define TSDB_WAL_WAL_ASIDE_H

#include "tsdb/wal/wal.h"

/* Note the segment of a file *.unread or *.returned, by the file's name. */
void wal_aside_note_name(struct wal *w, const char *name);

/* Note that a segment has a file *.unread. */
void wal_aside_note(struct wal *w, uint64_t number);

/* Note durably that the profiles of a segment were appended again. */
NODISCARD int wal_aside_return(struct wal *w, uint64_t number, struct err *err);

/*
 * Whether more profiles of such a segment can be read, `found`, than were
 * appended again before, as wal_aside_note_found() has noted.
 */
bool wal_aside_has_more(struct wal *w, uint64_t number, size_t found);
void wal_aside_note_found(struct wal *w, uint64_t number, size_t found);

/* Whether there is such a segment with a number from `from` to before `to`. */
bool wal_aside_between(struct wal *w, uint64_t from, uint64_t to);

/*
 * Forget the segments with numbers below `before` that were appended again. No
 * reader will come to their place, once it is durable that the segments before
 * them are removed from the log: this is made sure first. If that fails, nothing
 * is forgotten. For held segments this is not needed: the cursor that let them
 * go was synced before, so no reader begins with them again.
 */
void wal_aside_forget(struct wal *w, uint64_t before);

/* Whether a name is that of something unread; *.unread, *.unread-2, … */
bool wal_aside_is_unread(const char *name);

#endif
