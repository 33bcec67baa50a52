/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build search: finds the time spans in which the profiles of a series have the
 * same build ID. Only some profiles are read: the first, the last, and some
 * between them. Where two neighbours among these have different build IDs, a
 * bisection finds the first profile of the new build (docs/decisions.md, 142).
 *
 * Ownership: owns the visit and the texts of build IDs, borrows the rest.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_BUILD_SEARCH_H
#define QUERY_MERGE_BUILD_SEARCH_H

#include "query/select/label_spans.h"
#include "query/select/profile_visit.h"

enum {
	/*
	 * Profiles of each series that are compared before any bisection. If
	 * there are many series, fewer of each are compared: its first and its
	 * last one at least.
	 */
	BUILD_SAMPLES_MAX = 5,
	BUILD_SAMPLES_MIN = 2,
	/* Largest number of profiles that are read for one query. */
	BUILD_READS_MAX = 512,
};

/* A search for builds in many series. */
struct build_search {
	struct profile_visit visit;
	struct label_spans *spans;
	struct str build; /* build ID of the profile that was read last */
	struct arena text;
	size_t reads;
	size_t samples;    /* profiles of each series, before any bisection */
	size_t every;      /* one of every `every` series is searched */
	size_t candidates; /* number of series that could be searched */
	size_t series;     /* number of series that were searched */
};

/*
 * Begin a search in at most `series` series. If they are too many for
 * BUILD_READS_MAX, only one of every `every` series is searched. `memory` is
 * the limit of the decoder in bytes.
 */
void build_search_init(struct build_search *b, struct label_spans *spans,
		       size_t series, size_t memory, struct query_work *work);

/*
 * Add to the spans the build IDs of series number i of the querier's selection,
 * or skip the series (see `every`). `rows` has the times of the series' `count`
 * profiles, at least one. A profile without a build ID adds nothing. Errors as
 * for profile_visit_show().
 */
NODISCARD int build_search_series(struct build_search *b, struct querier *q,
				  size_t i, const struct totals_row *rows,
				  size_t count, struct err *err);

/* Free the search, but not the spans. */
void build_search_fini(struct build_search *b);

#endif
