/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of `everprof-bench storage`: listing, fetching, and reading
 * everything.
 *
 * Ownership: as in struct bench; querier and buffers live for one call.
 * Threads: one thread.
 */
#ifndef BENCH_BENCH_READ_H
#define BENCH_BENCH_READ_H

#include "bench/bench_state.h"

/*
 * Print the speed of a phase that took `ns` nanoseconds of CPU time and
 * processed all appended profiles: profiles and decompressed bytes per CPU
 * second. The bytes are also shown as a share of the yardstick (the speed of
 * zstd on this machine).
 */
void bench_print_rate(struct bench *b, const char *what, int64_t ns);

/* Measure listing the times of all series. */
void bench_list(struct bench *b, const char *what);

/* Measure the latency of fetching single profiles at random. */
void bench_fetch(struct bench *b, const char *what);

/* Measure reading every profile of every series in order. */
void bench_read(struct bench *b);

#endif
