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

/*
 * The options of a database. If a member is zero, its default is used, given in
 * brackets.
 */
struct tsdb_options {
	const char *path;
	struct fs *fs; /* file system; NULL: the operating system's */
	const struct clock *clock; /* NULL: the real clock */
	const struct log *log;     /* log; NULL: nothing is logged */
	struct metrics *metrics;
	int64_t retention_ms; /* maximum age of profiles, ms [0: no bound] */
	int64_t wal_budget;   /* WAL size that triggers a flush [512 MiB] */
	/* Size of a WAL segment in bytes [1/8 of the budget, 1 to 64 MiB]. */
	int64_t wal_segment;
	int64_t sync_ms; /* ms between syncs [1000]; -1: at each append */
	/* Maximum size of the database in bytes [0: no bound]. */
	int64_t retention_bytes;
	int64_t max_series; /* maximum series in open heads [0: no bound] */
	/*
	 * Compaction copies values files that are smaller than this, in bytes,
	 * and links the others [8 MiB].
	 */
	int64_t link_min;
	/*
	 * Time in ms between rounds of maintenance [60000]; -1: only on
	 * request.
	 */
	int64_t maintain_ms;
	/*
	 * For how long the time of day has to be steady before it decides that
	 * profiles are too old or too new, in ms [3600000]; -1: not at all.
	 */
	int64_t clock_steady_ms;
	/*
	 * For how long flushes and sealing wait for a disk that does not answer
	 * reads before they go on without the profiles that cannot be read, in
	 * ms [300000]; -1: not at all.
	 */
	int64_t outage_ms;
	const struct codec *columns; /* codec tried before zstd [none] */
	bool read_only;        /* change no file; a server may run meanwhile */
	bool must_exist;       /* fail if there is no database yet */
	bool ignore_retention; /* accept profiles of any age: for imports */
	/*
	 * Whether remote write may read the WAL through tsdb_sample_log():
	 * segments are held until sample_log.keep() has passed them.
	 */
	bool hold_wal;
};

#endif
