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
#include "model/matcher.h"
#include "tsdb/index/postings.h"

/*
 * A label index, as callbacks that receive `ctx`. Each callback adds series
 * numbers to `out`, in any order and possibly with duplicates, and returns 0 or
 * an error.
 */
struct label_index {
	const void *ctx;

	/* Add the series that have this label name with this value. */
	int (*pair)(const void *ctx, struct str name, struct str value,
		    struct postings *out, struct err *err);

	/*
	 * Add the series that have the matcher's label with a value for which
	 * matcher_matches() returns `wanted`.
	 */
	int (*matching)(const void *ctx, const struct matcher *m, bool wanted,
			struct postings *out, struct err *err);

	/* Add all series. */
	int (*all)(const void *ctx, struct postings *out, struct err *err);
};

/*
 * Fill `out`, which must be empty, with the sorted numbers of the series that
 * all `count` matchers match. Without matchers, all series are selected. As in
 * Prometheus, a series that lacks a label is treated as having it with an empty
 * value. Returns the first error of a callback.
 */
NODISCARD int select_series(const struct label_index *ix,
			    const struct matcher *v, size_t count,
			    struct postings *out, struct err *err);

#endif
