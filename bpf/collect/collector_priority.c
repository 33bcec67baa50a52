/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/collector_priority.h"

#include <sched.h>

#include "base/clock.h"

enum {
	/* The CPU time is measured over at least this time. */
	MEASURE_MS = 200,
	/*
	 * A thread that used more than this percentage of a CPU gets normal
	 * priority.
	 */
	PERCENT_MAX = 10,
};

bool collector_priority_decide(struct collector_priority *p, uint64_t now_ms,
			       int64_t cpu_ns)
{
	uint64_t ms = now_ms - p->since_ms;
	bool before = p->real_time;

	if (ms < MEASURE_MS)
		return false;
	if (p->since_ms)
		p->real_time = (uint64_t)(cpu_ns - p->cpu_ns) <=
			       ms * 1000000 / 100 * PERCENT_MAX;
	p->since_ms = now_ms;
	p->cpu_ns = cpu_ns;
	return p->real_time != before;
}

void collector_priority_update(struct collector_priority *p, uint64_t now_ms)
{
	/* The lowest priority that comes before all normal ones. */
	const struct sched_param lowest = { .sched_priority = 1 };
	const struct sched_param normal = { 0 };

	/*
	 * clock_thread_cpu_ns() costs a system call, so it is called only when
	 * a measurement is due.
	 */
	if (now_ms - p->since_ms < MEASURE_MS ||
	    !collector_priority_decide(p, now_ms, clock_thread_cpu_ns()))
		return;
	/*
	 * SCHED_RESET_ON_FORK: threads and processes that this thread starts do
	 * not inherit real-time priority.
	 */
	(void)sched_setscheduler(
		0,
		SCHED_RESET_ON_FORK | (p->real_time ? SCHED_RR : SCHED_OTHER),
		p->real_time ? &lowest : &normal);
}
