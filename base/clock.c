/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

/* Read one of the system's clocks, in nanoseconds. */
static int64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int64_t clock_ms(const struct clock *c)
{
	int64_t fixed = c ? atomic_load(&c->fixed_ms) : 0;

	return fixed ? fixed : read_ns(CLOCK_REALTIME) / 1000000;
}

void clock_set(struct clock *c, int64_t ms)
{
	atomic_store(&c->fixed_ms, ms);
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

/*
 * The monotonic clock is set explicitly, because condition variables use
 * CLOCK_REALTIME by default, which an administrator or NTP can change.
 */
void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

struct timespec clock_mono_at(int64_t mono_ns)
{
	return (struct timespec){ .tv_sec = mono_ns / 1000000000,
				  .tv_nsec = mono_ns % 1000000000 };
}

/* For benchmarks: CPU time does not include waiting. */
int64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
