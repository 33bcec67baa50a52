/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A querier reads a database as it was when the querier was opened.
 *
 *	querier_open(db, &limits, &q);
 *	querier_select(q, matchers, count, from, to, &err);
 *	for each i below querier_count(q): querier_labels(), querier_times(), …
 *	querier_close(q);
 *
 * Ownership: results are borrowed from the querier. It must be closed on every
 * path; flushes and removals never wait for it.
 * Threads: one thread at a time for each querier; any number of queriers.
 */
#ifndef TSDB_QUERY_QUERIER_H
#define TSDB_QUERY_QUERIER_H

#include "base/buf.h"
#include "base/limits.h"
#include "model/matcher.h"
#include "tsdb/open/tsdb.h"

struct codec_rows;
struct codec_table;
struct querier;
struct table_ref;

/*
 * Set *out to a new querier, which holds references to all parts of the
 * current view. The querier copies the limits, and asks them whether it may
 * continue while it selects series; their context must live until its last
 * selection. NULL: there are no limits.
 */
void querier_open(struct tsdb *db, const struct limits *limits,
		  struct querier **out);

/*
 * Close a querier; NULL is a no-op. Damage that the querier found is counted
 * and logged at this point.
 */
void querier_close(struct querier *q);

/* Close *q and set it to NULL; for CLEANUP(). */
void querier_closep(struct querier **q);

/*
 * Select the series that all matchers match and that may have a profile in
 * [from, to], in label order. Replaces the previous selection and frees its
 * label sets. Parts that cannot be read are left out; see querier_lost().
 * Returns an error of the limits, and ERR_INVALID if a regular expression takes
 * too many steps; then nothing is selected.
 */
NODISCARD int querier_select(struct querier *q, const struct matcher *v,
			     size_t count, int64_t from, int64_t to,
			     struct err *err);

/*
 * The same for the series that all matchers of any of the lists match; of each
 * part of the database and each list at most `max` series from everywhere in it
 * (0: all).
 */
NODISCARD int querier_select_any(struct querier *q,
				 const struct matcher_list *any, size_t count,
				 size_t max, int64_t from, int64_t to,
				 struct err *err);

/*
 * Called with the labels of a series. Returns 1 to select it, 0 not to, or an error,
 * which ends the walk.
 */
typedef int (*querier_walk_fn)(void *ctx, const struct labels *ls,
			       struct err *err);

/*
 * Call fn() for each series that all matchers of any of the lists match, in no
 * order; a series of several parts or lists is passed several times. Replaces the
 * previous selection by those for which fn() returns 1. This takes less time and
 * memory than to select all of them. Errors as for querier_select(), and those of
 * fn().
 */
NODISCARD int querier_walk(struct querier *q, const struct matcher_list *any,
			   size_t count, int64_t from, int64_t to,
			   querier_walk_fn fn, void *ctx, struct err *err);

/*
 * Remove from the selection the series for whose label sets keep() is false.
 */
void querier_keep(struct querier *q,
		  bool (*keep)(void *ctx, const struct labels *ls), void *ctx);

/*
 * Return the first error that made an answer incomplete, or NULL if all
 * answers were complete. After an error, selections, lists of times and totals
 * may lack stored data. Errors of querier_fetch() are not included: its caller
 * receives them.
 */
const struct err *querier_lost(const struct querier *q);

/*
 * Return the number of blocks, chunks and profiles that were missing in
 * answers.
 */
uint64_t querier_lost_count(const struct querier *q);

/*
 * Return the number of bytes that the selection uses, together with the data
 * that is kept for later calls.
 */
size_t querier_memory(const struct querier *q);

/*
 * Call fn for the values of a label, or, if `name` is empty, for the names of
 * all labels. Only parts that overlap [from, to] are read. fn may receive a
 * text more than once, and also texts of series that have no profile in [from,
 * to]. Texts are valid only during the call of fn. The selection does not
 * change. Returns an error of the limits; fn is then not called any more.
 */
NODISCARD int querier_texts(struct querier *q, struct str name, int64_t from,
			    int64_t to, void (*fn)(void *ctx, struct str text),
			    void *ctx, struct err *err);

/* Return the number of selected series. */
size_t querier_count(const struct querier *q);

/*
 * Return the label set of selected series i, borrowed until the next
 * selection.
 */
struct labels *querier_labels(const struct querier *q, size_t i);

/* Times in ms; the array is borrowed from the querier. */
struct times_view {
	const int64_t *ms;
	size_t count;
};

/*
 * Set *out to the times of series i in [from, to], ascending and without
 * duplicates, borrowed until the next call. Reads no values. Unreadable chunks
 * are left out; see querier_lost(). Returns ERR_CORRUPT or ERR_IO when an index
 * cannot be read.
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
	struct buf typeset; /* encoded type set, see model/types.h */
	struct buf raw;     /* uncompressed bytes, as received */
};

/* Free the buffers of a profile. */
void profile_fini(struct profile *p);

/*
 * Replace the contents of *out with the profile of series i at exactly the
 * time `ms`, and verify its hash. Returns ERR_NOTFOUND when there is no such
 * profile, ERR_CORRUPT when the profile is damaged on disk, ERR_IO when the
 * disk cannot be read, ERR_TOOBIG when the profile is larger than the maximum
 * of out->raw, ERR_UNSUPPORTED when it is stored with an unknown codec, and the
 * errors of the function set by querier_on_spend().
 */
NODISCARD int querier_fetch(struct querier *q, size_t i, int64_t ms,
			    struct profile *out, struct err *err);

/*
 * Called before a fetch uses more memory. If the result is not 0, the fetch
 * fails with this error.
 */
typedef int (*querier_spend_fn)(void *ctx, size_t bytes, struct err *err);

/*
 * Set the function that the querier calls, from now on, before it reads the
 * bytes of a profile. The argument `bytes` of that function is the additional
 * memory that the querier and the profile will use.
 */
void querier_on_spend(struct querier *q, querier_spend_fn spend, void *ctx);

/*
 * Announce that profiles will be fetched series by series, oldest first. Each
 * chunk is then decoded once and kept for the next fetch.
 */
void querier_sequential(struct querier *q);

/*
 * A profile in the form in which the columns codec stores it: one row (the
 * columns of one profile), together with the other rows of its chunk.
 */
struct querier_row {
	const struct codec_rows *rows;
	uint16_t row; /* index in `rows` of the profile's row */
	/* Reference to the table that the rows use; NULL if there is none. */
	struct table_ref *table;
};

/*
 * Release the table of a row. The rows still belong to the querier. A zeroed
 * row is a no-op.
 */
void querier_row_fini(struct querier_row *r);

/*
 * Set *out to the row of the profile of series i at exactly the time `ms`, for
 * code that adds up columns (model/codec.h). The rows are valid until the next
 * call. Data that refers to the rows' table (a sum, a search) is valid until
 * the caller releases *out with querier_row_fini(). The caller may release it
 * after the querier is closed, but must do so before the database is closed.
 * types[k] says whether the caller needs the values of sample type k. Returns
 * ERR_UNSUPPORTED when the profile is not stored as columns: use
 * querier_fetch() then. Other errors as querier_fetch().
 */
NODISCARD int querier_rows(struct querier *q, size_t i, int64_t ms,
			   const bool *types, struct querier_row *out,
			   struct err *err);

/* What querier_columns() calls. */
struct querier_columns_fns {
	void *ctx;
	/*
	 * Whether the rows that have this table are wanted. `is_new`: it is not the
	 * table of the last call for this series.
	 */
	bool (*wants)(void *ctx, const struct codec_table *table, bool is_new);
	/*
	 * Takes the rows of a chunk, without their values: those of the profiles in
	 * the range are `count` numbers in which[]. Returns 1 if no more are wanted,
	 * or an error, which ends the walk.
	 */
	int (*take)(void *ctx, const struct codec_rows *rows,
		    const uint16_t *which, size_t count, struct err *err);
};

/*
 * Pass on the rows of series i in [from, to], of all chunks that have a table. *others
 * are the times of the other profiles in the range, ascending, borrowed until the next
 * call; none, if take() wanted no more. Chunks that cannot be read are left out; see
 * querier_lost(). Errors as of querier_times(), those of take(), and those of the
 * limits.
 */
NODISCARD int querier_columns(struct querier *q, size_t i, int64_t from,
			      int64_t to, const struct querier_columns_fns *fns,
			      struct times_view *others, struct err *err);

/* Free the memory that is kept for the next fetch. */
void querier_trim(struct querier *q);

/*
 * Set *hash and *raw_len to the hash and the uncompressed size of the profile
 * of series i at exactly the time `ms`, without reading its bytes. Errors as
 * querier_fetch().
 */
NODISCARD int querier_stat(struct querier *q, size_t i, int64_t ms,
			   uint64_t *hash, uint32_t *raw_len, struct err *err);

/*
 * Append the encoded type set (model/types.h) of the newest profile of series
 * i to *out. Reads no values. Returns ERR_NOTFOUND when the series has no
 * profiles, and ERR_CORRUPT or ERR_IO when it cannot be read.
 */
NODISCARD int querier_newest_types(struct querier *q, size_t i, struct buf *out,
				   struct err *err);

/* The metadata of one profile: its time, and where its totals are. */
struct totals_row {
	int64_t ms;
	int64_t duration_ns;
	uint32_t typeset; /* index in totals_view.typesets */
	/*
	 * Index in totals_view.totals of the profile's first total. A profile
	 * has one total per sample type.
	 */
	uint32_t first;
};

/* The totals of the profiles of a series, borrowed from the querier. */
struct totals_view {
	/*
	 * The rows, one per profile, ascending by time and without duplicates.
	 */
	const struct totals_row *rows;
	size_t count;
	const int64_t *totals;
	const struct bytes *typesets; /* encoded type sets, see model/types.h */
	size_t typeset_count;
	/*
	 * Of each row, whether the process has restarted before it; NULL: the
	 * totals tell. A view of a part of the values has this.
	 */
	const bool *restarts;
	/* the label LABEL_DELTA says that values count an interval */
	bool increments;
	/*
	 * The result of querier_usual_distance(), if `increments` and the
	 * caller has asked for it; 0: unknown.
	 */
	int64_t interval_ms;
};

/*
 * Whether the values of a profile count what happened during an interval: the
 * profile has a duration, or the labels say so.
 */
static inline bool querier_counts_interval(const struct totals_view *v,
					   const struct totals_row *row)
{
	return row->duration_ns > 0 || v->increments;
}

/* Return the length of this interval in nanoseconds; 0: it is unknown. */
static inline int64_t querier_interval_ns(const struct totals_view *v,
					  const struct totals_row *row)
{
	return row->duration_ns > 0 ? row->duration_ns :
				      v->interval_ms * 1000000;
}

/*
 * Set *out to the totals of the profiles of series i in [from, to], borrowed
 * until the next call. Reads no values. Unreadable chunks and records are left
 * out; see querier_lost(). Returns ERR_CORRUPT or ERR_IO when an index cannot
 * be read.
 */
NODISCARD int querier_totals(struct querier *q, size_t i, int64_t from,
			     int64_t to, struct totals_view *out,
			     struct err *err);

/*
 * Return the usual time between two profiles of a view in ms, 0 if it is
 * unknown: the median, so that a program that was down for a while does not
 * count. Profiles within a second of each other are of one interval.
 */
int64_t querier_usual_distance(const struct totals_view *v);

#endif
