/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of discoveries: file_sd_configs and http_sd_configs, with
 * Prometheus' keys.
 *
 * Ownership: all text is borrowed from the struct yaml that it was decoded
 * from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_DISCOVERY_CONFIG_H
#define DISCOVERY_DISCOVERY_CONFIG_H

#include "base/yaml.h"
#include "client/http_options.h"

/*
 * The kinds of discovery. The values are indexes into the table of kinds in
 * manager.c.
 */
enum discovery_kind {
	DISCOVERY_FILE,
	DISCOVERY_HTTP
};

/* One entry of file_sd_configs or of http_sd_configs. */
struct discovery_config {
	enum discovery_kind kind;
	int64_t refresh_ms;
	struct str *files; /* patterns of paths, for DISCOVERY_FILE */
	size_t file_count;
	struct str url; /* URL to request, for DISCOVERY_HTTP */
	/* options of the requests, for DISCOVERY_HTTP */
	struct http_options http;
	/*
	 * The whole entry as text. Entries with equal keys share one provider
	 * (a running discovery).
	 */
	struct str key;
};

/* All discoveries of one job. */
struct discovery_configs {
	struct discovery_config *v;
	size_t count;
};

/*
 * Decodes the list file_sd_configs and appends its entries to the struct
 * discovery_configs at `field`. Errors are reported to `y`.
 */
void file_sd_decode(struct yaml *y, const struct yaml_node *n, void *field);

/*
 * Decodes the list http_sd_configs and appends its entries to the struct
 * discovery_configs at `field`. Errors are reported to `y`.
 */
void http_sd_decode(struct yaml *y, const struct yaml_node *n, void *field);

#endif
