/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a database.
 *
 * Ownership: strings and interfaces are borrowed, and outlive the database.
 * Threads: a plain value.
 */
#ifndef TSDB_DB_OPTIONS_H
#define TSDB_DB_OPTIONS_H

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"

struct codec;

/* Zero values mean the defaults in brackets. */
struct tsdb_options {
	const char *path;
	struct fs *fs;             /* NULL: the operating system */
	const struct clock *clock; /* NULL: the real one */
	const struct log *log;     /* NULL: silent */
	struct metrics *metrics;
	int64_t retention_ms;    /* [0: any age is taken] */
	int64_t wal_budget;      /* bytes [512 MiB] */
	int64_t wal_segment;     /* bytes [1/8 of the budget, 1 to 64 MiB] */
	int64_t sync_ms;         /* between syncs [1000]; -1: on each append */
	int64_t retention_bytes; /* of everything [0: no bound] */
	int64_t max_series;      /* over all open ranges [0: no bound] */
	int64_t link_min;        /* values files below it are copied [8 MiB] */
	int64_t maintain_ms;     /* between rounds [60000]; -1: by call only */
	const struct codec *columns; /* for blocks, beside zstd [none] */
	bool read_only;        /* beside a running server; changes nothing */
	bool must_exist;       /* ERR_INVALID when there is no database yet */
	bool ignore_retention; /* for imports */
};

#endif
