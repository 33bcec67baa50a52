/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration says about discoveries: file_sd_configs and
 * http_sd_configs, as Prometheus has them.
 *
 * Ownership: all text is borrowed from the struct yaml it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_DISCOVERY_CONFIG_H
#define DISCOVERY_DISCOVERY_CONFIG_H

#include "base/yaml.h"
#include "client/http_options.h"

enum discovery_kind {
	DISCOVERY_FILE,
	DISCOVERY_HTTP
};

struct discovery_config {
	enum discovery_kind kind;
	int64_t refresh_ms;
	struct str *files; /* absolute, or from the working directory */
	size_t file_count;
	struct str url;
	struct http_options http;
	struct str key; /* all of it as text: the same text is the same */
};

struct discovery_configs {
	struct discovery_config *v;
	size_t count;
};

/* Add the entries of a list to the struct discovery_configs at field. */
void file_sd_decode(struct yaml *y, const struct yaml_node *n, void *field);
void http_sd_decode(struct yaml *y, const struct yaml_node *n, void *field);

#endif
