/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section "ebpf" of the configuration file.
 *
 * Ownership: texts and rules are in the struct yaml; ebpf_config_fini() frees
 * the regexes of the rules.
 * Threads: immutable once decoded, but for the rules, which one thread uses.
 */
#ifndef CMD_SERVE_EBPF_CONFIG_H
#define CMD_SERVE_EBPF_CONFIG_H

#include "base/yaml.h"
#include "discovery/discovery_config.h"
#include "model/relabel.h"

/*
 * The job of the discoveries that name containers; jobs of the configuration
 * have names.
 */
#define EBPF_JOB ""

/* The section; { 0 } is a missing one. Members have the names of keys. */
struct ebpf_config {
	bool enabled;
	int64_t sampling_frequency; /* in Hz */
	int64_t interval_ms;
	int64_t off_cpu; /* one of this number of waits is sampled; 0: none */
	struct str node; /* empty: the name of this machine */
	struct relabel_rules relabel;
	unsigned sample_labels; /* a set of enum sample_labels */
	/* discoveries that name containers */
	struct discovery_configs containers;
	const struct yaml_node *section; /* NULL: there is none */
};

/* Decode the section into the struct ebpf_config at `config`; a yaml_fn. */
void ebpf_config_decode(struct yaml *y, const struct yaml_node *n,
			void *config);

/* Add the label of this name to a set of enum sample_labels. False: unknown. */
bool sample_label_add(struct str name, unsigned *set);

/* Free the regexes of the rules. */
void ebpf_config_fini(struct ebpf_config *c);

#endif
