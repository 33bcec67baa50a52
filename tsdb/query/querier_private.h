/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the source files of the querier; no other file
 * includes this header.
 *
 * Ownership: a querier holds a reference to each part and label set it knows.
 * Threads: one thread at a time for each querier.
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

#define NONE UINT32_MAX /* marks the end of a list of places */

#define LOOKS 8 /* attempts at totals while a flush moves profiles */

/* A part in which a selected series is found. */
struct place {
	uint32_t part;
	uint32_t series; /* its number in that part */
	uint32_t next;   /* the next place of the series, or NONE */
};

/* A selected series. */
struct hit {
	struct labels *labels; /* a reference */
	uint32_t first;        /* its places, in the order of parts */
	uint32_t last;         /* to append places */
};

/*
 * The chunks of one series in one block, kept for profiles that are requested
 * one after another.
 */
struct cursor {
	bool open;
	size_t hit;     /* index of the series */
	uint32_t place; /* index of the place */
	struct chunks groups;
	size_t at; /* the chunk whose metadata is in meta; SIZE_MAX: none */
	struct chunk_meta meta;
};

/*
 * A querier: its copy of the view, the selection, and buffers that are reused
 * from call to call.
 */
struct querier {
	struct tsdb *db;
	/* Oldest first; the first part that has a profile counts. */
	struct part *parts;
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
	struct values kept; /* the last chunk fetched, if sequential */
	const struct file *kept_file;
	struct chunk_place kept_place;
	struct err kept_why; /* why some of its profiles are not ok */
	struct cursor cursor;
	struct buf scratch;
	querier_spend_fn spend; /* asked before memory is taken; may be NULL */
	void *spend_ctx;
	uint64_t lost;       /* parts, chunks and profiles missing in answers */
	struct err lost_why; /* the first reason */
	uint64_t failed;     /* requested profiles that could not be read */
	struct err failed_why; /* the first reason */
};

/* Records that an answer lacks `count` parts, chunks or profiles. */
void note_lost(struct querier *q, uint64_t count, const struct err *why);

/*
 * Records, if rc is ERR_CORRUPT or ERR_IO, that a requested profile could not
 * be read. Returns rc.
 */
int note_failed(struct querier *q, int rc, const struct err *why);

/* Closes the cursor and frees its list of chunks. */
void close_cursor(struct cursor *c);

/*
 * Asks the querier's spend function, if any, for so many bytes; returns its
 * error.
 */
NODISCARD int querier_spend_bytes(struct querier *q, size_t bytes,
				  struct err *err);

#endif
