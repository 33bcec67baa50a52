/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data directories of conprof, read for import: blocks, head chunks and WAL.
 *
 * The formats are those of Prometheus' TSDB of 2020 with byte slices for
 * values (github.com/conprof/db: chunkenc/byte.go, tsdb/record, tsdb/wal,
 * tsdb/chunks).
 *
 * Ownership: what visitors get is borrowed for the call.
 * Threads: one thread a walk.
 */
#ifndef TSDB_CONPROF_H
#define TSDB_CONPROF_H

#include "base/err.h"
#include "model/labels.h"

struct conprof_visitor {
	/* Whether the profile of that time is wanted: visit is called if so. */
	bool (*wants)(void *ctx, int64_t ms);

	/* labels and value are borrowed for the call. An error ends the walk. */
	int (*visit)(void *ctx, const char *path, struct labels *labels,
		     int64_t ms, struct bytes value, struct err *err);

	/* Something is damaged, and left out; err names it. */
	void (*damaged)(void *ctx, const struct err *err);
	void *ctx;
};

/* Whether a directory looks like conprof's. */
bool conprof_is_dir(const char *path);

/*
 * Visit every profile. Head chunks and WAL repeat what is in blocks: a profile
 * may come twice.
 */
NODISCARD int conprof_walk(const char *path, const struct conprof_visitor *v,
			   struct err *err);

#endif
