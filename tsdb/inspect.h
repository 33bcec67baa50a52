/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspect: list parts, and count bytes by label, codec and section.
 *
 * Ownership: borrows the database.
 * Threads: any.
 */
#ifndef TSDB_INSPECT_H
#define TSDB_INSPECT_H

#include "tsdb/tsdb.h"

/* A block or an open range. */
struct tsdb_part {
	const char *name;
	bool is_block;
	int64_t min_ms;
	int64_t max_ms; /* not in it */
	uint64_t samples;
	uint64_t series;
	uint64_t groups;
	uint64_t bytes;
	unsigned level; /* 0: a range */
};

/* What series with one value of a label hold, in groups. */
struct tsdb_label_stats {
	const char *value; /* "" for series without the label */
	uint64_t profiles;
	uint64_t raw_bytes;
	uint64_t stored_bytes;
	uint64_t head_bytes; /* of groups: times, totals, hashes, places */
};

void tsdb_each_part(struct tsdb *db,
		    void (*fn)(void *ctx, const struct tsdb_part *p),
		    void *ctx);

/* By each value of a label, in order; what is only in the WAL is not in it. */
NODISCARD int tsdb_label_stats(struct tsdb *db, const char *label,
			       void (*fn)(void *ctx,
					  const struct tsdb_label_stats *s),
			       void *ctx, struct err *err);

/*
 * The same by codec ("zstd", "columns", "columns: tables"), and by section of
 * what codecs with sections store ("columns: texts"): profiles and raw bytes
 * are 0 where they tell nothing.
 */
NODISCARD int tsdb_codec_stats(struct tsdb *db,
			       void (*fn)(void *ctx,
					  const struct tsdb_label_stats *s),
			       void *ctx, struct err *err);

NODISCARD int tsdb_section_stats(struct tsdb *db,
				 void (*fn)(void *ctx,
					    const struct tsdb_label_stats *s),
				 void *ctx, struct err *err);

#endif
