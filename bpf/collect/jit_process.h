/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JIT process: a process with code that it has compiled itself, and the perf
 * map (/tmp/perf-PID.map) in which it writes the names of that code. Only a map
 * that belongs to the user of the process is read, because another user could
 * put a map with wrong names there. For the same reason, perf reads a map only
 * if it belongs to root or to the user who runs perf.
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
	uint32_t own; /* its PID in its own PID namespace */
	struct process_user user;
	int map; /* the open perf map, or -1 */
};

/*
 * Whether the facts in `read` are about the process that was sampled (`j`), and
 * not about another process that has got the same PID since.
 */
bool jit_process_is(const struct jit_process *j,
		    const struct jit_process *read);

/*
 * Read the facts about the process `pid`, and open its perf map, if the map is
 * there already. This is done while the process is alive, because it may end
 * before names are needed. `processes` is a helper that runs
 * process_reader_serve().
 */
void jit_process_read(struct jit_process *j, uint32_t pid,
		      struct file_helper *processes);

/*
 * Return a descriptor of the perf map, which the caller closes, or -1. A map
 * that is not open yet is opened now, unless another process has the PID by
 * now. The map of a process that has ended remains, but can be opened only if
 * everprof sees the map at the same path, and the process had the same PID in
 * its own PID namespace as in everprof's.
 */
int jit_process_open(const struct jit_process *j,
		     struct file_helper *processes);

/* Free everything. */
void jit_process_fini(struct jit_process *j);

#endif
