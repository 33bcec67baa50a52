/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report profile: the profile of which a report is made. It is what a merge has merged,
 * or the difference of two merges, with the names of its functions.
 *
 * Ownership: merges, request, symbolizer and arena are borrowed; the profile belongs to
 * the merges and to this struct.
 * Threads: one thread at a time.
 */
#ifndef QUERY_MERGE_REPORT_PROFILE_H
#define QUERY_MERGE_REPORT_PROFILE_H

#include "query/merge/query_merge.h"
#include "query/merge/report_request.h"
#include "symbols/names/symbolizer.h"

enum {
	REPORT_WARNINGS_MAX = 12
};

/* What the profile is made of, and what it lacks. */
struct report_profile {
	const struct report_request *q;
	struct query_merge *source; /* for a difference, side b */
	struct query_merge *base;   /* side a of a difference; else NULL */
	struct symbolizer *symbolizer;
	struct arena *arena; /* of the warnings */
	/* The warnings; the array ends with NULL. */
	const char *warnings[REPORT_WARNINGS_MAX + 1];
	size_t warning_count;
	bool has_duration; /* see struct report_options */
	/*
	 * How the new side of a difference was scaled: not at all, to the total of the
	 * base, or to its time, which is `rate_seconds`.
	 */
	enum normalize scaled;
	double factor; /* by which its values were multiplied */
	double rate_seconds;
	struct merge *both; /* of the two sides */
};

/*
 * Make the profile. Both merges are finished by this call. The caller calls
 * report_profile_fini() in any case. Errors of the merges (query_merge_finish(),
 * query_merge_subtract()) and of the names (query_merge_symbolize()); ERR_INVALID: the
 * sides cannot be made comparable as the request wants.
 */
NODISCARD int report_profile_make(struct report_profile *x, struct pprof **out,
				  struct err *err);

/* Set the options of the report that the profile is for. */
void report_profile_options(const struct report_profile *x,
			    struct report_options *out);

/*
 * Write a warning to `out` for each filter expression that matched no samples, because
 * it is usually misspelt; at most `max`. Returns their number; the texts are in the
 * arena.
 */
size_t report_profile_unmatched(const struct no_match *none,
				struct arena *arena, const char **out,
				size_t max);

/* Free what report_profile_make() has made. */
void report_profile_fini(struct report_profile *x);

#endif
