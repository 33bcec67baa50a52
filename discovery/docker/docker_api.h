/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What discoveries of Docker and Docker Swarm share: the address of the daemon,
 * filters, the version of the API, and the labels of networks.
 *
 * Source: docs.docker.com/reference/api/engine.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: the manager's loop; for the functions that decode and check an
 * entry, one thread per struct yaml.
 */
#ifndef DISCOVERY_DOCKER_DOCKER_API_H
#define DISCOVERY_DOCKER_DOCKER_API_H

#include "discovery/rest/rest_source.h"

/* An entry of docker_sd_configs or dockerswarm_sd_configs. */
struct docker_config {
	struct rest_config rest;
	struct str filters; /* the parameter `filters` as JSON; empty: none */
	struct str host_networking_host; /* only for Docker */
	bool match_first_network;        /* only for Docker */
};

/*
 * The numbers of the first steps in each table that begins with DOCKER_STEPS;
 * see struct rest_step.
 */
enum {
	DOCKER_VERSION,
	DOCKER_NETWORKS,
	DOCKER_FIRST_STEP /* the first step after these two */
};

/*
 * The steps DOCKER_VERSION and DOCKER_NETWORKS. The requests after
 * DOCKER_VERSION name the version of the API that the daemon has reported.
 */
#define DOCKER_STEPS                                            \
	[DOCKER_VERSION] = { .path = "/version", .items = "" }, \
	[DOCKER_NETWORKS] = { .url = docker_write_networks_url, \
			      .items = "",                      \
			      .index = "Id" }

/*
 * The rows of provider_kind.fields that docker_sd_configs and
 * dockerswarm_sd_configs share.
 */
#define DOCKER_FIELDS                                         \
	REST_FIELDS, { "host", docker_decode_host, 0, NULL }, \
	{                                                     \
		"filters", docker_decode_filters, 0, NULL     \
	}

/* Write the URL of the list of networks, for the step DOCKER_NETWORKS. */
bool docker_write_networks_url(struct rest_run *r, size_t i, struct buf *out);

/*
 * Append to `out` the version of the API, if the daemon has reported it, and
 * `path`; if `filtered`, also the configured filters.
 */
void docker_write_url(struct rest_run *r, const char *path, bool filtered,
		      struct buf *out);

/*
 * Add the labels in the table `labels` for the network with the ID `id`, if
 * DOCKER_NETWORKS has found this network.
 */
void docker_add_network(struct rest_run *r, const struct field_row *labels,
			struct str id);

/* Decode the key `host`, into a struct docker_config. */
void docker_decode_host(struct yaml *y, const struct yaml_node *n, void *field);

/* Decode the key `filters`, into a struct docker_config. */
void docker_decode_filters(struct yaml *y, const struct yaml_node *n,
			   void *field);

/* Set the defaults of a struct docker_config. */
void docker_init(struct discovery_config *base);

/* Check an entry; it needs the key `host`. */
void docker_check(struct yaml *y, const struct yaml_node *entry,
		  struct discovery_config *base);

#endif
