/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of file discovery.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_FILE_FILE_CONFIG_H
#define DISCOVERY_FILE_FILE_CONFIG_H

#include "discovery/core/provider.h"

/* An entry of file_sd_configs. */
struct file_config {
	struct discovery_config base;
	struct str *files; /* patterns of the paths of files, see glob(7) */
	size_t file_count;
};

/* The keys of an entry. */
extern const struct yaml_field file_config_fields[];

/* Report an entry without files. */
void file_config_check(struct yaml *y, const struct yaml_node *entry,
		       struct discovery_config *base);

#endif
