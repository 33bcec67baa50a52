/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups of one series, wherever their heads are: in a range's log or in
 * a block's chunks.
 *
 * Ownership: chunks_fini() and times_fini() free what they own.
 * Threads: one thread a list.
 */
#ifndef TSDB_CHUNK_CHUNKS_H
#define TSDB_CHUNK_CHUNKS_H

#include "tsdb/chunk/chunk_meta.h"

/* A group: its times, and where its head is. */
struct chunk {
	int64_t first;
	int64_t last;
	uint64_t at;
	uint32_t len; /* of what is at `at`; 0 where that says it itself */
};

/*
 * What a deletion hides: profiles in [from, to] that were stored before it,
 * by their LSN in the WAL, and by where their head begins.
 */
struct tombstone_interval {
	int64_t from;
	int64_t to;
	uint64_t lsn; /* the last one that is hidden */
	uint64_t at;  /* heads before this place */
};

/* The zero value is empty. */
struct chunks {
	struct chunk *v;
	size_t count;
	size_t cap;
	struct tombstone_interval *gaps;
	size_t gap_count;
	size_t gap_cap;
};

void chunks_add(struct chunks *g, const struct chunk *v);
void chunks_add_tombstone(struct chunks *g, const struct tombstone_interval *v);
void chunks_fini(struct chunks *g);

/* Whether a profile at ms of the group whose head is at `at` was deleted. */
bool chunks_hides(const struct chunks *g, uint64_t at, int64_t ms);

/* Where the heads are. */
struct chunk_source {
	void *ctx;

	/* A group's head, checked; borrows from scratch or from the file. */
	int (*meta)(void *ctx, const struct chunk *g, struct buf *scratch,
		    struct bytes *out, struct err *err);

	/* A type set by its number; empty when there is none. */
	struct bytes (*typeset)(void *ctx, uint32_t number);

	/* Tell of a group that is left out. */
	void (*damaged)(void *ctx, const struct chunk *g,
			const struct err *err);
};

/*
 * A group's head. With h->totals set, totals are read too. typeset (may be
 * NULL) borrows from the source.
 */
NODISCARD int chunk_read_meta(const struct chunk_source *s,
			      const struct chunk *g, struct chunk_meta *h,
			      struct bytes *typeset, struct err *err);

/* A list of times that grows. The zero value is empty. */
struct times {
	int64_t *v;
	size_t count;
	size_t cap;
	uint64_t lost;  /* groups whose head could not be read */
	struct err why; /* of the first of them */
};

/* Note a group whose times are not in the list. */
void times_lose(struct times *t, const struct err *why);

void times_add(struct times *t, int64_t ms);
void times_fini(struct times *t);

/*
 * Add the times in [from, to], in any order. Groups whose head is damaged, or
 * not given back by the disk, are told of, counted in out->lost, and left out.
 */
NODISCARD int chunks_times(const struct chunk_source *s, const struct chunks *g,
			   int64_t from, int64_t to, struct times *out,
			   struct err *err);

struct chunk_hit {
	struct chunk_meta meta; /* without totals */
	uint16_t index;         /* in it */
	struct bytes typeset;
};

/* ERR_NOTFOUND, or what kept us from looking. */
NODISCARD int chunks_find(const struct chunk_source *s, const struct chunks *g,
			  int64_t ms, struct chunk_hit *out, struct err *err);

#endif
