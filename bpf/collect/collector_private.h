/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's state, which the sources of the collector share.
 *
 * Ownership: a collector owns everything in it.
 * Threads: the collector's own thread, but for `shown`, which mu guards.
 */
#ifndef BPF_COLLECT_COLLECTOR_PRIVATE_H
#define BPF_COLLECT_COLLECTOR_PRIVATE_H

#include <poll.h>

#include "base/mutex.h"
#include "bpf/collect/collector.h"
#include "bpf/collect/collector_priority.h"
#include "bpf/collect/elf_queue.h"
#include "bpf/collect/held_samples.h"
#include "bpf/collect/profile_writer.h"
#include "bpf/collect/sample_queue.h"
#include "bpf/collect/sample_window.h"
#include "bpf/collect/scan_queue.h"
#include "bpf/collect/waiting_threads.h"
#include "bpf/kernel/sampler.h"
#include "bpf/kernel/side_band.h"
#include "bpf/process/container_log.h"
#include "bpf/process/process_groups.h"
#include "bpf/process/process_table.h"

/*
 * The last warning in the log that something, such as unwind tables, found no
 * room.
 */
struct collector_warning {
	uint64_t at; /* when it was logged, in monotonic ms; 0: never */
	int64_t of;  /* number of refusals up to then */
};

/*
 * Values of the kernel's counters. Only the difference of two values is used.
 */
struct kernel_account {
	int64_t ignored; /* CPU samples not taken: rules drop the process */
	int64_t lost[WINDOW_KINDS]; /* records that could not be sent */
	struct cpu_times times;
};

struct collector {
	struct collector_options o;
	pthread_t thread;
	struct collector_priority priority;
	/* number of samples and reports read; see MEASURE_STEPS */
	unsigned steps;
	int stop_fd; /* eventfd: readable when the collector is to stop */
	VEC(struct pollfd)
	waits; /* descriptors to be polled; `stop_fd` comes first */
	struct sampler *sampler;
	struct side_band *side_band;
	struct elf_queue *queue;
	struct scan_queue *scans;
	struct profile_writer *writer;
	struct user_ranges ranges;
	struct table_store store;
	struct file_table files;
	struct process_table processes;
	struct process_groups groups;
	struct sample_queue samples;
	struct held_samples held;
	struct waiting_threads waiting;
	/*
	 * `window` has the samples from window_at (in monotonic ns) on.
	 * `closing` is the previous window, while samples from its time may be
	 * missing; NULL: there is no such window, or it was handed over.
	 */
	struct sample_window *window;
	struct sample_window *closing;
	int64_t window_at;
	/* The kernel's counters when `window` began. */
	struct kernel_account kernel_account;
	bool ended;        /* no further samples are taken … */
	uint64_t ended_ns; /* … since this monotonic time */
	uint64_t counts
		[SAMPLER_COUNTERS]; /* the kernel's counters, as last read */
	uint64_t now;               /* of this turn, in monotonic ms */
	/*
	 * Files that were read, or whose unwind tables were evicted. The
	 * processes that have mapped them are still to be published again.
	 */
	struct file_numbers learned;
	uint64_t learned_at;
	bool rescan; /* reports were lost, so processes must be read again */
	uint64_t rescan_after; /* when all processes may be read again */
	bool settled;          /* no file and no process waits to be read */
	/*
	 * Monotonic time in ns up to which the kernel's samples were read and
	 * processed: what happened later is not known yet.
	 */
	uint64_t seen_ns;
	uint64_t counted_at; /* when `shown` was updated */
	bool is_quiet;       /* the last wait ended without an event */
	struct collector_warning warned_of_tables;
	struct collector_warning warned_of_files;
	uint64_t settle_until; /* when sampling begins at the latest */
	/* sampling failed to begin; retry after this time */
	uint64_t start_after;
	VEC(struct window_frame) frames; /* of the sample that is being added */
	struct labels *node; /* labels of all profiles; NULL: no heartbeats */
	/* CPU samples dropped by rules here, not in the kernel */
	int64_t seen_dropped;
	struct collector_stats stats;
	struct mutex mu;
	/* copy of `stats` for other threads, guarded by mu */
	struct collector_stats shown;
};

#endif
