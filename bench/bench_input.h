/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of `everprof-bench storage`: all profiles of a folder in memory,
 * the yardstick (the speed of zstd on these profiles), and appending them.
 *
 * Ownership: struct bench owns the input.
 * Threads: one thread.
 */
#ifndef BENCH_BENCH_INPUT_H
#define BENCH_BENCH_INPUT_H

#include "bench/bench_state.h"
#include "cmd/tools/source.h"

/* source_visitor.wants: take each file whose name is a time. */
bool bench_want_all(void *ctx, int64_t ms);

/*
 * source_visitor.visit: copy the item into the input. ctx is the struct bench;
 * never fails.
 */
NODISCARD int bench_keep_item(void *ctx, const struct source_item *it,
			      struct err *err);

/* source_visitor.unreadable: print the message. */
void bench_complain(void *ctx, const struct err *err);

/*
 * Change the times so that consecutive profiles of a series are b->step_ms
 * apart, and order the input by time, so that series are interleaved as in a
 * scraper.
 */
void bench_respace(struct bench *b);

/*
 * The duration of the input in ms: from its first profile to one step after its
 * last.
 */
int64_t bench_span(const struct bench *b);

/*
 * Measure the yardstick, the speed of zstd -3 over a sample of the input, so
 * that runs on different machines can be compared.
 */
void bench_yardstick(struct bench *b);

/*
 * Append one profile for one instance (a copy of the series with its own label
 * "instance"). `shift` ms are added to the time of the profile. *lsn is set to
 * the position of the profile in the WAL. After every SYNC_EVERY profiles the
 * WAL is synced.
 */
void bench_append(struct bench *b, const struct input *in, int64_t instance,
		  int64_t shift, uint64_t *lsn);

/*
 * Append the whole input b->repeat times for each of b->instances instances,
 * and sync.
 */
void bench_append_all(struct bench *b);

#endif
