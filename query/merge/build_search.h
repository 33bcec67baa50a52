/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build search: from when to when the profiles of a series have the same build
 * ID. Only some profiles are read: the first, the last, some between them, and,
 * where two neighbours differ, those that find the first profile of the new
 * build by bisection (docs/decisions.md, 142).
 *
 * Ownership: borrows everything but the visit.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_BUILD_SEARCH_H
#define QUERY_MERGE_BUILD_SEARCH_H

#include "query/work/label_spans.h"
#include "query/work/profile_visit.h"

enum {
	/* Profiles of each series that are compared before any bisection. */
	BUILD_SAMPLES = 5,
	/* Largest number of profiles that are read for one query. */
	BUILD_READS_MAX = 256,
};

/* A search for builds in many series. */
struct build_search {
	struct profile_visit visit;
	struct label_spans *spans;
	struct str build; /* build ID of the profile that was read last */
	struct arena text;
	size_t reads;
	size_t every;      /* one of so many series is searched */
	size_t candidates; /* number of series that could be searched */
	size_t series;     /* number of series that were searched */
};

/*
 * Begin a search in at most `series` series: the more there are, the fewer of
 * them are searched. `memory` is the limit of the decoder in bytes.
 */
void build_search_init(struct build_search *b, struct label_spans *spans,
		       size_t series, size_t memory, struct query_work *work);

/*
 * Add the builds of selected series i of q to the spans, or pass over the
 * series (see `every`). `rows` are the times
 * of its `count` profiles, at least one. A profile without a build ID adds
 * nothing. Errors as profile_visit_show().
 */
NODISCARD int build_search_series(struct build_search *b, struct querier *q,
				  size_t i, const struct totals_row *rows,
				  size_t count, struct err *err);

/* Free the search, but not the spans. */
void build_search_fini(struct build_search *b);

#endif
