/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: writes the bytes of a profile as the profile's original writer did,
 * from the dictionary and the columns. The result is the replay of the profile.
 * Ids and string numbers are not stored anywhere: they follow from the order in
 * which elements are written.
 *
 * Ownership: a struct replay owns its workspace. It borrows the dictionary and
 * the row during a call.
 * Threads: one thread per struct replay.
 */
#ifndef PPROF_ROWS_REENCODE_H
#define PPROF_ROWS_REENCODE_H

#include "base/buf.h"
#include "pprof/dictionary/dictionary.h"

/*
 * One profile of a group. `shape`, `layout` and `keys` are numbers in the
 * group's dictionary.
 */
struct row {
	uint32_t shape;
	uint32_t layout;
	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	size_t samples;
	const uint32_t *keys; /* key of each sample */
	/*
	 * Values of the samples, one column per sample type. The columns start
	 * `stride` elements apart.
	 */
	const int64_t *values;
	size_t stride;
	/* Number of sample types. */
	size_t types;
};

/* Workspace of replaying; reusing it saves allocations. */
struct replay;

/* Create a workspace. The caller frees it by replay_free(). */
struct replay *replay_new(void);

/* Free a workspace. `r` may be NULL. */
void replay_free(struct replay *r);

/* Memory that the workspace holds, in bytes. */
size_t replay_memory(const struct replay *r);

/*
 * Append the replay of the row's profile to `out`. The row's numbers must be
 * valid in the dictionary d. ERR_TOOBIG: the profile would have more than `max`
 * bytes; `out` then has a part of it.
 */
NODISCARD int replay_row(struct replay *r, const struct dictionary *d,
			 const struct row *row, size_t max, struct buf *out,
			 struct err *err);

#endif
