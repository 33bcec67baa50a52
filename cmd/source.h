/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: pprof files to import, from files, folders, tars, and conprof's
 * data directories.
 *
 * A profile's time is its file's name, <unix ms>.<anything>; its job and type
 * are the two folders above it. A tar holds such paths.
 *
 * Ownership: items are borrowed for the call.
 * Threads: one thread at a time.
 */
#ifndef CMD_SOURCE_H
#define CMD_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/labels.h"

enum {
	SOURCE_FILE_MAX = 1023 * 1024 * 1024
};

struct source_item {
	const char *path;      /* for messages */
	struct labels *labels; /* NULL: job and type tell */
	struct str job;        /* empty: the path does not tell */
	struct str type;
	int64_t ms; /* -1: the name does not tell */
	struct bytes data;
};

struct source_visitor {
	/* Whether to read the file of that time; visit is called if so. */
	bool (*wants)(void *ctx, int64_t ms);
	int (*visit)(void *ctx, const struct source_item *item,
		     struct err *err);
	/* Something could not be read; the walk goes on. */
	void (*unreadable)(void *ctx, const struct err *err);
	void *ctx;
};

/*
 * Visit everything below path, in order of names. Links to folders are not
 * followed. Ends early with an error of visit alone, or when path itself
 * cannot be read.
 */
NODISCARD int source_walk(const char *path, const struct source_visitor *v,
			  struct err *err);

#endif
