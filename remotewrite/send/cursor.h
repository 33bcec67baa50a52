/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor of a remote-write queue: a file with a position in the sample log.
 * All samples before this position are acknowledged: the receiver has accepted
 * or refused them, or the queue does not send them. Format:
 * docs/format/remote-write.md, "Cursor".
 *
 * The file has two slots that are written in turn, so that a crash in the
 * middle of a write leaves the other slot intact. A position that was written
 * survives when the process is killed; only after cursor_sync() does the
 * position survive a power cut, too. If the file has an older position after a
 * power cut, this does no harm: some samples are then sent twice.
 *
 * Ownership: cursor_close() frees a cursor.
 * Threads: one thread at a time, but cursor_sync() may run at the same time as
 * cursor_write().
 */
#ifndef REMOTEWRITE_SEND_CURSOR_H
#define REMOTEWRITE_SEND_CURSOR_H

#include "base/file.h"

/* The suffix of a cursor file, after the name of the receiver. */
#define CURSOR_SUFFIX ".cursor"

/* An open cursor. */
struct cursor;

/* What a cursor stores. */
struct cursor_state {
	/* position before which all samples have been acknowledged */
	uint64_t acked;
	/*
	 * position before which the receiver has stored the samples in a second
	 * place, too; 0: not known. Always 0 in this version.
	 */
	uint64_t safe;
	/*
	 * number: expected logged_sample.number of the sample after the
	 * position `acked`; if this sample has a higher number, samples were
	 * lost. sample_ms: time of the sample before that position; the file
	 * stores the time in whole seconds. In both, 0: not known.
	 */
	uint64_t number;
	int64_t sample_ms;
	/* members of the clock of the queue; see struct trusted_clock */
	int64_t trusted_ms;
	int64_t doubt_ms;
};

/* Where the state of a cursor comes from when it is opened. */
enum cursor_origin {
	CURSOR_READ, /* the file */
	CURSOR_NEW,  /* there is no file, and the caller gave the state */
	/*
	 * An earlier state was lost, so nothing counts as acknowledged.
	 * CURSOR_DAMAGED: no slot of the file is intact. CURSOR_UNREADABLE: the
	 * disk cannot read the file, which is renamed to `path`.unread; or
	 * there is only `path`.unread, because an earlier cursor_open() renamed
	 * the file and then created no new one.
	 */
	CURSOR_DAMAGED,
	CURSOR_UNREADABLE,
};

/*
 * Open the cursor file `path`, and set *state to the state in the file. If
 * there is no file, create one with the given *state. If an earlier state was
 * lost, create a file with a state of zeros. `fs` may be NULL. *origin says
 * which of these cases it was. ERR_UNSUPPORTED: a newer version wrote the file.
 * ERR_CORRUPT: `path` is not a regular file. ERR_IO, ERR_NOSPACE: the file
 * cannot be opened, renamed or created.
 */
NODISCARD int cursor_open(struct fs *fs, const char *path,
			  struct cursor_state *state,
			  enum cursor_origin *origin, struct cursor **out,
			  struct err *err);

/*
 * Remove the file `path`, and `path`.unread if it exists. ERR_NOTFOUND: there
 * is no file `path`. ERR_IO: one of the two files cannot be removed.
 */
NODISCARD int cursor_remove(struct fs *fs, const char *path, struct err *err);

/* Close a cursor; NULL is a no-op. */
void cursor_close(struct cursor *c);

/* Write a state. ERR_IO, ERR_NOSPACE: the file still has the previous state. */
NODISCARD int cursor_write(struct cursor *c, const struct cursor_state *state,
			   struct err *err);

/*
 * Make the state that was written last durable. ERR_IO, ERR_NOSPACE: the sync
 * failed.
 */
NODISCARD int cursor_sync(struct cursor *c, struct err *err);

/*
 * Decode the newest intact state and its serial number from the bytes of a
 * cursor file. ERR_CORRUPT: no slot is intact. ERR_UNSUPPORTED: a newer version
 * wrote the file.
 */
NODISCARD int cursor_decode(struct bytes file, struct cursor_state *out,
			    uint64_t *serial, struct err *err);

#endif
