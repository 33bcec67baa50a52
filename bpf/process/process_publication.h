/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publication of a process: what the kernel's program knows of its mappings. A
 * child has the publication of its parent until one of them changes.
 *
 * Ownership: everything belongs to the process table.
 * Threads: as process_table.h.
 */
#ifndef BPF_PROCESS_PROCESS_PUBLICATION_H
#define BPF_PROCESS_PROCESS_PUBLICATION_H

#include "bpf/process/process_table.h"

/* Stands for no publication. */
#define PUBLICATION_NONE UINT32_MAX

/*
 * Publish what a process has mapped. False: there is no room, which is counted;
 * the older publication stays, without the tables that its mappings do not have
 * any more, and the process remains one that has changed.
 */
NODISCARD bool process_publish(struct process_table *t, struct process *p,
			       uint64_t now);

/* Release the publication of a process; its last user frees it. */
void process_unpublish(struct process_table *t, struct process *p,
		       uint64_t now);

/* Remove a process from the kernel, and release its publication. */
void process_withdraw(struct process_table *t, struct process *p, uint64_t now);

#endif
