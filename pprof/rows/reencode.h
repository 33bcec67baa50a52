/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: writes a profile's bytes as its writer did, from its dictionary and
 * its columns. Ids and string numbers are nowhere stored: they follow from the
 * order in which things are written.
 *
 * Ownership: a replay owns its workspace. Threads: one thread a replay.
 */
#ifndef PPROF_ROWS_REENCODE_H
#define PPROF_ROWS_REENCODE_H

#include "base/buf.h"
#include "pprof/dictionary/dictionary.h"

/* One profile: its places in the dictionary, and its numbers. */
struct row {
	uint32_t shape;
	uint32_t layout;
	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	size_t samples;
	const uint32_t *keys;  /* of the samples, in their order */
	const int64_t *values; /* a column for each type, `stride` apart */
	size_t stride;
	size_t types;
};

struct replay;

struct replay *replay_new(void);
void replay_free(struct replay *r);
size_t replay_memory(const struct replay *r);

/*
 * Append a row's bytes to out, at most max of them: ERR_TOOBIG beyond. Its
 * numbers must be those of d.
 */
NODISCARD int replay_row(struct replay *r, const struct dictionary *d,
			 const struct row *row, size_t max, struct buf *out,
			 struct err *err);

/* A message begins: its length is written behind it, and mostly is a byte. */
uint8_t *reencode_message_begin(uint8_t *p, unsigned field);

uint8_t *reencode_message_end(uint8_t *start, uint8_t *p);

#endif
