/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups of one series, wherever their heads are: in a range's log or in
 * a block's chunks.
 *
 * Ownership: groups_fini() and times_fini() free what they own.
 * Threads: one thread a list.
 */
#ifndef TSDB_CHUNK_CHUNKS_H
#define TSDB_CHUNK_CHUNKS_H

#include "tsdb/chunk/chunk_meta.h"

/* A group: its times, and where its head is. */
struct group {
	int64_t first;
	int64_t last;
	uint64_t at;
	uint32_t len; /* of what is at `at`; 0 where that says it itself */
};

/*
 * What a deletion hides: profiles in [from, to] that were stored before it,
 * by their LSN in the WAL, and by where their head begins.
 */
struct gap {
	int64_t from;
	int64_t to;
	uint64_t lsn; /* the last one that is hidden */
	uint64_t at;  /* heads before this place */
};

/* The zero value is empty. */
struct groups {
	struct group *v;
	size_t count;
	size_t cap;
	struct gap *gaps;
	size_t gap_count;
	size_t gap_cap;
};

void groups_add(struct groups *g, const struct group *v);
void groups_add_gap(struct groups *g, const struct gap *v);
void groups_fini(struct groups *g);

/* Whether a profile at ms of the group whose head is at `at` was deleted. */
bool groups_hides(const struct groups *g, uint64_t at, int64_t ms);

/* Where the heads are. */
struct group_source {
	void *ctx;

	/* A group's head, checked; borrows from scratch or from the file. */
	int (*head)(void *ctx, const struct group *g, struct buf *scratch,
		    struct bytes *out, struct err *err);

	/* A type set by its number; empty when there is none. */
	struct bytes (*typeset)(void *ctx, uint32_t number);

	/* Tell of a group that is left out. */
	void (*damaged)(void *ctx, const struct group *g,
			const struct err *err);
};

/*
 * A group's head. With h->totals set, totals are read too. typeset (may be
 * NULL) borrows from the source.
 */
NODISCARD int group_head(const struct group_source *s, const struct group *g,
			 struct head *h, struct bytes *typeset,
			 struct err *err);

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
NODISCARD int groups_times(const struct group_source *s, const struct groups *g,
			   int64_t from, int64_t to, struct times *out,
			   struct err *err);

struct group_hit {
	struct head head; /* without totals */
	uint16_t index;   /* in it */
	struct bytes typeset;
};

/* ERR_NOTFOUND, or what kept us from looking. */
NODISCARD int groups_find(const struct group_source *s, const struct groups *g,
			  int64_t ms, struct group_hit *out, struct err *err);

#endif
