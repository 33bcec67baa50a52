/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source text: finds the text of source files below one folder, and reads it
 * line by line.
 *
 * Ownership: borrows the report; the caller owns the text.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_SOURCE_TEXT_H
#define PPROF_REPORT_SOURCE_TEXT_H

#include <limits.h>

#include "pprof/report/report_state.h"

/* The folder below which source files are found. */
struct source_root {
	/*
	 * The resolved path, without a slash at its end (empty for "/"): the
	 * path of every file below the folder begins with this text and a
	 * slash.
	 */
	char path[PATH_MAX];
	bool exists; /* whether source_root is set, and is a folder */
	const struct limits *limits;
	struct growth_meter meter;
};

/* Resolve the folder that the report's options give. */
void source_root_init(struct source_root *s, const struct report *r);

/*
 * Read a source file that a profile names. `out` stays empty when no file is
 * found. Each try is charged to the report's limits: ERR_LIMIT, ERR_TIMEOUT.
 */
NODISCARD int source_root_read(struct source_root *s, struct str file,
			       struct buf *out, struct err *err);

/* A text that is read line by line, forwards only. */
struct source_cursor {
	struct str rest;
	int64_t at; /* number of lines already read */
};

/*
 * Return line `number` (counted from 1) of the text, which must come after the
 * line read last; empty if the text has fewer lines.
 */
struct str source_line(struct source_cursor *c, int64_t number);

#endif
