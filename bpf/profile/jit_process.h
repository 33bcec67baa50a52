/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JIT process: a process with code that it has compiled itself, and the perf map
 * (/tmp/perf-PID.map) in which it writes the names of that code. Only a map that
 * belongs to the user of the process is read, as perf does: another user could
 * name the code otherwise.
 *
 * Ownership: jit_process_fini() closes the map.
 * Threads: one thread at a time.
 */
#ifndef BPF_PROFILE_JIT_PROCESS_H
#define BPF_PROFILE_JIT_PROCESS_H

#include "bpf/process/process_reader.h"

struct jit_process {
	uint32_t pid;
	bool is_read; /* if not, `pid` is all that is known */
	uint32_t own; /* its number in its own PID namespace */
	struct process_user user;
	int map; /* the open perf map, or -1 */
};

/*
 * Read the facts about a process while it is alive, and open its map, if it is
 * there already: the process may end before names are needed. `processes` is a
 * helper of process_reader_serve().
 */
void jit_process_read(struct jit_process *j, uint32_t pid,
		      struct file_helper *processes);

/*
 * Return a descriptor of the map, which the caller closes, or -1. A map that was
 * not there before is opened now; it stays when the process has ended.
 */
int jit_process_open(const struct jit_process *j,
		     struct file_helper *processes);

/* Free everything. */
void jit_process_fini(struct jit_process *j);

#endif
