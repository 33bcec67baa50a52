/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pprof files to import from files, folders, tars and the data
 * directories of conprof.
 *
 * The time of a profile is its file name, <unix ms>.<anything>; its job and
 * type are the two folders above the file. Paths within a tar are read in this
 * way too.
 *
 * Ownership: items are borrowed for the call of visit.
 * Threads: one thread at a time.
 */
#ifndef CMD_TOOLS_SOURCE_H
#define CMD_TOOLS_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/labels.h"

enum {
	/* Maximum size of one file in bytes. */
	SOURCE_FILE_MAX = 1023 * 1024 * 1024
};

/* One profile that was found. */
struct source_item {
	const char *path; /* path of the file, for messages */
	/* labels stored by conprof; NULL: `job` and `type` are used instead */
	struct labels *labels;
	struct str job; /* from the path; empty: the path has no job */
	struct str type;
	int64_t ms; /* time of the profile; -1: the file name is not a time */
	struct bytes data;
};

/* The callbacks of a walk. */
struct source_visitor {
	/*
	 * Returns whether to read a profile of this time; `visit` is called
	 * only for profiles that are read. -1: the file name is not a time.
	 */
	bool (*wants)(void *ctx, int64_t ms);
	/* Called for each profile that was read. An error ends the walk. */
	int (*visit)(void *ctx, const struct source_item *item,
		     struct err *err);
	/* Called when a file or folder cannot be read; the walk goes on. */
	void (*unreadable)(void *ctx, const struct err *err);
	void *ctx;
};

/*
 * Visit every profile below `path`, folders in the order of names. Symbolic
 * links to folders are not followed. Returns the first error of `visit`, or an
 * error if `path` does not exist or is a folder that cannot be read.
 */
NODISCARD int source_walk(const char *path, const struct source_visitor *v,
			  struct err *err);

#endif
