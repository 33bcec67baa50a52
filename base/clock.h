/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks. Modules that judge the time of day take a struct clock, so that
 * tests can stop it and move it.
 *
 * Ownership: borrowed by whoever reads it.
 * Threads: any; setting is atomic.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/defs.h"

/* The zero value is the real clock. */
struct clock {
	_Atomic int64_t fixed_ms; /* not 0: stopped at this time */
};

/* Milliseconds since the epoch. A NULL clock is the real one. */
int64_t clock_ms(const struct clock *c);

/* Stop the clock at ms; 0 lets it run again. */
void clock_set(struct clock *c, int64_t ms);

/* Nanoseconds that only ever grow, for measuring; from no known origin. */
int64_t clock_mono_ns(void);

/*
 * A condition whose timed waits end at moments of clock_mono_ns(), as
 * clock_mono_at() hands them over: setting the clock delays none.
 */
void clock_cond_init(pthread_cond_t *cond);
struct timespec clock_mono_at(int64_t mono_ns);

/* CPU nanoseconds of this process, all threads. */
int64_t clock_cpu_ns(void);

#endif
