/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over a conprof data directory, and the chunks that blocks and head
 * have in common: Prometheus' chunk of times, then the compressed values.
 *
 * Ownership: a walk owns its buffers and series.
 * Threads: one thread a walk.
 */
#ifndef TSDB_TOOLS_CONPROF_WALK_H
#define TSDB_TOOLS_CONPROF_WALK_H

#include "base/file.h"
#include "base/table.h"
#include "base/zstd.h"
#include "tsdb/chunk/chunks.h"
#include "tsdb/conprof.h"

#define FILE_MAX_BYTES (4096ull * MIB) /* of one file */

#define VALUES_MAX (1024 * MIB) /* of one chunk, decompressed */

#define RECORD_MAX (1024 * MIB) /* of the WAL */

/* A series of the head, by the number that WAL and head chunks use. */
struct head_series {
	uint64_t ref;
	struct labels *labels;
};

struct walk {
	const struct conprof_visitor *v;
	const char *path; /* of the file being read */
	struct zstd *zstd;
	struct buf values;
	struct buf record;
	struct buf plain;
	struct head_series *series;
	size_t count;
	size_t cap;
	struct table index;
	bool names_only; /* this pass over the WAL collects series */
};

struct conprof_chunk {
	struct labels *labels;
	const struct chunks *gaps; /* may be NULL */
	int64_t min;
	int64_t max;
	struct bytes data;
};

void PRINTF(2, 3) conprof_report_damage(struct walk *w, const char *fmt, ...);

/* "heap{job="app"} from 1 to 2": what is lost with a chunk. */
void conprof_report_loss(struct walk *w, struct labels *ls, int64_t from,
			 int64_t to);

/* u16 count | u32 length | u32 length | times | one zstd frame of values. */
NODISCARD int visit_chunk(struct walk *w, const struct conprof_chunk *c,
			  struct err *err);

#endif
