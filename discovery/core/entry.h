/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes entries of <name>_sd_configs, and makes copies that outlive the
 * configuration file's document.
 *
 * Ownership: the result of discovery_entry_decode() is in the arena of `y`; a
 * struct owned_entry has a struct yaml of its own.
 * Threads: one thread at a time; immutable once decoded.
 */
#ifndef DISCOVERY_CORE_ENTRY_H
#define DISCOVERY_CORE_ENTRY_H

#include "base/yaml.h"
#include "discovery/core/provider.h"

/* A copy of an entry, with a document of its own. */
struct owned_entry {
	struct yaml y;
	char *file;
	struct discovery_config *config;
};

/* Decode `entry`, an entry of the kind `kind`. Mistakes are reported to `y`. */
struct discovery_config *
discovery_entry_decode(struct yaml *y, const struct yaml_node *entry,
		       const struct provider_kind *kind);

/*
 * Return a copy of the entry `c`, which must have been decoded without
 * mistakes; the caller owns the copy.
 */
struct owned_entry *discovery_entry_copy(const struct discovery_config *c);

/* Free a copy. NULL is a no-op. */
void discovery_entry_free(struct owned_entry *e);

#endif
