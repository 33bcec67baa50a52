/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the parts of a database, and counts bytes by label, codec and section.
 *
 * Ownership: borrows the database.
 * Threads: any.
 */
#ifndef TSDB_TOOLS_INSPECT_H
#define TSDB_TOOLS_INSPECT_H

#include "tsdb/open/tsdb.h"

/*
 * Return whether a path is a data directory of everprof: of a server, of an
 * agent, or a snapshot. A data directory of conprof does not count.
 */
bool tsdb_is_dir(const char *path);

/* A block or an open head, with its properties. */
struct tsdb_part {
	const char *name; /* ULID, valid during the callback */
	bool is_block;
	int64_t min_ms;
	int64_t max_ms; /* end of the time range in ms, exclusive */
	uint64_t samples;
	uint64_t series;
	uint64_t groups; /* number of chunks */
	uint64_t bytes;  /* bytes on disk */
	unsigned level;  /* compaction level of a block; 0 for a head */
};

/*
 * Statistics about the profiles that have one value of a label, about the data
 * of one codec, or about one section.
 */
struct tsdb_label_stats {
	/*
	 * The label value ("" for series without the label), or the name of the
	 * codec or of the section.
	 */
	const char *value;
	uint64_t profiles;
	uint64_t raw_bytes;
	uint64_t stored_bytes;
	uint64_t head_bytes; /* bytes of chunk metadata */
};

/*
 * Call fn for each part of the database, blocks first. `p` is valid only
 * during the call of fn. Reads the chunk metadata of heads.
 */
void tsdb_each_part(struct tsdb *db,
		    void (*fn)(void *ctx, const struct tsdb_part *p),
		    void *ctx);

/*
 * Call fn for each value of a label, in byte order. Unflushed profiles are not
 * counted; damaged chunks are left out. Returns ERR_CORRUPT or ERR_IO when an
 * index cannot be read; fn is not called then.
 */
NODISCARD int tsdb_label_stats(struct tsdb *db, const char *label,
			       void (*fn)(void *ctx,
					  const struct tsdb_label_stats *s),
			       void *ctx, struct err *err);

/*
 * Call fn for each codec in use ("zstd", "columns") and for the tables of a
 * codec ("columns: tables"), in order; s->value is the name. For tables, only
 * stored_bytes is set. Errors as tsdb_label_stats().
 */
NODISCARD int tsdb_codec_stats(struct tsdb *db,
			       void (*fn)(void *ctx,
					  const struct tsdb_label_stats *s),
			       void *ctx, struct err *err);

/*
 * Call fn for each section (one kind of data) in the stored bytes of codecs,
 * such as "columns: texts", in order; only stored_bytes is set. Errors as
 * tsdb_label_stats(), and ERR_IO when values cannot be read.
 */
NODISCARD int tsdb_section_stats(struct tsdb *db,
				 void (*fn)(void *ctx,
					    const struct tsdb_label_stats *s),
				 void *ctx, struct err *err);

#endif
