/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of discoveries: the keys <name>_sd_configs of a job or of
 * the section ebpf.
 *
 * Ownership: entries and their text are in the arena of the struct yaml that
 * they were decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_DISCOVERY_CONFIG_H
#define DISCOVERY_DISCOVERY_CONFIG_H

#include "base/yaml.h"

struct discovery_config;

/* All discoveries of one job, or of the section ebpf. */
struct discovery_configs {
	struct discovery_config **v;
	size_t count;
};

/*
 * Decode a key that ends in _sd_configs, and append its entries to `out`.
 * Returns false if the key does not end in _sd_configs. Errors, such as a
 * service discovery that does not exist, are reported to `y`.
 */
bool discovery_configs_decode(struct yaml *y, const struct yaml_node *key,
			      const struct yaml_node *value,
			      struct discovery_configs *out);

/*
 * Decode a key as discovery_configs_decode() does, but for discoveries that
 * find containers: a kind or an entry that finds no containers is an error.
 */
bool discovery_containers_decode(struct yaml *y, const struct yaml_node *key,
				 const struct yaml_node *value,
				 struct discovery_configs *out);

/*
 * Return provider_kind.container_label of kind number `i`, where only the kinds
 * that find containers are numbered, from 0. NULL: there are at most `i` such
 * kinds.
 */
const char *discovery_container_label(size_t i);

/*
 * Read the files that entries name, and call tell() with the mistakes in these
 * files; for `everprof check config`.
 */
void discovery_configs_examine(const struct discovery_configs *c,
			       void (*tell)(void *ctx, const char *text),
			       void *ctx);

#endif
