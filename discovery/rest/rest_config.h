/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of service discoveries that ask an HTTP API.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_REST_REST_CONFIG_H
#define DISCOVERY_REST_REST_CONFIG_H

#include "discovery/core/provider.h"

struct rest_table;

/*
 * An entry of <name>_sd_configs, for a kind of discovery that asks an HTTP API.
 * A kind with keys of its own has a struct that begins with this struct.
 */
struct rest_config {
	struct discovery_config base;
	struct str server;    /* base URL, without a slash at the end */
	struct str socket;    /* path of a Unix socket; empty: none */
	int64_t port;         /* port of targets */
	struct str separator; /* tag_separator */
	const struct rest_table *
		/*
		 * the table of the configured role, or the only table of a kind
		 * without roles; NULL: there is no valid `role`
		 */
		table;
};

/*
 * Rows of a table of struct yaml_field, for the keys that most discoveries with
 * an HTTP API have.
 */
#define REST_FIELDS                                                        \
	DISCOVERY_HTTP_FIELDS,                                             \
	{                                                                  \
		"port", yaml_int, offsetof(struct rest_config, port), NULL \
	}

/* Set the defaults of a struct rest_config. */
void rest_init(struct discovery_config *base);

/*
 * Decode the key `role`, and set rest_config.table to the kind's table for this
 * role. Reports an error if the kind has no such role.
 */
void rest_decode_role(struct yaml *y, const struct yaml_node *n, void *config);

/*
 * Report an error if an entry has HTTP options for authentication. Called by
 * kinds that get their credentials in another way.
 */
void rest_refuse_auth(struct yaml *y, const struct yaml_node *entry,
		      const struct discovery_config *base);

/*
 * Check the port and the role of an entry, and remove slashes at the end of its
 * base URL.
 */
void rest_check(struct yaml *y, const struct yaml_node *entry,
		struct discovery_config *base);

#endif
