/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selecting series by matchers, with any label index: the index of a head, in
 * memory, or the index of a block, in a file.
 *
 * Ownership: the caller owns the postings.
 * Threads: as for the index.
 */
#ifndef TSDB_INDEX_SELECT_H
#define TSDB_INDEX_SELECT_H

#include "base/err.h"
#include "base/limits.h"
#include "model/matcher.h"
#include "tsdb/index/postings.h"

/*
 * A matcher that is tried on all values of a label. The limits are asked after
 * each value that an engine for regular expressions has matched, and otherwise
 * at intervals, because clients choose the expressions, and targets the values.
 */
struct value_trial {
	const struct matcher *m;
	bool wanted; /* result of the matcher for the values that are wanted */
	struct limits limits;
	struct growth_meter meter;
};

/*
 * Set *fits to whether the matcher's result for `value` is the wanted one.
 * Returns an error of the limits.
 */
NODISCARD int value_trial_run(struct value_trial *t, struct str value,
			      bool *fits, struct err *err);

/*
 * A label index, as callbacks that receive `ctx`. Each callback adds series
 * numbers to `out`, in any order and possibly with duplicates, and returns 0 or
 * an error.
 */
struct label_index {
	const void *ctx;
	const struct limits *limits; /* asked while a selection runs */

	/* Add the series that have this label name with this value. */
	int (*pair)(const void *ctx, struct str name, struct str value,
		    struct postings *out, struct err *err);

	/*
	 * Add the series that have the label of the matcher t->m with a value
	 * that fits, see value_trial_run().
	 */
	int (*matching)(const void *ctx, struct value_trial *t,
			struct postings *out, struct err *err);

	/* Add all series. */
	int (*all)(const void *ctx, struct postings *out, struct err *err);
};

/*
 * Fill `out`, which must be empty, with the sorted numbers of the series that
 * all `count` matchers match. Without matchers, all series are selected. As in
 * Prometheus, a series that lacks a label is treated as having it with an empty
 * value. Returns the first error of a callback or of the limits, and ERR_INVALID
 * if a regular expression takes too many steps.
 */
NODISCARD int select_series(const struct label_index *ix,
			    const struct matcher *v, size_t count,
			    struct postings *out, struct err *err);

#endif
