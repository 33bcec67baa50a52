/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State: what a database knows that follows from none of its profiles. Format:
 * docs/format/state.md.
 *
 *  - Retired spans: profiles that were removed on purpose, by retention or
 *    deletion, and whose records may still be in the WAL. A start takes every
 *    other record that no range and no block accounts for as lost by accident,
 *    and stores it again.
 *  - The retention clock (planner.h).
 *
 * Ownership: state_fini() frees.
 * Threads: one thread at a time (the job lock).
 */
#ifndef TSDB_DB_STATE_H
#define TSDB_DB_STATE_H

#include "base/file.h"
#include "base/log.h"
#include "tsdb/compact/planner.h"

/* Records of windows that begin in [from_ms, to_ms), with these LSNs. */
struct retired_span {
	int64_t from_ms;
	int64_t to_ms;
	uint64_t first_lsn;
	uint64_t last_lsn;
};

struct state {
	struct fs *fs;
	char *dir; /* of the database */
	struct plan_clock clock;
	bool has_clock; /* false: never saved */
	struct retired_span *spans;
	size_t span_count;
	size_t span_cap;
};

void state_init(struct state *s, struct fs *fs, const char *dir);
void state_fini(struct state *s);

/*
 * Read the file. One that is not there, or damaged, leaves the state empty:
 * profiles then come back rather than being lost. ERR_CORRUPT, ERR_IO.
 */
NODISCARD int state_load(struct state *s, struct err *err);

/* Write the file, durably. */
NODISCARD int state_save(struct state *s, struct err *err);

/*
 * Note, durably, that a span is being removed on purpose. Spans whose records
 * are before oldest_lsn, and so in the WAL no more, are forgotten.
 */
NODISCARD int state_retire(struct state *s, const struct retired_span *span,
			   uint64_t oldest_lsn, struct err *err);

/* Whether a record was removed on purpose. window_ms is its window's start. */
bool state_is_retired(const struct state *s, int64_t window_ms, uint64_t lsn);

void state_encode(const struct state *s, uint64_t salt, struct buf *out);
NODISCARD int state_decode(struct state *s, struct bytes file, struct err *err);

#endif
