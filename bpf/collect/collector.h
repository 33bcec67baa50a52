/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector: profiles of all processes of this machine. The collector takes
 * samples with an eBPF program, follows which processes run and what they have
 * mapped, and adds the samples up. Every interval, it hands the sink
 * (profile_sink.h) one profile for each series and each kind of samples (CPU
 * time, waits of threads) of which there are samples. A series is a program in
 * a container, a systemd unit or a cgroup, unless rules or the option `labels`
 * say otherwise. After these profiles, the collector hands over a heartbeat for
 * each kind that is sampled: a profile that says that the machine was sampled
 * (docs/ebpf.md). A kind of which too many samples were lost has no heartbeat.
 * If the option `labels` is set, there are no heartbeats at all.
 *
 * Ownership: a collector owns its threads, until collector_stop().
 * Threads: collector_start() and collector_stop() by one thread; statistics by
 * any. The sink is called by a thread of the collector.
 * Locks: none is held while the sink is called.
 * Units: as in the names.
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
	/* Usual value of `memory` (struct collector_options), in bytes. */
	COLLECTOR_MEMORY = 8 << 20,
};

/*
 * Options of a collector. What the members point to is borrowed until
 * collector_stop(), except `node`, which collector_start() copies.
 */
struct collector_options {
	unsigned hz; /* CPU samples a second on each CPU; 0: none */
	/* One in this many waits of threads is sampled; 0: none. */
	unsigned off_cpu;
	/*
	 * Length of an interval; INT64_MAX: no limit. An interval ends earlier
	 * if `memory` is used up, and at collector_stop().
	 */
	int64_t interval_ms;
	/*
	 * bytes for the samples of the windows (sample_window.h) that were not
	 * handed over yet
	 */
	size_t memory;
	/*
	 * Value of the label `node`, never NULL. It has no effect if `labels`
	 * is set.
	 */
	const char *node;
	const struct relabel_rules *rules;  /* may be NULL */
	struct container_names *containers; /* may be NULL */
	unsigned sample_labels;             /* a set of enum sample_labels */
	/*
	 * Take samples only of this process and of its descendants that are
	 * forked after collector_start(); 0: of all processes.
	 */
	uint32_t pid;
	/*
	 * NULL: each series has labels of its own. Otherwise, all samples
	 * belong to one series with these labels, and there are no heartbeats.
	 */
	struct labels *labels;
	/*
	 * Command of the helper that calls collector_help(): a program and its
	 * arguments, ending with NULL.
	 */
	char *const *helper_argv;
	/*
	 * As `helper_argv`, but the program calls collector_help_processes().
	 */
	char *const *process_argv;
	/*
	 * Directory with separate debug files, by build ID or by the path of
	 * the program (debug_file.h); NULL or empty: none.
	 */
	const char *debug_dir;
	const struct log *log; /* may be NULL */
	/* fill in `runs`, `run_ns` and `map_bytes` of the statistics */
	bool measure;
	profile_sink *sink;
	void *ctx;
};

/*
 * Counters of samples by outcome and of other events, since the start. The
 * members `processes`, `files`, `series` and `table_entries` are not counters,
 * but say how many there are now.
 */
struct collector_stats {
	int64_t sampling; /* 1: samples are taken; 0: not yet */
	/*
	 * Why sampling could not begin when it was due; code 0: nothing is
	 * wrong. The collector tries again from time to time.
	 */
	struct err failure;
	int64_t ends
		/* CPU samples by the reason why the stack ends */
		[SAMPLE_ENDS];
	int64_t dropped; /* CPU samples of processes that rules drop */
	/*
	 * records that the BPF programs did not send, because the ring buffer,
	 * or the map of sampled waits, was full
	 */
	int64_t ring_full;
	/*
	 * samples lost, because `memory` (struct collector_options) was used
	 * up, or because too many threads waited (waiting_threads.h)
	 */
	int64_t memory_full;
	int64_t groups_full; /* samples lost: there are too many series */
	/*
	 * sampled waits that have ended and were neither lost nor dropped by
	 * rules
	 */
	int64_t off_cpu;
	/*
	 * CPU time in the intervals that were handed over, in ns. `sampled_ns`
	 * is the time that the samples stand for, even if they were dropped or
	 * lost, `busy_ns` the time by the kernel's own account, and `stolen_ns`
	 * the time that a hypervisor took.
	 */
	int64_t sampled_ns;
	int64_t busy_ns;
	int64_t stolen_ns;
	int64_t profiles; /* stored by the sink, heartbeats included */
	/* not stored: refused by the sink, too large, or given up at the end */
	int64_t profiles_failed;
	/* reports (side_band.h) lost, because their buffer was full */
	int64_t reports_lost;
	int64_t processes;
	int64_t files;
	int64_t series;
	int64_t table_entries; /* entries of unwind tables in the kernel */
	int64_t tables_evicted;
	int64_t tables_crowded_out;
	int64_t processes_refused; /* there are too many */
	int64_t processes_evicted; /* forgotten until their next sample */
	int64_t files_refused;     /* there are too many */
	/*
	 * attempts to store or publish mappings (process_table.h) that found no
	 * room
	 */
	int64_t publications_refused;
	/*
	 * Costs of the BPF program for CPU samples, and memory of all BPF maps.
	 * collector_stop() fills them in if the option `measure` is set.
	 */
	int64_t runs;
	int64_t run_ns;
	int64_t map_bytes;
};

struct collector;

/*
 * Start to collect. Sampling begins once the files of the running programs have
 * been read, but at the latest 10 s later; `sampling` and `failure` in the
 * statistics say whether sampling has begun. ERR_UNSUPPORTED: the kernel cannot
 * or must not be sampled, this process is in a PID namespace of its own, or
 * /proc is not mounted. ERR_DENIED: the kernel refuses a call, mostly because a
 * capability is missing. The message says what is needed. Other errors as
 * sampler_open(), sampler_measure(), side_band_open() and err_sys().
 */
NODISCARD int collector_start(const struct collector_options *o,
			      struct collector **out, struct err *err);

/*
 * Stop, hand the last profiles over, store the last statistics in *out, unless
 * `out` is NULL, and free everything. If `c` is NULL, do nothing.
 */
void collector_stop(struct collector *c, struct collector_stats *out);

/* Read the statistics, which the collector updates about once a second. */
void collector_stats_of(struct collector *c, struct collector_stats *out);

/*
 * Run as the process that reads untrusted files for a collector. Standard input
 * is the socket to the collector. Returns the status for exit().
 */
int collector_help(void);

/*
 * Run as the process that reads what /proc tells of other processes, and opens
 * their files, for a collector. Standard input and the status are as for
 * collector_help().
 */
int collector_help_processes(void);

#endif
