/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of `everprof bench storage`: listing, fetching, reading all.
 *
 * Ownership, threads: those of struct bench.
 */
#ifndef CMD_BENCH_READ_H
#define CMD_BENCH_READ_H

#include "cmd/bench_state.h"

void bench_print_rate(struct bench *b, const char *what, int64_t ns);

void bench_list(struct bench *b, const char *what);

void bench_fetch(struct bench *b, const char *what);

/* Every value of every series, in order. */
void bench_read(struct bench *b);

#endif
