/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the profiles of a source that everprof push sends: a data directory, or
 * anything that cmd/tools/source.h reads. They come in steps, which are ranges of time
 * in ascending order, so that the receiver has few head blocks open at once.
 *
 * Ownership: samples are borrowed for the call of visit.
 * Threads: one thread at a time.
 */
#ifndef CMD_TOOLS_PUSH_SOURCE_H
#define CMD_TOOLS_PUSH_SOURCE_H

#include "cmd/tools/source_sample.h"

/* The callbacks of a walk. */
struct push_visitor {
	struct sample_maker *maker;
	/* Only profiles in this range of time are read, in ms. */
	int64_t from;
	int64_t to;
	int64_t skip_before; /* steps that begin before this are left out */
	/* Called before each step with the time at which it begins, in ms. */
	void (*begin)(void *ctx, int64_t ms);
	/* Called for each profile. An error ends the walk. */
	int (*visit)(void *ctx, const struct sample *s, struct err *err);
	/* Called after each step. An error ends the walk. */
	int (*end)(void *ctx, struct err *err);
	/* Called for what cannot be read or is no profile; the walk goes on. */
	void (*bad)(void *ctx, const struct err *err);
	void *ctx;
};

/*
 * Visit the profiles of a source. Returns the first error of a callback, or an
 * error if the source cannot be read at all.
 */
NODISCARD int push_source_walk(const char *path, const struct push_visitor *v,
			       struct err *err);

#endif
