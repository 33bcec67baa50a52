/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolize: gives names to the addresses of a merged profile that have none,
 * before a report is made of it. Stored profiles do not change.
 *
 * Ownership: changes the caller's profile, which owns the names.
 * Threads: one thread per profile; the symbolizer is shared.
 */
#ifndef QUERY_MERGE_SYMBOLIZE_H
#define QUERY_MERGE_SYMBOLIZE_H

#include "base/arena.h"
#include "query/merge/query_merge.h"
#include "symbols/names/symbolizer.h"

/* What to symbolize with, and what came of it. */
struct symbolize {
	struct symbolizer *symbolizer; /* NULL: nothing is symbolized */
	struct limits limits;          /* of memory and time */
	int64_t deadline_ns;           /* of clock_mono_ns() */
	size_t addresses;              /* number that the profile has */
	size_t without_names;          /* number that have no name at the end */
	/*
	 * Binaries with a build ID, of which no address has a name, and the
	 * first of them, as an index of the profile's mappings.
	 */
	size_t binaries_not_found;
	size_t first_not_found;
	size_t addresses_not_found; /* number of addresses in them */
	/* Why names are missing though files may be there; code 0: nothing. */
	struct err late;
};

/*
 * Find names for the locations of a profile without functions. The profile's
 * strings are interned, as in the result of a merge. ERR_LIMIT and the other
 * errors of the limits; that time ran out is told by the result.
 */
NODISCARD int profile_symbolize(struct symbolize *s, struct pprof *p,
				struct err *err);

/*
 * As profile_symbolize(), within the limits of the query whose merge the profile
 * is. Half of the time that the query has left is for the report.
 */
NODISCARD int query_merge_symbolize(struct query_merge *g, struct symbolize *s,
				    struct pprof *p, struct err *err);

/*
 * Write at most `max` warnings to `out`, in the arena: names that are missing,
 * and what to do. Returns their number.
 */
size_t symbolize_warnings(const struct symbolize *s, const struct pprof *p,
			  struct arena *arena, const char **out, size_t max);

#endif
