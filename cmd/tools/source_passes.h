/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits the profiles of a source in passes: each pass visits a few windows of
 * two hours, for all series, and later passes visit later windows. Storage then
 * has few head blocks open at once, however much time the profiles cover.
 *
 * Ownership: items are borrowed for the call of visit.
 * Threads: one thread at a time.
 */
#ifndef CMD_TOOLS_SOURCE_PASSES_H
#define CMD_TOOLS_SOURCE_PASSES_H

#include "cmd/tools/source.h"

/* The callbacks of a walk in passes. */
struct pass_visitor {
	/*
	 * Windows that begin before this time, in ms, are left out. Profiles
	 * whose file names are not times count as at -1.
	 */
	int64_t skip_before;
	/*
	 * Called before each pass with the time at which it begins, in ms; -1:
	 * it also has the profiles whose file names are not times. May be NULL.
	 */
	void (*begin)(void *ctx, int64_t ms);
	/* Called for each profile. An error ends the walk. */
	int (*visit)(void *ctx, const struct source_item *item,
		     struct err *err);
	/* Called after each pass. An error ends the walk. */
	int (*end)(void *ctx, struct err *err);
	/*
	 * Called once for each file or folder that cannot be read; the walk
	 * goes on.
	 */
	void (*unreadable)(void *ctx, const struct err *err);
	void *ctx;
};

/*
 * Walk a source twice or more: first to collect the times of its profiles, then
 * once for each pass. Returns the first error of a callback, or an error of
 * source_walk().
 */
NODISCARD int source_walk_passes(const char *path, const struct pass_visitor *v,
				 struct err *err);

#endif
