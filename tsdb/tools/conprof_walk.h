/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk reads a conprof data directory once. This file also reads chunks,
 * because blocks and the head have them in the same format: Prometheus' chunk
 * of times, then the compressed values.
 *
 * Ownership: a walk owns its buffers and series.
 * Threads: one thread at a time for each walk.
 */
#ifndef TSDB_TOOLS_CONPROF_WALK_H
#define TSDB_TOOLS_CONPROF_WALK_H

#include "base/file.h"
#include "base/table.h"
#include "base/zstd.h"
#include "tsdb/chunk/chunks.h"
#include "tsdb/tools/conprof.h"

#define FILE_MAX_BYTES (4096ull * MIB) /* largest file that is read, in bytes */

/* Largest uncompressed size of a chunk's values, in bytes. */
#define VALUES_MAX (1024 * MIB)

#define RECORD_MAX (1024 * MIB) /* largest WAL record, in bytes */

/*
 * A series of the head, to which WAL records and head chunks refer by the
 * number `ref`.
 */
struct head_series {
	uint64_t ref;
	struct labels *labels;
};

/*
 * The state of a walk. `series` are the series of the head, found in the WAL.
 */
struct walk {
	const struct conprof_visitor *v;
	const char *path; /* path of the file being read, for messages */
	struct zstd *zstd;
	struct buf values; /* uncompressed values of the current chunk */
	struct buf record; /* WAL record, joined from its fragments */
	struct buf plain;  /* WAL record, uncompressed */
	struct head_series *series;
	size_t count;
	size_t cap;
	struct table index; /* finds series by ref */
	/*
	 * Whether the current pass over the WAL only collects the series and
	 * visits no profiles.
	 */
	bool names_only;
};

/*
 * A chunk with its labels and time range. For a chunk of a block these come
 * from the index, for a chunk of the head from the chunk's header.
 */
struct conprof_chunk {
	struct labels *labels;
	/* Time intervals hidden by tombstones; may be NULL. */
	const struct chunks *gaps;
	int64_t min;
	int64_t max;
	struct bytes data;
};

/* Reports damage in the current file to the visitor. */
void PRINTF(2, 3) conprof_report_damage(struct walk *w, const char *fmt, ...);

/*
 * Reports to the visitor that the profiles of a series in the time range [from,
 * to] are damaged.
 */
void conprof_report_loss(struct walk *w, struct labels *ls, int64_t from,
			 int64_t to);

/*
 * Visits the profiles of a chunk that are wanted and not hidden by tombstones.
 * The chunk's format is: u16 count | u32 length of times | u32 length of values
 * | times | one zstd frame of values. Damage is reported to the visitor.
 * Returns the first error of the visitor.
 */
NODISCARD int visit_chunk(struct walk *w, const struct conprof_chunk *c,
			  struct err *err);

#endif
