/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector priority: real-time priority for the thread that reads reports. On
 * a busy machine, a thread with normal priority may wait for its turn for tens
 * of milliseconds; until then, the samples of programs that have just begun have
 * no callers. So that it cannot keep the machine from others, the thread has
 * this priority only while it needs little CPU time.
 *
 * Threads: it is used by the thread that it is about.
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
	uint64_t since_ms; /* when the measured time began */
	int64_t cpu_ns;    /* what the thread had used then */
};

/*
 * Decide whether a thread should have real-time priority. `cpu_ns` is the CPU
 * time that the thread has used in its whole life. Return whether the decision
 * has changed.
 */
bool collector_priority_decide(struct collector_priority *p, uint64_t now_ms,
			       int64_t cpu_ns);

/* Measure the calling thread, and set its priority, a few times a second. */
void collector_priority_update(struct collector_priority *p, uint64_t now_ms);

#endif
