/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process scan: reads from /proc the facts about processes that started before
 * the kernel's reports began, or whose reports were lost.
 *
 * Ownership: texts are owned by the facts.
 * Threads: one thread at a time.
 */
#ifndef BPF_COLLECT_PROCESS_SCAN_H
#define BPF_COLLECT_PROCESS_SCAN_H

#include "bpf/group/process_groups.h"
#include "bpf/process/process_table.h"

/* Read the mappings of a process again. One that has ended is left as it is. */
void process_scan(struct process_table *t, uint32_t pid, uint64_t now);

/* Read the mappings of all processes. */
void process_scan_all(struct process_table *t, uint64_t now);

/* Facts of a process, with the memory for their texts. */
struct process_texts {
	struct process_facts facts;
	struct buf cgroup;
	struct buf cmdline;
	struct buf exe;
	struct buf name;
};

/* Read facts; those that cannot be read are empty. */
void process_texts_read(struct process_texts *t, uint32_t pid);

void process_texts_fini(struct process_texts *t);

#endif
