/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor of a remote-write queue: the position in the sample log before
 * which all samples have been acknowledged, in a file. Format:
 * docs/format/remote-write.md, "Cursor".
 *
 * The file has two slots that are written in turn, so that a crash in the
 * middle of a write leaves the other one. Writing needs no sync to survive a
 * kill of the process; cursor_sync() makes the position survive a power cut.
 * An older position is harmless: samples are sent twice.
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
	 * number of the next sample, see struct logged_sample, and time of the
	 * sample before it, which is stored in seconds; 0: not known
	 */
	uint64_t number;
	int64_t sample_ms;
	/* the clock of the queue, see struct trusted_clock; 0: not known */
	int64_t trusted_ms;
	int64_t doubt_ms;
};

/*
 * Open the cursor in the file `path`, or create the file with the state
 * *state. On return *state is what the file states. If the file cannot be read,
 * or both slots are damaged, *damaged is set, nothing counts as acknowledged
 * (*state is zero), and the file is replaced; one that the disk cannot read is
 * kept as *.unread. `fs` may be NULL.
 * ERR_UNSUPPORTED: a newer version wrote the file. ERR_IO, ERR_NOSPACE: the
 * file cannot be created or replaced.
 */
NODISCARD int cursor_open(struct fs *fs, const char *path,
			  struct cursor_state *state, bool *damaged,
			  struct cursor **out, struct err *err);

/* Close a cursor; NULL is a no-op. */
void cursor_close(struct cursor *c);

/* Write a state. ERR_IO, ERR_NOSPACE: the file has the previous one. */
NODISCARD int cursor_write(struct cursor *c, const struct cursor_state *state,
			   struct err *err);

/* Make the last state durable. ERR_IO: the sync failed. */
NODISCARD int cursor_sync(struct cursor *c, struct err *err);

/*
 * Read the state of a cursor file without changing it, from the file's bytes.
 * ERR_CORRUPT: no slot is intact. ERR_UNSUPPORTED: a newer version wrote it.
 */
NODISCARD int cursor_decode(struct bytes file, struct cursor_state *out,
			    uint64_t *serial, struct err *err);

#endif
