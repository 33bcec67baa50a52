/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads data directories of conprof, for import: blocks, head chunks and the
 * write-ahead log (WAL). The formats are those of Prometheus' TSDB in 2020, but
 * chunk values are byte slices instead of numbers (github.com/conprof/db:
 * chunkenc/byte.go, tsdb/record, tsdb/wal, tsdb/chunks).
 *
 * Ownership: what visitors receive is borrowed for the call.
 * Threads: one thread at a time for each walk.
 */
#ifndef TSDB_TOOLS_CONPROF_H
#define TSDB_TOOLS_CONPROF_H

#include "base/err.h"
#include "model/labels.h"

/*
 * The callbacks of a walk, a pass through a conprof data directory. ctx is
 * passed to each of them.
 */
struct conprof_visitor {
	/*
	 * Returns whether visit() should be called for the profile at time
	 * `ms`. May be called more than once per profile.
	 */
	bool (*wants)(void *ctx, int64_t ms);

	/*
	 * Receives a profile; `path` is the file that contains it. labels and
	 * value are borrowed for the call. A non-zero result ends the walk.
	 */
	int (*visit)(void *ctx, const char *path, struct labels *labels,
		     int64_t ms, struct bytes value, struct err *err);

	/*
	 * Receives an error for each piece of data that is damaged and
	 * therefore left out.
	 */
	void (*damaged)(void *ctx, const struct err *err);
	void *ctx;
};

/* Return whether a directory looks like a conprof data directory. */
bool conprof_is_dir(const char *path);

/*
 * Visit every profile in the data directory. Head chunks and the WAL may
 * repeat profiles of blocks, so a profile may be visited twice. Damage is
 * reported to v->damaged() and does not end the walk. Returns the first error
 * of v->visit(), and ERR_IO when the directory cannot be listed.
 */
NODISCARD int conprof_walk(const char *path, const struct conprof_visitor *v,
			   struct err *err);

#endif
