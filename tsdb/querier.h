/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A querier reads a database as it was when the querier was opened:
 *
 *	querier_open(db, &q);
 *	querier_select(q, matchers, count, from, to);
 *	for each i below querier_count(q): querier_labels(), querier_times(), …
 *	querier_close(q);
 *
 * Ownership: results are borrowed from the querier. It must be closed on every
 * path; flushes and removals never wait for it.
 * Threads: one thread at a time for each querier; any number of queriers.
 */
#ifndef TSDB_QUERIER_H
#define TSDB_QUERIER_H

#include "base/buf.h"
#include "model/matcher.h"
#include "tsdb/tsdb.h"

struct codec_rows;
struct querier;
struct table_ref;

/*
 * Sets *out to a new querier, which holds references to all parts of the
 * current view.
 */
void querier_open(struct tsdb *db, struct querier **out);

/*
 * Closes a querier; NULL is a no-op. Damage that the querier met is counted and
 * logged now.
 */
void querier_close(struct querier *q);

/* Closes *q and sets it to NULL; for CLEANUP(). */
void querier_closep(struct querier **q);

/*
 * Selects the series that all matchers match and that may have a profile in
 * [from, to], in label order. Replaces the previous selection, with its label
 * sets. Parts that cannot be read are left out; see querier_lost().
 */
void querier_select(struct querier *q, const struct matcher *v, size_t count,
		    int64_t from, int64_t to);

/*
 * Returns the first error that kept stored data out of an answer, or NULL.
 * Selections, lists and totals are then incomplete. A profile that
 * querier_fetch() fails to read is not included here: its caller gets the
 * error.
 */
const struct err *querier_lost(const struct querier *q);

/* Returns how many blocks, chunks and profiles are missing in answers. */
uint64_t querier_lost_count(const struct querier *q);

/*
 * Returns the bytes used by the selection and by what is kept for the next
 * call.
 */
size_t querier_memory(const struct querier *q);

/*
 * Calls fn for the values of a label (name empty: for all label names) in the
 * parts that overlap [from, to]. Some texts may come more than once, and some
 * may belong to series without data in the interval. Texts are valid only
 * during the call. The selection stays as it is.
 */
void querier_texts(struct querier *q, struct str name, int64_t from, int64_t to,
		   void (*fn)(void *ctx, struct str text), void *ctx);

/* Returns the number of selected series. */
size_t querier_count(const struct querier *q);

/*
 * Returns the label set of selected series i, borrowed until the next
 * selection.
 */
struct labels *querier_labels(const struct querier *q, size_t i);

/* A borrowed array of times in ms. */
struct times_view {
	const int64_t *ms;
	size_t count;
};

/*
 * Sets *out to the times of series i in [from, to], ascending and without
 * duplicates; borrowed until the next call. Reads no values. Unreadable chunks
 * are left out; see querier_lost(). ERR_CORRUPT, ERR_IO: an index cannot be
 * read.
 */
NODISCARD int querier_times(struct querier *q, size_t i, int64_t from,
			    int64_t to, struct times_view *out,
			    struct err *err);

/* A profile and its metadata. */
struct profile {
	int64_t ms;
	uint64_t hash;
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	struct buf typeset; /* encoding of model/types.h */
	struct buf raw;     /* uncompressed bytes, as they were received */
};

/* Frees the buffers of a profile. */
void profile_fini(struct profile *p);

/*
 * Replaces the contents of *out by the profile of series i at exactly ms,
 * verified against its hash. ERR_NOTFOUND: there is none. ERR_CORRUPT: it is
 * damaged on disk. ERR_IO: the disk failed to return it. ERR_TOOBIG: it is
 * larger than the maximum of out->raw. ERR_UNSUPPORTED: it is stored with an
 * unknown codec. Also the errors of the spend function.
 */
NODISCARD int querier_fetch(struct querier *q, size_t i, int64_t ms,
			    struct profile *out, struct err *err);

/*
 * Asked for permission to use more memory; a non-zero result makes the fetch
 * fail with it.
 */
typedef int (*querier_spend_fn)(void *ctx, size_t bytes, struct err *err);

/*
 * From now on, spend() is called before the bytes of a profile are read, with
 * the additional bytes that the querier and the profile will use.
 */
void querier_on_spend(struct querier *q, querier_spend_fn spend, void *ctx);

/*
 * Announces that profiles are fetched in the order of time, series by series.
 * Each chunk is then decoded once, and kept for the next fetch.
 */
void querier_sequential(struct querier *q);

/* A profile as its codec represents it, together with the rest of its chunk. */
struct querier_row {
	const struct codec_rows *rows;
	uint16_t row; /* which of the rows */
	/* A reference to the table that the rows refer to; NULL without one. */
	struct table_ref *table;
};

/*
 * Releases the table of a row. The rows themselves stay the querier's. A zeroed
 * row is a no-op.
 */
void querier_row_fini(struct querier_row *r);

/*
 * Sets *out to the row of the profile of series i at exactly ms, for code that
 * adds up columns (model/codec.h). The rows are valid until the next call. What
 * refers to their table (a sum, a search) is valid as long as the caller keeps
 * *out, which it releases with querier_row_fini(), also after the querier is
 * closed, but before the database is. types has a flag for each sample type of
 * the profile and says which are wanted.
 * ERR_UNSUPPORTED: the profile is not stored as columns; use querier_fetch().
 * Other errors as querier_fetch().
 */
NODISCARD int querier_rows(struct querier *q, size_t i, int64_t ms,
			   const bool *types, struct querier_row *out,
			   struct err *err);

/* Frees the memory that is kept for the next fetch. */
void querier_trim(struct querier *q);

/*
 * Sets *hash and *raw_len for the profile of series i at exactly ms, without
 * reading its bytes. Errors as querier_fetch().
 */
NODISCARD int querier_stat(struct querier *q, size_t i, int64_t ms,
			   uint64_t *hash, uint32_t *raw_len, struct err *err);

/*
 * Appends the type set (model/types.h) of the newest profile of series i to
 * out. Reads no values. ERR_NOTFOUND: the series is empty. ERR_CORRUPT, ERR_IO:
 * it cannot be read.
 */
NODISCARD int querier_newest_types(struct querier *q, size_t i, struct buf *out,
				   struct err *err);

/* What is known of a profile without its bytes. */
struct totals_row {
	int64_t ms;
	int64_t duration_ns;
	uint32_t typeset; /* index in the view's typesets */
	uint32_t first;   /* index in the view's totals; one for each type */
};

/* The totals of a series, borrowed from the querier. */
struct totals_view {
	/* Ascending by time, without duplicates. */
	const struct totals_row *rows;
	size_t count;
	const int64_t *totals;
	const struct bytes *typesets; /* encodings of model/types.h */
	size_t typeset_count;
};

/*
 * Sets *out to the totals of the profiles of series i in [from, to]; borrowed
 * until the next call. Reads no values. Unreadable chunks and records are left
 * out; see querier_lost(). ERR_CORRUPT, ERR_IO: an index cannot be read.
 */
NODISCARD int querier_totals(struct querier *q, size_t i, int64_t from,
			     int64_t to, struct totals_view *out,
			     struct err *err);

#endif
