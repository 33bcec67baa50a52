/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 OR BSD-2-Clause */
/*
 * Interface between the sampler in the kernel and the collector: the layout of
 * maps and records.
 *
 * Threads: the collector writes a mapping, and the entries of its unwind table,
 * before it publishes the process that has the mapping.
 */
#ifndef BPF_KERNEL_ABI_H
#define BPF_KERNEL_ABI_H

#include <linux/types.h>

#include "bpf/unwind/unwind_row.h"

enum {
	/*
	 * Largest number of frames of one stack. A record has two stacks: that
	 * of the kernel and that of user space.
	 */
	SAMPLE_FRAMES_MAX = 127,
	/*
	 * Size of the array of addresses in a record: enough for both stacks,
	 * and a power of two, because the sampler masks indexes with
	 * SAMPLE_WORDS_MAX - 1.
	 */
	SAMPLE_WORDS_MAX = 512,
	SAMPLE_COMM_MAX = 16,
};

/*
 * This bit is set in an address of user space that does not follow a call.
 * There are three cases: the thread was at this address, a signal interrupted
 * the thread there, or the address is the beginning of a function and was
 * stored as a return address, although no call returns there (see `entry` in
 * walk.h). Without the bit, the address is a return address, and the call is
 * just before it.
 */
#define SAMPLE_EXACT (1ULL << 63)

/* An executable mapping of a process. */
struct sampler_mapping {
	__u64 start;
	__u64 end;
	__u64 bias; /* address in memory minus address in the ELF file */
	/* index of the first entry of its unwind table in the map `entries` */
	__u32 table;
	/*
	 * Number of pages of the unwind table (see unwind_pack.h); 0: there is
	 * no table, and only frame pointers can be followed.
	 */
	__u32 pages;
};

/*
 * The mappings of a process: `count` elements of the map `mappings`, from
 * number `first` on, sorted by address.
 */
struct sampler_process {
	__u32 first;
	__u32 count;
	__u32 flags; /* a set of enum sampler_process_flag */
};

enum sampler_process_flag {
	SAMPLER_PROCESS_IGNORED = 1, /* the process is not sampled */
};

/* Why a stack ends where it ends. */
enum sample_end {
	/*
	 * at an outermost function: of the program, of a thread or of a
	 * goroutine
	 */
	SAMPLE_COMPLETE,
	SAMPLE_TRUNCATED,  /* there are more than SAMPLE_FRAMES_MAX frames */
	SAMPLE_NO_PROCESS, /* the process is not known (yet) */
	SAMPLE_NO_MAPPING, /* an address is in no known mapping */
	/*
	 * the unwind table cannot express the rule, or the CFA cannot be
	 * computed
	 */
	SAMPLE_NO_RULE,
	/*
	 * memory of the stack cannot be read, or rsp or rbp does not lead to a
	 * caller
	 */
	SAMPLE_UNREADABLE,
	SAMPLE_COMPAT, /* a 32-bit program */
	/*
	 * the stack has only functions of the kernel: the thread belongs to the
	 * kernel, or it is ending and has given up the memory of its process
	 */
	SAMPLE_KERNEL,
	/*
	 * As SAMPLE_COMPLETE, but the caller of some code was found by frame
	 * pointers, although no unwind table says that the code keeps them. If
	 * the code does not keep them, callers are missing.
	 */
	SAMPLE_BY_POINTER,
	/*
	 * The stack is not whole, and the program was in its first
	 * milliseconds. The likely reason is that the collector had not
	 * published all mappings of the program yet. The collector sets this
	 * value in place of the one that the sampler sent.
	 */
	SAMPLE_STARTING,
	SAMPLE_ENDS, /* the number of ends */
};

/* What a record is about. */
enum sample_kind {
	SAMPLE_ON_CPU,  /* the CPU had this stack when its clock ticked */
	SAMPLE_WAITS,   /* the thread left its CPU with this stack */
	SAMPLE_RESUMES, /* the thread of a SAMPLE_WAITS record runs again */
};

/*
 * The header of a sample record; the addresses follow it. A record of the kind
 * SAMPLE_RESUMES has no addresses. In its header, only `time`, `pid`, `tid`,
 * `kind` and `since` are set; the other members are 0.
 */
struct sample_header {
	__u64 time;   /* of the monotonic clock, in nanoseconds */
	__u64 cgroup; /* inode of the cgroup (version 2) */
	__u32 pid;    /* the process, as the initial PID namespace numbers it */
	__u32 tid;    /* the thread */
	__u16 cpu;
	__u16 kernel; /* number of addresses of the kernel, which come first */
	__u16 user;   /* number of addresses of user space */
	__u8 end;     /* enum sample_end */
	__u8 kind;    /* enum sample_kind */
	char comm[SAMPLE_COMM_MAX];
	/*
	 * SAMPLE_RESUMES: `time` of the SAMPLE_WAITS record; otherwise, the
	 * kernel stores 0. While a wait goes on, the collector keeps a copy of
	 * its SAMPLE_WAITS record. In `since` of this copy, the collector
	 * stores the time up to which the wait was added to windows.
	 */
	__u64 since;
};

/*
 * A record of the ring buffer. It ends after the addresses that its header
 * counts; the rest of `words` is not sent.
 */
struct sample_record {
	struct sample_header header;
	__u64 words[SAMPLE_WORDS_MAX];
};

_Static_assert(sizeof(struct unwind_row) == 8, "rows have 8 bytes");
_Static_assert(sizeof(struct sampler_mapping) == 32, "no padding");
_Static_assert(sizeof(struct sample_header) == 56, "no padding");

/*
 * The counters in the map `counters`. Each CPU has its own value of each
 * counter.
 */
enum sampler_counter {
	SAMPLER_IGNORED, /* ticks in processes that are not sampled */
	/*
	 * records of all kinds that were sent or lost; a SAMPLE_RESUMES record
	 * is not counted before it is sent: if the ring buffer is full, the
	 * record is sent at a later switch of the thread
	 */
	SAMPLER_TAKEN,
	/*
	 * those records of SAMPLER_TAKEN that were not sent, because the ring
	 * buffer or the map `waiting` was full
	 */
	SAMPLER_RING_FULL,
	SAMPLER_TICKS_LOST, /* the SAMPLE_ON_CPU records among those not sent */
	SAMPLER_COUNTERS,
};

#endif
