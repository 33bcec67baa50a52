/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU times: how long all CPUs together have been busy, by the kernel's own
 * account in /proc/stat (proc(5)).
 *
 * Threads: any.
 * Units: nanoseconds, in steps of a clock tick (10 ms).
 */
#ifndef BPF_KERNEL_CPU_TIMES_H
#define BPF_KERNEL_CPU_TIMES_H

#include "base/bytes.h"

/* Times of all CPUs since the start of the machine. */
struct cpu_times {
	/*
	 * Time spent in programs (user and nice), the kernel (system), and
	 * interrupts.
	 */
	int64_t busy_ns;
	/*
	 * Time in which the hypervisor ran something else, although a program
	 * was ready to run (steal).
	 */
	int64_t stolen_ns;
};

/*
 * Parse the line "cpu" of /proc/stat. `ticks` is the number of clock ticks in a
 * second. Return false if the text does not begin with a valid line "cpu".
 */
bool cpu_times_parse(struct str text, int64_t ticks, struct cpu_times *out);

/* Read the times from /proc/stat. False: they cannot be read. */
bool cpu_times_read(struct cpu_times *out);

#endif
