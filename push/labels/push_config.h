/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section "push" of the configuration file (docs/configuration.md).
 *
 * Ownership: texts and rules are in the struct yaml; push_config_fini() frees
 * the regexes of the rules.
 * Threads: immutable once decoded, but for the rules, which one thread at a
 * time uses.
 */
#ifndef PUSH_LABELS_PUSH_CONFIG_H
#define PUSH_LABELS_PUSH_CONFIG_H

#include "model/relabel.h"

/* The section; { 0 } is a missing one. */
struct push_config {
	/* Whether the address of a client does not become the label instance. */
	bool without_instance;
	struct relabel_rules relabel;
	/*
	 * Names of resource attributes of OTLP that become labels of series, which
	 * may end with "*"; NULL: the default.
	 */
	struct str *resource_labels;
	size_t resource_label_count;
};

/* Largest number of names of resource attributes. */
#define PUSH_RESOURCE_LABELS_MAX 64

/* Decode the section into the struct push_config at `config`; a yaml_fn. */
void push_config_decode(struct yaml *y, const struct yaml_node *n,
			void *config);

/* Free the regexes of the rules. */
void push_config_fini(struct push_config *c);

#endif
