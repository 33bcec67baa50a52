/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of `everprof bench storage`: all profiles of a folder in memory, the
 * yardstick over them, and how they are appended.
 *
 * Ownership, threads: those of struct bench.
 */
#ifndef CMD_BENCH_INPUT_H
#define CMD_BENCH_INPUT_H

#include "cmd/bench_state.h"
#include "cmd/source.h"

bool bench_want_all(void *ctx, int64_t ms);

NODISCARD int bench_keep_item(void *ctx, const struct source_item *it,
			      struct err *err);

void bench_complain(void *ctx, const struct err *err);

/* Space each series' profiles b->step_ms apart, and interleave the series. */
void bench_respace(struct bench *b);

int64_t bench_span(const struct bench *b);

void bench_yardstick(struct bench *b);

void bench_append(struct bench *b, const struct input *in, int64_t instance,
		  int64_t shift, uint64_t *lsn);

void bench_append_all(struct bench *b);

#endif
