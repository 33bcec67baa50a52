/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector priority: real-time priority for the collector's thread, which
 * reads the kernel's reports about processes (side_band.h). On a busy machine,
 * a thread with normal priority may wait for its turn for tens of milliseconds.
 * Until the collector's thread has read the reports about a new program, it
 * does not know the mappings of the program, so the samples of the program have
 * no callers. The thread has real-time priority only while it needs little CPU
 * time, so that it cannot keep the CPUs from other threads.
 *
 * Threads: the thread whose priority is set.
 * Units: as in the names.
 * Errors: without the capability CAP_SYS_NICE, the priority remains normal.
 */
#ifndef BPF_COLLECT_COLLECTOR_PRIORITY_H
#define BPF_COLLECT_COLLECTOR_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: the thread has normal priority, and nothing was measured. */
struct collector_priority {
	bool real_time;
	uint64_t since_ms; /* when the present measurement began */
	int64_t cpu_ns;    /* CPU time that the thread had used then */
};

/*
 * Decide whether a thread should have real-time priority, and store the
 * decision in p->real_time. `cpu_ns` is the CPU time that the thread has used
 * in its whole life. Return whether the decision has changed.
 */
bool collector_priority_decide(struct collector_priority *p, uint64_t now_ms,
			       int64_t cpu_ns);

/*
 * Measure the CPU time of the calling thread, and set its priority. A call less
 * than 200 ms after the last measurement does nothing.
 */
void collector_priority_update(struct collector_priority *p, uint64_t now_ms);

#endif
