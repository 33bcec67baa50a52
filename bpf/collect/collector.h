/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector: profiles of all processes of this machine. It takes samples with
 * an eBPF program, follows which processes run and what they have mapped, adds
 * the samples up, and every interval hands over one profile for each series: a
 * program in a container, a systemd unit or a cgroup. Then it hands over a
 * heartbeat (docs/ebpf.md), unless all samples have the same labels.
 *
 * Ownership: a collector owns its threads, until collector_stop().
 * Threads: collector_start() and collector_stop() by one thread; statistics by
 * any. The sink is called by a thread of the collector.
 * Locks: none is held while the sink is called.
 * Units: milliseconds, unless a name says otherwise.
 */
#ifndef BPF_COLLECT_COLLECTOR_H
#define BPF_COLLECT_COLLECTOR_H

#include "base/err.h"
#include "base/log.h"
#include "bpf/collect/profile_sink.h"
#include "bpf/collect/sample_labels.h"
#include "bpf/kernel/abi.h"
#include "bpf/process/container_names.h"
#include "model/relabel.h"

enum {
	COLLECTOR_HZ = 19,
	COLLECTOR_HZ_MAX = 999,
	COLLECTOR_INTERVAL_MS = 10000,
	/* Largest value of `off_cpu` (struct collector_options). */
	COLLECTOR_OFF_CPU_MAX = 1000000,
	/*
	 * The usual memory for samples that are not handed over yet, in bytes.
	 */
	COLLECTOR_MEMORY = 8 << 20,
};

/* Options of a collector. Texts, rules and labels are borrowed. */
struct collector_options {
	unsigned hz; /* CPU samples a second; 0: none */
	/* One in this many waits of threads is sampled; 0: none. */
	unsigned off_cpu;
	int64_t interval_ms; /* INT64_MAX: one profile, when it stops */
	size_t memory;       /* bytes for samples that are not handed over */
	const char *node;    /* label of all series */
	const struct relabel_rules *rules;  /* may be NULL */
	struct container_names *containers; /* may be NULL */
	unsigned sample_labels;             /* a set of enum sample_labels */
	/* Only this process and its later children are of interest; 0: all. */
	uint32_t pid;
	/* All samples have these labels; NULL: each series has its own. */
	struct labels *labels;
	/*
	 * A program and its arguments, ending with NULL, that calls
	 * collector_help().
	 */
	char *const *helper_argv;
	/* The same, for collector_help_processes(). */
	char *const *process_argv;
	/* Directory with debug files by build ID; NULL or empty: none. */
	const char *debug_dir;
	const struct log *log; /* may be NULL */
	bool measure;          /* fill in `runs`, `run_ns` and `map_bytes` */
	profile_sink *sink;
	void *ctx;
};

/* Counters of samples by outcome, and of other events, since the start. */
struct collector_stats {
	int64_t sampling; /* 1: samples are taken; 0: not yet */
	/*
	 * Why sampling could not begin when it was due; code 0: nothing is
	 * wrong. The collector tries again from time to time.
	 */
	struct err failure;
	int64_t ends
		[SAMPLE_ENDS]; /* samples by the reason why the stack ends */
	int64_t dropped;       /* samples of processes dropped by rules */
	int64_t ring_full;     /* samples lost: the ring buffer was full */
	int64_t memory_full;   /* samples lost: the interval has too many */
	int64_t groups_full;   /* samples lost: there are too many series */
	int64_t off_cpu;       /* sampled waits that have ended */
	/*
	 * CPU time in the intervals that have ended, in ns: counted by samples,
	 * stored or not; counted by the kernel; and taken by a hypervisor.
	 */
	int64_t sampled_ns;
	int64_t busy_ns;
	int64_t stolen_ns;
	int64_t profiles;        /* handed over */
	int64_t profiles_failed; /* given up: the sink refused them */
	int64_t reports_lost;    /* of the kernel, about processes */
	int64_t processes;
	int64_t files;
	int64_t series;
	int64_t table_entries; /* entries of unwind tables in the kernel */
	int64_t tables_evicted;
	int64_t tables_crowded_out;
	int64_t processes_refused;    /* there are too many */
	int64_t processes_evicted;    /* forgotten until their next sample */
	int64_t files_refused;        /* there are too many */
	int64_t publications_refused; /* no room for the mappings */
	/*
	 * Costs of the program for CPU samples and of all maps, set at the end
	 * if `measure` is set.
	 */
	int64_t runs;
	int64_t run_ns;
	int64_t map_bytes;
};

struct collector;

/*
 * Start to collect. Samples are taken a moment later, once the files of the
 * running programs have been read; see collector_stats. ERR_UNSUPPORTED: the
 * kernel is too old or must not be sampled, or everprof was built without eBPF;
 * ERR_DENIED: a capability is missing; the message says which.
 */
NODISCARD int collector_start(const struct collector_options *o,
			      struct collector **out, struct err *err);

/*
 * Stop, hand the last profiles over, and free everything; NULL is a no-op. The
 * last statistics are stored in *out, unless it is NULL.
 */
void collector_stop(struct collector *c, struct collector_stats *out);

/* Read the statistics, which are at most about a second old. */
void collector_stats_of(struct collector *c, struct collector_stats *out);

/*
 * Be the process that reads untrusted files for a collector: standard input is
 * the socket to it. Returns the status for exit().
 */
int collector_help(void);

/*
 * Be the process that reads what /proc tells of other processes, and opens their
 * files, for a collector; otherwise as collector_help().
 */
int collector_help_processes(void);

#endif
