/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's state, which the sources of the collector share.
 *
 * Ownership: a collector owns everything in it, except what `o` points to
 * (struct collector_options).
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
 * The last warning in the log that there was no room for unwind tables, or for
 * files.
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
	 * `window` is the present window: it has the samples that were taken at
	 * window_at (in monotonic ns) or later. `closing` is the window before
	 * it, which may still get samples from its time; NULL: there is no such
	 * window, or it was handed over.
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
	uint64_t now;               /* start of this turn, in monotonic ms */
	/*
	 * Files that were read, or whose unwind tables were evicted, since
	 * `learned_at`. The processes that have mapped these files are still to
	 * be published again.
	 */
	struct file_numbers learned;
	uint64_t learned_at;
	bool rescan; /* reports were lost, so processes must be read again */
	uint64_t rescan_after; /* when all processes may be read again */
	/* all files and processes that were asked for have been read */
	bool settled;
	/*
	 * Monotonic time in ns up to which the kernel's samples were read and
	 * processed: what happened later is not known yet.
	 */
	uint64_t seen_ns;
	uint64_t counted_at; /* when `shown` was updated */
	/* the last collector_wait() ended without an event */
	bool is_quiet;
	struct collector_warning warned_of_tables;
	struct collector_warning warned_of_files;
	uint64_t settle_until; /* when sampling begins at the latest */
	/* sampling failed to begin; retry after this time */
	uint64_t start_after;
	VEC(struct window_frame) frames; /* of the sample that is being added */
	/*
	 * labels that all series have; heartbeats get them. NULL: no heartbeats
	 */
	struct labels *node;
	/* CPU samples that rules dropped in the collector, not in the kernel */
	int64_t seen_dropped;
	struct collector_stats stats;
	struct mutex mu;
	/* copy of `stats` for other threads, guarded by mu */
	struct collector_stats shown;
};

#endif
