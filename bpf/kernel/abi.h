/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 OR BSD-2-Clause */
/*
 * Interface between the sampler in the kernel and the collector: the layout of
 * maps and records.
 *
 * Threads: the collector writes a mapping and its rows before it publishes the
 * process that uses them.
 */
#ifndef BPF_KERNEL_ABI_H
#define BPF_KERNEL_ABI_H

#include <linux/types.h>

#include "bpf/unwind/unwind_row.h"

enum {
	/*
	 * Largest number of frames of a stack, in the kernel and in user space.
	 */
	SAMPLE_FRAMES_MAX = 127,
	/*
	 * Addresses of a record: enough for both stacks, and a power of two, as
	 * the sampler uses it as a mask.
	 */
	SAMPLE_WORDS_MAX = 512,
	SAMPLE_COMM_MAX = 16,
};

/*
 * In an address of user space, this bit says that the thread was exactly there,
 * or that a function begins there which was not called but shall be returned
 * to. Other addresses are return addresses, so the call is before them.
 */
#define SAMPLE_EXACT (1ULL << 63)

/* An executable mapping of a process. */
struct sampler_mapping {
	__u64 start;
	__u64 end;
	__u64 bias;  /* address in memory minus address in the ELF file */
	__u32 table; /* number of the first entry of its unwind table */
	/*
	 * Number of pages of its unwind table; 0: it has no table, only frame
	 * pointers can be followed.
	 */
	__u32 pages;
};

/* The mappings of a process, sorted by address. */
struct sampler_process {
	__u32 first;
	__u32 count;
	__u32 interpreter; /* 0: none */
	__u32 flags;       /* a set of enum sampler_process_flag */
};

enum sampler_process_flag {
	SAMPLER_PROCESS_IGNORED = 1, /* it is not sampled */
};

/* Why a stack ends where it ends. */
enum sample_end {
	SAMPLE_COMPLETE,   /* at the start of the program or of the thread */
	SAMPLE_TRUNCATED,  /* there are more frames than a record can have */
	SAMPLE_NO_PROCESS, /* the process is not known (yet) */
	SAMPLE_NO_MAPPING, /* an address is in no known mapping */
	SAMPLE_NO_RULE,    /* the unwind table cannot express the rule */
	SAMPLE_UNREADABLE, /* the stack is not in memory, or not a stack */
	SAMPLE_COMPAT,     /* a 32-bit program */
	SAMPLE_KERNEL,     /* there is no user space, or none any more */
	/*
	 * As SAMPLE_COMPLETE, but code without an unwind table was assumed to
	 * keep frame pointers. If it does not, callers are missing.
	 */
	SAMPLE_BY_POINTER,
	/*
	 * The stack is not whole: the program is in its first milliseconds, and
	 * its mappings are not known yet. The collector sets this value; the
	 * kernel never does.
	 */
	SAMPLE_STARTING,
	SAMPLE_ENDS, /* the number of ends */
};

/* What a record is about. */
enum sample_kind {
	SAMPLE_ON_CPU,  /* the CPU was there when a clock ticked */
	SAMPLE_WAITS,   /* the thread left its CPU there */
	SAMPLE_RESUMES, /* it runs again; `since` is the time of SAMPLE_WAITS */
};

/* The header of a sample record; the addresses follow it. */
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
	__u64 since; /* of SAMPLE_RESUMES; otherwise 0 */
};

/* A record of the ring buffer; only the addresses that it has are sent. */
struct sample_record {
	struct sample_header header;
	__u64 words[SAMPLE_WORDS_MAX];
};

_Static_assert(sizeof(struct unwind_row) == 8, "rows have 8 bytes");
_Static_assert(sizeof(struct sampler_mapping) == 32, "no padding");
_Static_assert(sizeof(struct sample_header) == 56, "no padding");

/* Counters, one element for each CPU. */
enum sampler_counter {
	SAMPLER_IGNORED, /* ticks in processes that are not sampled */
	SAMPLER_TAKEN,   /* records that were made, of all kinds */
	/* those not sent: the ring, or the map of waits, was full */
	SAMPLER_RING_FULL,
	SAMPLER_TICKS_LOST, /* the CPU samples among those not sent */
	SAMPLER_COUNTERS,
};

#endif
