/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tools ask of a database, beside queries.
 *
 * Threads: any.
 */
#ifndef TSDB_TOOLS_H
#define TSDB_TOOLS_H

#include "tsdb/tsdb.h"
#include "tsdb/verify.h"

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

void tsdb_each_part(struct tsdb *db,
		    void (*fn)(void *ctx, const struct tsdb_part *p),
		    void *ctx);

/* What series with one value of a label hold, in groups. */
struct tsdb_label_stats {
	const char *value; /* "" for series without the label */
	uint64_t profiles;
	uint64_t raw_bytes;
	uint64_t stored_bytes;
	uint64_t head_bytes; /* of groups: times, totals, hashes, places */
};

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

struct tsdb_repair {
	uint64_t rewritten; /* blocks, */
	uint64_t lost;      /* and what they lack of the old ones: profiles */
	uint64_t recovered; /* profiles that were in the WAL alone */
	uint64_t set_aside; /* blocks and ranges that cannot be read */
};

/*
 * Write each block anew in which something is damaged, with what is whole;
 * losses are logged, and counted in *out. A block that cannot be written is
 * passed over: the first such error is returned when all are done.
 */
NODISCARD int tsdb_repair(struct tsdb *db, struct tsdb_repair *out,
			  struct err *err);

/*
 * Whether a directory is that of a database: ERR_NOTFOUND: it is not there;
 * ERR_INVALID: it holds something else, or, unless `or_empty`, nothing.
 */
NODISCARD int tsdb_check_dir(struct fs *fs, const char *path, bool or_empty,
			     struct err *err);

/* Block i of count is done. */
typedef void (*tsdb_progress_fn)(void *ctx, const char *block, size_t i,
				 size_t count);

/*
 * Encode the blocks anew whose groups have not been tried as columns, one
 * after another, older first: what is done stays done, whenever it ends.
 */
NODISCARD int tsdb_recode(struct tsdb *db, tsdb_progress_fn told, void *ctx,
			  size_t *recoded, struct err *err);

/*
 * Damage found since the start: stretches of logs, files, profiles. What a
 * power cut leaves at the end of a log is none.
 */
uint64_t tsdb_damage(struct tsdb *db);

/*
 * Profiles in the WAL that should be in a range or a block, and are in none.
 * One that is not read-only has taken them back.
 */
uint64_t tsdb_recovered(struct tsdb *db);

/* A person says that the time of day is right: retention goes by it again. */
NODISCARD int tsdb_confirm_clock(struct tsdb *db, struct err *err);

#endif
