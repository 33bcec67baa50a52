/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a profile: writes its bytes as its writer did, from the dictionary
 * and the columns. Ids and string numbers are not stored anywhere: they follow
 * from the order in which things are written.
 *
 * Ownership: a replay owns its workspace; it borrows dictionary and row during
 * a call.
 * Threads: one thread per replay.
 */
#ifndef PPROF_ROWS_REENCODE_H
#define PPROF_ROWS_REENCODE_H

#include "base/buf.h"
#include "pprof/dictionary/dictionary.h"

/* One profile of a group. All numbers refer to its dictionary. */
struct row {
	uint32_t shape;
	uint32_t layout;
	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	size_t samples;
	const uint32_t *keys;  /* key of each sample, in their order */
	const int64_t *values; /* one column per type, `stride` apart */
	size_t stride;
	/* Number of sample types. */
	size_t types;
};

/* Workspace of replaying; reusing it saves allocations. */
struct replay;

/* Create a workspace. The caller frees it by replay_free(). */
struct replay *replay_new(void);

/* Free a workspace; r may be NULL. */
void replay_free(struct replay *r);

/* Memory that the workspace holds, in bytes. */
size_t replay_memory(const struct replay *r);

/*
 * Append the bytes of a row to out. The numbers of the row must be valid in d.
 * ERR_TOOBIG: more than max bytes; out then has a part of them.
 */
NODISCARD int replay_row(struct replay *r, const struct dictionary *d,
			 const struct row *row, size_t max, struct buf *out,
			 struct err *err);

/*
 * Begin a message of the given field at p and return where its content goes.
 * Pass that address to reencode_message_end().
 */
uint8_t *reencode_message_begin(uint8_t *p, unsigned field);

/*
 * End a message whose content is from start to p: write its length in front,
 * for which the content may move. Returns the new end; there must be room for
 * VARINT_MAX - 1 more bytes.
 */
uint8_t *reencode_message_end(uint8_t *start, uint8_t *p);

#endif
