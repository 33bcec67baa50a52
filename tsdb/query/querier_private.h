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
#include "tsdb/block/part.h"
#include "tsdb/block/values.h"
#include "tsdb/db/db.h"
#include "tsdb/query/querier.h"
#include "tsdb/wal/body.h"

#define NONE UINT32_MAX /* no place: the end of a list, or nothing found */

#define LOOKS 8 /* maximum attempts to collect totals */

/*
 * A part that contains a selected series; an element of the series' linked list
 * of places in querier.places.
 */
struct place {
	uint32_t part;
	uint32_t series; /* number of the series in that part */
	uint32_t next;   /* index of the next place of the series, or NONE */
};

/* A selected series. */
struct hit {
	struct labels *labels; /* label set; the hit holds a reference */
	/*
	 * Index of the first place in querier.places. The list is in the order
	 * of the parts.
	 */
	uint32_t first;
	/* Index of the last place, after which the next place is appended. */
	uint32_t last;
};

/*
 * The chunks of one series in one block, kept for profiles that are requested
 * one after another.
 */
struct cursor {
	bool open;
	size_t hit;     /* index of the series in querier.hits */
	uint32_t place; /* index of the block in querier.places */
	struct chunks groups;
	/*
	 * Index in `groups` of the chunk whose metadata is in `meta`; SIZE_MAX:
	 * none.
	 */
	size_t at;
	struct chunk_meta meta;
};

/*
 * A querier: its copy of the view, the selection, and buffers that are reused
 * from call to call.
 */
struct querier {
	struct tsdb *db;
	struct limits limits; /* asked while series are selected */
	/*
	 * The parts of the view, oldest first. A profile is read from the first
	 * part that has it.
	 */
	struct part *parts;
	size_t part_count;
	struct hit *hits;
	size_t count;
	size_t cap;
	size_t label_bytes; /* memory of the label sets of all hits */
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
	VEC(int64_t) others; /* see querier_columns() */
	struct body_decoder decoder;
	struct values_reader values;
	bool sequential;
	/* Profiles of the last chunk, if `sequential` is set. */
	struct values kept;
	const struct file *kept_file;
	struct chunk_place kept_place;
	struct err kept_why; /* error, if profiles in `kept` are damaged */
	struct cursor cursor;
	struct buf scratch;
	querier_spend_fn spend; /* called before memory is used; may be NULL */
	void *spend_ctx;
	/* Number of parts, chunks and profiles that are missing in answers. */
	uint64_t lost;
	/*
	 * Error of the first item counted in `lost`; an error of something that
	 * this query tried to read comes before that of absent parts.
	 */
	struct err lost_why;
	uint64_t
		absent; /* parts in `lost` that the view lacks from the start */
	/* Number of requested profiles that could not be read. */
	uint64_t failed;
	/* Error of the first profile counted in `failed`. */
	struct err failed_why;
};

/* Record that an answer lacks `count` parts, chunks or profiles. */
void querier_note_lost(struct querier *q, uint64_t count,
		       const struct err *why);

/*
 * Record, if rc is ERR_CORRUPT or ERR_IO, that a requested profile could not
 * be read. Returns rc.
 */
int querier_note_failed(struct querier *q, int rc, const struct err *why);

/* Close the cursor and free its list of chunks. */
void querier_close_cursor(struct cursor *c);

/*
 * Call the querier's `spend` function, if there is one, before `bytes` more
 * bytes of memory are used. Returns the error of that function: the memory may
 * not be used then.
 */
NODISCARD int querier_spend_bytes(struct querier *q, size_t bytes,
				  struct err *err);

/* Where a profile was found. */
struct found {
	struct part part;
	struct part_hit hit;
};

/*
 * Find the profile of series i at exactly the time ms, in the oldest part that
 * has it. If the profile is unflushed and `wal` is not NULL, f->hit.segment is
 * set to its WAL segment, with a reference that the caller releases.
 * ERR_NOTFOUND: no part has the profile. ERR_CORRUPT, ERR_IO: a part that may
 * have it cannot be read.
 */
NODISCARD int querier_lookup(struct querier *q, size_t i, int64_t ms,
			     struct wal *wal, struct found *f, struct err *err);

#endif
