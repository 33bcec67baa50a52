/* SPDX-License-Identifier: Apache-2.0 */
/* When the collector's thread has real-time priority. */
#include "bpf/collect/collector_priority.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/check.h"

TestSuite(collector_priority, .timeout = 60);

#define MS 1000000LL

Test(collector_priority, a_thread_that_needs_much_cpu_time_has_none)
{
	struct collector_priority p = { 0 };

	cr_expect(!collector_priority_decide(&p, 5000, 400 * MS));
	cr_expect(!p.real_time, "what it has used before says nothing");
	cr_expect(!collector_priority_decide(&p, 5199, 401 * MS));
	cr_assert(collector_priority_decide(&p, 5200, 420 * MS));
	cr_expect(p.real_time);
	cr_assert(!collector_priority_decide(&p, 5400, 440 * MS));
	cr_expect(p.real_time);
	/* More than a tenth, also of a time that took longer. */
	cr_assert(!collector_priority_decide(&p, 6400, 540 * MS));
	cr_expect(p.real_time);
	cr_assert(collector_priority_decide(&p, 7400, 641 * MS));
	cr_expect(!p.real_time);
	cr_expect(!collector_priority_decide(&p, 7600, 662 * MS));
	cr_assert(collector_priority_decide(&p, 7800, 662 * MS));
	cr_expect(p.real_time);
}

static void *policy_of_child(void *policy)
{
	*(int *)policy = sched_getscheduler(0);
	return NULL;
}

/* Here, the kernel decides whether it may. */
Test(collector_priority, threads_that_it_starts_have_normal_priority)
{
	struct collector_priority p = { 0 };
	const struct sched_param lowest = { .sched_priority = 1 };
	bool may = !sched_setscheduler(0, SCHED_RR, &lowest);
	pthread_t thread;
	int policy = -1;
	uint64_t now = 1000;

	collector_priority_update(&p, now);
	collector_priority_update(&p, now + 60000);
	cr_expect(p.real_time);
	cr_expect(!may ||
		  sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK));
	cr_assert(!pthread_create(&thread, NULL, policy_of_child, &policy));
	pthread_join(thread, NULL);
	cr_expect(policy == SCHED_OTHER);
	/* It needs all of a CPU. */
	for (int64_t end = clock_thread_cpu_ns() + 50 * MS;
	     clock_thread_cpu_ns() < end;)
		;
	collector_priority_update(&p, now + 60200);
	cr_expect(!p.real_time);
	cr_expect(sched_getscheduler(0) == SCHED_OTHER ||
		  sched_getscheduler(0) == (SCHED_OTHER | SCHED_RESET_ON_FORK));
}
