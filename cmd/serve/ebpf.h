/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The eBPF collector, as commands start and stop it. In a build without eBPF
 * (-DWITH_BPF=OFF), starting it is an error that says so. Commands call module
 * bpf through this file alone, because such a build does not have the module.
 *
 * Ownership: as bpf/collect/collector.h.
 * Threads: as bpf/collect/collector.h.
 */
#ifndef CMD_SERVE_EBPF_H
#define CMD_SERVE_EBPF_H

#include "bpf/collect/collector.h"
#include "discovery/core/target_group.h"

/*
 * The command that makes this program the file helper of a collector. It is not
 * in the list of commands, because nobody calls it.
 */
#define EBPF_HELPER "ebpf-file-helper"

/*
 * The command that makes this program the process reader of a collector
 * (bpf/process/process_reader.h).
 */
#define EBPF_PROCESS_HELPER "ebpf-process-helper"

/* As collector_start(), with this program as the helpers. */
NODISCARD int ebpf_start(const struct collector_options *o,
			 struct collector **out, struct err *err);

/* As collector_stop(). */
void ebpf_stop(struct collector *c, struct collector_stats *out);

/* As collector_stats_of(). */
void ebpf_stats(struct collector *c, struct collector_stats *out);

/* How much of their stacks samples have. */
struct ebpf_shares {
	int64_t samples;
	double whole;      /* percentage with the whole stack */
	double by_pointer; /* percentage of SAMPLE_BY_POINTER */
	double starting;   /* percentage of SAMPLE_STARTING */
};

/* Return the shares of all samples of a collector. */
struct ebpf_shares ebpf_shares(const struct collector_stats *s);

/* As collector_help(). */
int ebpf_help(void);

/* As collector_help_processes(). */
int ebpf_help_processes(void);

/* As container_names_new(); NULL in a build without eBPF. */
struct container_names *ebpf_containers_new(void);

/* As container_names_free(). */
void ebpf_containers_free(struct container_names *n);

/*
 * Replace all names by those of the containers among targets, and count these
 * containers. ERR_LIMIT: some containers are missing, because there are too many.
 */
int ebpf_containers_set(struct container_names *n,
			const struct target_groups_list *groups, size_t *count,
			struct err *err);

#endif
