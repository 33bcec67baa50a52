/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JIT process: a process with code that it has compiled itself, and the perf map
 * (/tmp/perf-PID.map) in which it writes the names of that code. Only a map that
 * belongs to the user of the process is read, as perf does: another user could
 * name the code otherwise.
 *
 * Ownership: jit_process_fini() closes the map.
 * Threads: one thread at a time.
 * Source: proc(5), /proc/PID/stat: the time at which a process began.
 */
#ifndef BPF_COLLECT_JIT_PROCESS_H
#define BPF_COLLECT_JIT_PROCESS_H

#include "bpf/process/process_reader.h"

struct jit_process {
	uint32_t pid;
	/*
	 * When it was sampled first, in monotonic ns. A process with this PID
	 * that began later is another one.
	 */
	uint64_t sampled_ns;
	bool is_read; /* false: only the members above are known */
	/* When it began, in clock ticks since the boot; 0: it has ended. */
	uint64_t start;
	uint32_t own; /* its number in its own PID namespace */
	struct process_user user;
	int map; /* the open perf map, or -1 */
};

/*
 * Whether what was read of a process (`read`) is about the one that was sampled
 * (`j`), and not about another one that has its number since.
 */
bool jit_process_is(const struct jit_process *j,
		    const struct jit_process *read);

/*
 * Read the facts about a process while it is alive, and open its map, if it is
 * there already: the process may end before names are needed. `processes` is a
 * helper of process_reader_serve().
 */
void jit_process_read(struct jit_process *j, uint32_t pid,
		      struct file_helper *processes);

/*
 * Return a descriptor of the map, which the caller closes, or -1. A map that
 * was not there before is opened now, unless another process has the number.
 * The map file remains when the process has ended.
 */
int jit_process_open(const struct jit_process *j,
		     struct file_helper *processes);

/* Free everything. */
void jit_process_fini(struct jit_process *j);

#endif
