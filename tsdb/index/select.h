/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From matchers to series, over any label index: that of a range, in memory,
 * or that of a block, in a file.
 *
 * Ownership: the postings are the caller's.
 * Threads: as the index.
 */
#ifndef TSDB_INDEX_SELECT_H
#define TSDB_INDEX_SELECT_H

#include "base/err.h"
#include "model/matcher.h"
#include "tsdb/index/postings.h"

/* What a label index answers; each call adds to out, in any order. */
struct label_index {
	const void *ctx;

	/* The series that have this value of this label. */
	int (*pair)(const void *ctx, struct str name, struct str value,
		    struct postings *out, struct err *err);

	/* The series with a value on which the matcher says `wanted`. */
	int (*matching)(const void *ctx, const struct matcher *m, bool wanted,
			struct postings *out, struct err *err);

	int (*all)(const void *ctx, struct postings *out, struct err *err);
};

/* The series that all matchers match, in order; count 0 gives all. */
NODISCARD int select_series(const struct label_index *ix,
			    const struct matcher *v, size_t count,
			    struct postings *out, struct err *err);

#endif
