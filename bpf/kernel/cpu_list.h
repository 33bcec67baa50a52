/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of CPUs as the kernel writes them, such as "0-3,8" (Linux,
 * Documentation/admin-guide/cputopology.rst).
 *
 * Threads: any.
 */
#ifndef BPF_KERNEL_CPU_LIST_H
#define BPF_KERNEL_CPU_LIST_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	CPU_LIST_MAX = 8192,
};

/* A set of CPUs. */
struct cpu_list {
	uint64_t bits[CPU_LIST_MAX / 64];
};

/* Whether a CPU is in the set. */
static inline bool cpu_list_has(const struct cpu_list *l, unsigned cpu)
{
	return cpu < CPU_LIST_MAX && l->bits[cpu / 64] >> (cpu % 64) & 1;
}

/*
 * Parse a list, with or without a line end. False: it is malformed, or a number
 * is not below CPU_LIST_MAX.
 */
NODISCARD bool cpu_list_parse(struct str text, struct cpu_list *out);

/* Read which CPUs are online. */
NODISCARD int cpu_list_online(struct cpu_list *out, struct err *err);

#endif
