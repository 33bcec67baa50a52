/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file keeps what a database must remember and cannot derive from its
 * profiles (docs/format/state.md, docs/decisions.md, 85).
 *
 * Retired spans record which profiles were removed on purpose, by retention or
 * deletion, while their records may still be in the WAL. When the database is
 * opened, a WAL record that belongs to no head, no block and no retired span
 * was lost by accident, and is stored again. The retention clock
 * (base/trusted_clock.h) is kept across restarts.
 *
 * Ownership: state_fini() frees what a struct state owns.
 * Threads: one thread at a time (the caller holds job_mu).
 */
#ifndef TSDB_DB_STATE_H
#define TSDB_DB_STATE_H

#include "base/file.h"
#include "base/log.h"
#include "base/trusted_clock.h"

/*
 * WAL records whose profiles were removed on purpose: the records with LSNs
 * from `first_lsn` to `last_lsn` (inclusive) whose profiles are in windows that
 * begin in [from_ms, to_ms).
 */
struct retired_span {
	int64_t from_ms;
	int64_t to_ms;
	uint64_t first_lsn;
	uint64_t last_lsn;
};

/* The contents of the state file, and the directory that it is in. */
struct state {
	struct fs *fs;
	char *dir;                  /* directory of the database */
	struct trusted_clock clock; /* the retention clock */
	bool has_clock;             /* the retention clock was saved before */
	struct retired_span *spans;
	size_t span_count;
	size_t span_cap;
};

/* Initialize an empty state for the database in dir; nothing is read yet. */
void state_init(struct state *s, struct fs *fs, const char *dir);

/* Free the memory of s, and leave it zeroed. */
void state_fini(struct state *s);

/*
 * Read the state file. If it is missing or damaged, the state stays empty:
 * removed profiles may then come back, which is better than losing other
 * profiles. A missing file is not an error. ERR_CORRUPT: the file is damaged.
 * ERR_IO: the disk cannot read it.
 */
NODISCARD int state_load(struct state *s, struct err *err);

/*
 * Replace the state file, durably. ERR_IO, ERR_NOSPACE: the old file is still
 * there.
 */
NODISCARD int state_save(struct state *s, struct err *err);

/*
 * Record, durably, that the profiles of a span are being removed on purpose.
 * `oldest_lsn` is where the WAL begins now; spans entirely before it are
 * dropped. Errors as state_save().
 */
NODISCARD int state_retire(struct state *s, const struct retired_span *span,
			   uint64_t oldest_lsn, struct err *err);

/*
 * Return whether the profile of a WAL record was removed on purpose. window_ms
 * is the start of the profile's window.
 */
bool state_is_retired(const struct state *s, int64_t window_ms, uint64_t lsn);

/*
 * Append the contents of the state file to *out. `salt`, a random number, is
 * stored in the header and is part of the checksums.
 */
void state_encode(const struct state *s, uint64_t salt, struct buf *out);

/*
 * Set s from the contents of a state file; s may be set in part on failure.
 * ERR_CORRUPT: damaged. ERR_UNSUPPORTED: written by a newer version.
 */
NODISCARD int state_decode(struct state *s, struct bytes file, struct err *err);

#endif
