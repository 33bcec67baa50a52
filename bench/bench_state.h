/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the files of `everprof-bench storage` share.
 *
 * Ownership: the command owns the state, and ends the process on an error.
 * Threads: one thread, except for the thread that samples memory.
 */
#ifndef BENCH_BENCH_STATE_H
#define BENCH_BENCH_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/metrics.h"
#include "pprof/proto/unpack.h"
#include "tsdb/open/tsdb.h"

/* Time of the first profile of each series, in ms. */
#define START_MS 1700000000000LL

/* Number of profiles between two syncs of the WAL. */
#define SYNC_EVERY 100

/* One profile of the folder, in memory. */
struct input {
	char *job;
	char *type;
	int64_t ms;
	struct buf body; /* the profile as scraped, compressed */
};

/* Input, options and figures of one run. */
struct bench {
	bool zstd_only;
	struct input *v;
	size_t count;
	size_t cap;
	size_t gzip_bytes; /* bytes of the input, compressed */
	int64_t instances; /* copies of each series, by the label "instance" */
	int64_t step_ms;   /* ms between profiles of a series */
	int64_t repeat;    /* how many times the whole input is appended */

	struct unpacker *unpacker;
	struct unpacked *unpacked;
	struct metrics *metrics;
	struct tsdb *db;
	size_t appended;
	size_t raw_bytes;  /* bytes appended, decompressed */
	size_t sent_bytes; /* bytes appended, as scraped */
	/* speed of compression by zstd -3, in MB per CPU s */
	double yard_in;
	double yard_out; /* speed of decompression by zstd, in MB per CPU s */

	/*
	 * Highest RssAnon (memory without pages of files) that the thread
	 * `sampler` has seen.
	 */
	pthread_t sampler;
	_Atomic bool sampling;
	_Atomic int64_t peak_kb;
};

/* Print the error and end the process with exit code 1. */
NORETURN void bench_die(const struct err *err);

#endif
