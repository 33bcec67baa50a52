/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file defines the options that tsdb_open() takes.
 *
 * Ownership: strings and interfaces are borrowed, and must outlive the
 * database.
 * Threads: a plain value.
 */
#ifndef TSDB_DB_OPTIONS_H
#define TSDB_DB_OPTIONS_H

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"

struct codec;

/* Zero means the default, given in brackets. */
struct tsdb_options {
	const char *path;
	struct fs *fs;             /* NULL: the operating system's */
	const struct clock *clock; /* NULL: the real clock */
	const struct log *log;     /* NULL: nothing is logged */
	struct metrics *metrics;
	int64_t retention_ms;    /* [0: keep any age] */
	int64_t wal_budget;      /* bytes [512 MiB] */
	int64_t wal_segment;     /* bytes [1/8 of the budget, 1 to 64 MiB] */
	int64_t sync_ms;         /* between syncs [1000]; -1: at each append */
	int64_t retention_bytes; /* of the whole database [0: no bound] */
	int64_t max_series;      /* over all open heads [0: no bound] */
	int64_t link_min;        /* smaller values files are copied [8 MiB] */
	int64_t maintain_ms;     /* between rounds [60000]; -1: only by call */
	const struct codec *columns; /* codec tried before zstd [none] */
	bool read_only;        /* change nothing; a server may run meanwhile */
	bool must_exist;       /* fail if there is no database yet */
	bool ignore_retention; /* for imports of old profiles */
};

#endif
