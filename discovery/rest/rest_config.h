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
 * An entry of a kind of discovery that asks an HTTP API. Kinds with further
 * keys have a struct whose first member is this struct.
 */
struct rest_config {
	struct discovery_config base;
	struct str server;    /* base URL, without a slash at the end */
	struct str socket;    /* path of a Unix socket; empty: none */
	int64_t port;         /* port of targets */
	struct str separator; /* tag_separator */
	const struct rest_table *table; /* the role; NULL: not set */
};

/* Rows of a table of fields, for keys that most REST discoveries have. */
#define REST_FIELDS                                                        \
	DISCOVERY_HTTP_FIELDS,                                             \
	{                                                                  \
		"port", yaml_int, offsetof(struct rest_config, port), NULL \
	}

/* Set the defaults of a struct rest_config. */
void rest_init(struct discovery_config *base);

/* Decode the key `role`: the name of one of the tables of the kind. */
void rest_decode_role(struct yaml *y, const struct yaml_node *n, void *config);

/*
 * Report an error if an entry configures authentication, for a kind that gets
 * its credentials in another way.
 */
void rest_refuse_auth(struct yaml *y, const struct yaml_node *entry,
		      const struct discovery_config *base);

/* Check the port and the role of an entry. */
void rest_check(struct yaml *y, const struct yaml_node *entry,
		struct discovery_config *base);

#endif
