/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks: the time of day and the monotonic time. Code that depends on the time
 * of day takes a struct clock, so that tests can stop the time and change it.
 *
 * Ownership: a clock is borrowed by its readers and outlives them.
 * Threads: any; setting a clock is atomic.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/defs.h"

/* A minute, in the unit of the monotonic clock. */
#define CLOCK_MINUTE_NS 60000000000LL

/* A source of the time of day. The zero value is the real clock. */
struct clock {
	/*
	 * the time that a stopped clock shows, in milliseconds since the
	 * epoch; 0: the clock is not stopped, and shows the real time
	 */
	_Atomic int64_t fixed_ms;
};

/*
 * Return the time of day in milliseconds since the epoch. If c is NULL, the
 * real clock is read.
 */
int64_t clock_ms(const struct clock *c);

/* Stop the clock at the time `ms`; 0 makes it show the real time again. */
void clock_set(struct clock *c, int64_t ms);

/*
 * Return the time of the monotonic clock in nanoseconds. Its origin is
 * arbitrary, so it serves only to measure intervals and to set deadlines.
 */
int64_t clock_mono_ns(void);

/*
 * Initialise a condition variable whose timed waits use the monotonic clock, so
 * that a change of the time of day neither delays nor shortens a wait. The
 * caller destroys the condition variable.
 */
void clock_cond_init(pthread_cond_t *cond);

/*
 * Convert a time of clock_mono_ns() to the deadline that
 * pthread_cond_timedwait() takes for a condition variable that
 * clock_cond_init() initialised.
 */
struct timespec clock_mono_at(int64_t mono_ns);

/*
 * Return the CPU time that all threads of this process have used, in
 * nanoseconds.
 */
int64_t clock_cpu_ns(void);

/* The same of the calling thread alone. */
int64_t clock_thread_cpu_ns(void);

#endif
