/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the querier share. No file outside of them includes it.
 *
 * Ownership: a querier holds a reference to each part and label set it knows.
 * Threads: one thread a querier.
 */
#ifndef TSDB_QUERY_QUERIER_PRIVATE_H
#define TSDB_QUERY_QUERIER_PRIVATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "tsdb/db/db.h"
#include "tsdb/part/part.h"
#include "tsdb/part/values.h"
#include "tsdb/querier.h"
#include "tsdb/wal/body.h"

#define NONE UINT32_MAX

#define LOOKS 8 /* at totals, while profiles are being flushed */

/* Where a selected series is. */
struct place {
	uint32_t part;
	uint32_t series; /* its number there */
	uint32_t next;   /* another place, or NONE */
};

struct hit {
	struct labels *labels; /* referenced */
	uint32_t first;        /* its places, in the order of parts */
	uint32_t last;
};

/*
 * The groups of a series in a block, for profiles that are asked for one after
 * another.
 */
struct cursor {
	bool open;
	size_t hit;     /* which series */
	uint32_t place; /* where */
	struct chunks groups;
	size_t at; /* the group whose head is below; SIZE_MAX: none */
	struct chunk_meta meta;
};

struct querier {
	struct tsdb *db;
	struct part *parts; /* older first: of two at one time it counts */
	size_t part_count;
	struct hit *hits;
	size_t count;
	size_t cap;
	struct place *places;
	size_t place_count;
	size_t place_cap;
	struct times times;
	struct totals {
		VEC(struct totals_row) rows;
		VEC(int64_t) values;
		VEC(struct bytes) typesets;
		struct arena text;
	} totals;
	struct body_decoder decoder;
	struct values_reader values;
	bool sequential;
	struct values kept; /* the group fetched last, when sequential */
	const struct file *kept_file;
	struct chunk_place kept_place;
	struct err
		kept_why; /* what is wrong with its profiles that are not ok */
	struct cursor cursor;
	struct buf scratch;
	querier_spend_fn spend; /* may be NULL */
	void *spend_ctx;
	uint64_t lost; /* parts, groups and profiles left out of answers */
	struct err lost_why;
	uint64_t failed; /* profiles that somebody asked for, and was told of */
	struct err failed_why;
};

/* Note what an answer lacks. */
void note_lost(struct querier *q, uint64_t count, const struct err *why);

/* Note that a profile cannot be read; returns rc. */
int note_failed(struct querier *q, int rc, const struct err *why);

void close_cursor(struct cursor *c);

NODISCARD int querier_spend_bytes(struct querier *q, size_t bytes,
				  struct err *err);

#endif
