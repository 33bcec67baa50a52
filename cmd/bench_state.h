/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of `everprof bench storage` share.
 *
 * Ownership: the command owns its state, and ends the process on an error.
 * Threads: one thread, but the sampler of memory.
 */
#ifndef CMD_BENCH_STATE_H
#define CMD_BENCH_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/metrics.h"
#include "pprof/unpack.h"
#include "tsdb/tsdb.h"

#define START_MS 1700000000000LL

#define SYNC_EVERY 100

struct input {
	char *job;
	char *type;
	int64_t ms;
	struct buf body;
};

struct bench {
	bool zstd_only;
	struct input *v;
	size_t count;
	size_t cap;
	size_t gzip_bytes;
	int64_t instances;
	int64_t step_ms;
	int64_t repeat;

	struct unpacker *unpacker;
	struct unpacked *unpacked;
	struct metrics *metrics;
	struct tsdb *db;
	size_t appended;
	size_t raw_bytes;
	size_t sent_bytes;
	double yard_in; /* MB/s */
	double yard_out;

	/* Peak of RssAnon, taken by a thread of its own. */
	pthread_t sampler;
	_Atomic bool sampling;
	_Atomic int64_t peak_kb;
};

/* Print the error and end the process. */
NORETURN void bench_die(const struct err *err);

#endif
