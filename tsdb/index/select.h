/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selecting series by matchers over any label index: that of a head, in memory,
 * or that of a block, in a file.
 *
 * Ownership: the caller owns the postings.
 * Threads: those of the index.
 */
#ifndef TSDB_INDEX_SELECT_H
#define TSDB_INDEX_SELECT_H

#include "base/err.h"
#include "model/matcher.h"
#include "tsdb/index/postings.h"

/*
 * Queries that a label index answers. Each callback adds to out, in any order
 * and possibly with duplicates, and returns 0 or an error.
 */
struct label_index {
	const void *ctx;

	/* Add the series that have this value of this label. */
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
 * Select the series that all matchers match into out, which must be empty; the
 * result is sorted. Without matchers all series are selected. As in Prometheus,
 * a missing label counts as an empty value. Returns the first error of the
 * index.
 */
NODISCARD int select_series(const struct label_index *ix,
			    const struct matcher *v, size_t count,
			    struct postings *out, struct err *err);

#endif
