/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of Consul discovery.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * consul_sd_config.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_CONSUL_CONSUL_CONFIG_H
#define DISCOVERY_CONSUL_CONSUL_CONFIG_H

#include "discovery/core/provider.h"
#include "discovery/core/text_list.h"

/* An entry of consul_sd_configs. */
struct consul_config {
	struct discovery_config base;
	struct str server;
	struct str scheme;
	struct str path_prefix;
	struct str token;
	struct str datacenter;
	struct str namespace;
	struct str partition;
	struct str username;
	struct str password;
	struct str tag_separator;
	struct str filter;
	struct str health_filter;
	bool allow_stale;
	struct text_list services;
	struct text_list tags;
	struct text_list node_meta; /* "key:value" */
	/* The members below are derived from server, scheme and path_prefix. */
	struct str url;    /* base URL */
	struct str socket; /* path of a Unix socket; empty: none */
};

/* The keys of an entry. */
extern const struct yaml_field consul_config_fields[];

/* Set the defaults. */
void consul_config_init(struct discovery_config *base);

/*
 * Check an entry, take what it lacks from the environment, and set the members
 * that are derived from its keys.
 */
void consul_config_check(struct yaml *y, const struct yaml_node *entry,
			 struct discovery_config *base);

/*
 * Return whether the entry `c` selects the service `service` of the catalog,
 * whose tags are `tags`.
 */
bool consul_config_wants(const struct consul_config *c, struct str service,
			 const struct yaml_node *tags);

#endif
