/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts of the kernel's types that the sampler reads. libbpf finds the
 * offsets of their members in the running kernel when it loads the program
 * ("CO-RE"), so the offsets of these declarations do not matter.
 *
 * Threads: read only.
 */
#ifndef BPF_KERNEL_KERN_TYPES_H
#define BPF_KERNEL_KERN_TYPES_H

#include <linux/types.h>

#define KERN_TYPE __attribute__((preserve_access_index))

struct mm_struct {
	unsigned long start_code;
	unsigned long arg_start;
} KERN_TYPE;

struct task_struct {
	unsigned int flags;
	void *stack;
	int pid; /* of the thread */
	int tgid;
	struct mm_struct *mm;
	struct task_struct *real_parent;
} KERN_TYPE;

/* In `flags`: a thread of the kernel. */
#define PF_KTHREAD 0x00200000
/* In `flags`: the thread is ending. */
#define PF_EXITING 0x00000004

/*
 * For the feature probe of entry_registers() (sampler.bpf.c):
 * bpf_core_enum_value_exists() looks for BPF_FUNC_task_pt_regs in the kernel's
 * enum bpf_func_id. Kernels that have the function bpf_task_pt_regs() (since
 * Linux 5.15) have this value. The suffix ___probe makes the names below differ
 * from those in <linux/bpf.h>. When libbpf compares names, it ignores three
 * underscores and what follows them.
 */
enum bpf_func_id___probe {
	BPF_FUNC_task_pt_regs___probe = 175,
};

#endif
