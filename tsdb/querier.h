/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Querier: reads a database as it is while the querier is open.
 *
 *	querier_open(db, &q);
 *	querier_select(q, matchers, count, from, to, &n);
 *	for each i in 0 … n - 1: querier_labels(), querier_times(), …
 *	querier_close(q);
 *
 * Ownership: what a querier hands out is borrowed from it. It must be closed
 * on every path; a flush or removal never waits for it.
 * Threads: one thread a querier; any number of queriers.
 */
#ifndef TSDB_QUERIER_H
#define TSDB_QUERIER_H

#include "base/buf.h"
#include "model/matcher.h"
#include "tsdb/tsdb.h"

struct codec_rows;
struct querier;

void querier_open(struct tsdb *db, struct querier **out);
void querier_close(struct querier *q);
void querier_closep(struct querier **q);

/*
 * Label sets of a selection are borrowed until the next one.
 *
 * Select the series that all matchers match and that may have a profile in
 * [from, to], in label order. Replaces what was selected before.
 */
void querier_select(struct querier *q, const struct matcher *v, size_t count,
		    int64_t from, int64_t to);

/*
 * What first kept the querier from looking at something that is stored, NULL:
 * nothing. Selections, lists and totals then lack what lay there: so many
 * blocks, groups and profiles. Profiles that cannot be fetched are told by
 * querier_fetch() alone.
 */
const struct err *querier_lost(const struct querier *q);
uint64_t querier_lost_count(const struct querier *q);

/* Bytes that it takes: the selection, and what is kept for the next call. */
size_t querier_memory(const struct querier *q);

/*
 * Tell fn the values of a label (name empty: all label names) that series of
 * [from, to] have: by range and block, so a few more may come, and some more
 * than once. Texts are borrowed for the call. Replaces no selection.
 */
void querier_texts(struct querier *q, struct str name, int64_t from, int64_t to,
		   void (*fn)(void *ctx, struct str text), void *ctx);

size_t querier_count(const struct querier *q);
struct labels *querier_labels(const struct querier *q, size_t i);

/* Times, borrowed. */
struct times_view {
	const int64_t *ms;
	size_t count;
};

/*
 * The times of series i in [from, to], ascending, each once; borrowed until
 * the next call. Reads no value.
 */
NODISCARD int querier_times(struct querier *q, size_t i, int64_t from,
			    int64_t to, struct times_view *out,
			    struct err *err);

/* A profile and what is known of it. */
struct profile {
	int64_t ms;
	uint64_t hash;
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	struct buf typeset; /* encoding of model/types.h */
	struct buf raw;     /* the decompressed bytes that came in */
};

void profile_fini(struct profile *p);

/*
 * The profile of series i at exactly ms, verified. ERR_NOTFOUND;
 * ERR_CORRUPT: its bytes are damaged on disk; ERR_TOOBIG: raw's maximum.
 */
NODISCARD int querier_fetch(struct querier *q, size_t i, int64_t ms,
			    struct profile *out, struct err *err);

/*
 * From now on spend() is asked before the bytes of a profile are read: how much
 * more memory that will take, in the querier and in the profile. Its error is
 * the fetch's.
 */
typedef int (*querier_spend_fn)(void *ctx, size_t bytes, struct err *err);
void querier_on_spend(struct querier *q, querier_spend_fn spend, void *ctx);

/*
 * From now on profiles are fetched in the order of time, series by series:
 * a group's bytes are then decoded once, and kept for the next fetch.
 */
void querier_sequential(struct querier *q);

/* A profile as its codec sees it, with the rest of its group. */
struct querier_row {
	const struct codec_rows *rows;
	uint16_t row; /* which of them */
};

/*
 * The profile of series i at exactly ms, until the next call, for those who
 * add up columns (model/codec.h). types: which of its sample types are wanted.
 * ERR_UNSUPPORTED: it is not stored so, fetch it; else as querier_fetch().
 */
NODISCARD int querier_rows(struct querier *q, size_t i, int64_t ms,
			   const bool *types, struct querier_row *out,
			   struct err *err);

/* Give back the memory that is kept for the next fetch. */
void querier_trim(struct querier *q);

/* Length and hash without the bytes; raw and the rest stay as they are. */
NODISCARD int querier_stat(struct querier *q, size_t i, int64_t ms,
			   uint64_t *hash, uint32_t *raw_len, struct err *err);

/*
 * The type set (model/types.h) of the newest profile of series i, into out.
 * Reads no value. ERR_NOTFOUND, ERR_CORRUPT.
 */
NODISCARD int querier_newest_types(struct querier *q, size_t i, struct buf *out,
				   struct err *err);

/* What is known of a profile without its bytes. */
struct totals_row {
	int64_t ms;
	int64_t duration_ns;
	uint32_t typeset; /* of the view's */
	uint32_t first;   /* of the view's totals, one for each sample type */
};

struct totals_view {
	const struct totals_row *rows; /* ascending, each time once */
	size_t count;
	const int64_t *totals;
	const struct bytes *typesets; /* encodings of model/types.h */
	size_t typeset_count;
};

/*
 * The totals of the profiles of series i in [from, to]; borrowed until the
 * next call. Reads no value.
 */
NODISCARD int querier_totals(struct querier *q, size_t i, int64_t from,
			     int64_t to, struct totals_view *out,
			     struct err *err);

#endif
