/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor of a remote-write queue: a file with a position in the sample log.
 * All samples before this position have been acknowledged. Format:
 * docs/format/remote-write.md, "Cursor".
 *
 * The file has two slots that are written in turn, so that a crash in the
 * middle of a write leaves the other slot intact. A position that was written
 * survives a kill of the process without a sync; cursor_sync() makes it survive
 * a power cut. An older position does no harm: some samples are then sent
 * twice.
 *
 * Ownership: cursor_close() frees a cursor.
 * Threads: one thread at a time.
 */
#ifndef REMOTEWRITE_SEND_CURSOR_H
#define REMOTEWRITE_SEND_CURSOR_H

#include "base/file.h"

/* How the names of cursor files end, after the name of the receiver. */
#define CURSOR_SUFFIX ".cursor"

/* An open cursor. */
struct cursor;

/* What a cursor stores. */
struct cursor_state {
	/* position before which all samples have been acknowledged */
	uint64_t acked;
	/*
	 * position before which the receiver has stored the samples in a second
	 * place, too; 0: not known. It is not used yet.
	 */
	uint64_t safe;
	/*
	 * number: the number that the sample after `acked` has if none is lost,
	 * see struct logged_sample; sample_ms: the time of the sample before
	 * `acked`, which the file has in whole seconds; 0: not known
	 */
	uint64_t number;
	int64_t sample_ms;
	/* members of the clock of the queue; see struct trusted_clock */
	int64_t trusted_ms;
	int64_t doubt_ms;
};

/*
 * Open the cursor in the file `path`, or create the file with the state *state.
 * On success *state is the state in the file. *damaged tells whether an earlier
 * state was lost: no slot is intact, or the disk cannot read the file, which is
 * then renamed to `path`.unread, or the file is missing because an earlier run
 * renamed it and ended before it created a new one. If so, *state is zero
 * (nothing counts as acknowledged), and a file with this state is created. `fs`
 * may be NULL. ERR_UNSUPPORTED: a newer version wrote the file. ERR_CORRUPT:
 * `path` is not a regular file. ERR_IO, ERR_NOSPACE: the file cannot be opened,
 * renamed or created.
 */
NODISCARD int cursor_open(struct fs *fs, const char *path,
			  struct cursor_state *state, bool *damaged,
			  struct cursor **out, struct err *err);

/*
 * Remove the file `path`, and `path`.unread if it exists. ERR_NOTFOUND: there is
 * no file `path`. ERR_IO: one of them cannot be removed.
 */
NODISCARD int cursor_remove(struct fs *fs, const char *path, struct err *err);

/* Close a cursor; NULL is a no-op. */
void cursor_close(struct cursor *c);

/* Write a state. ERR_IO, ERR_NOSPACE: the file still has the previous state. */
NODISCARD int cursor_write(struct cursor *c, const struct cursor_state *state,
			   struct err *err);

/* Make the last state durable. ERR_IO, ERR_NOSPACE: the sync failed. */
NODISCARD int cursor_sync(struct cursor *c, struct err *err);

/*
 * Decode the newest intact state and its serial number from the bytes of a
 * cursor file. ERR_CORRUPT: no slot is intact. ERR_UNSUPPORTED: a newer version
 * wrote the file.
 */
NODISCARD int cursor_decode(struct bytes file, struct cursor_state *out,
			    uint64_t *serial, struct err *err);

#endif
