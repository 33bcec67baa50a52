/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_sd_configs: containers of a Docker daemon, or of Podman's service that
 * has the same API.
 *
 * Source: docs.docker.com/reference/api/engine, "List containers", "List
 * networks".
 */
#include <stdlib.h>

#include "discovery/core/kinds.h"
#include "discovery/docker/docker_api.h"

#define META(name)     "__meta_docker_" name
#define DOCKER_BORROWS 16 /* longest chain of containers that share networks */

enum {
	DOCKER_CONTAINERS = DOCKER_FIRST_STEP
};

static const struct field_row container_labels[] = {
	{ META("container_id"), "Id", FIELD_TEXT },
	{ META("container_name"), "Names[0]", FIELD_TEXT },
	{ META("container_network_mode"), "HostConfig.NetworkMode",
	  FIELD_TEXT },
	{ META("container_image"), "Image", FIELD_TEXT },
	{ META("container_image_id"), "ImageID", FIELD_TEXT },
	{ META("container_label_"), "Labels", FIELD_MAP },
	{ 0 },
};

static const struct field_row docker_network_labels[] = {
	{ META("network_id"), "Id", FIELD_TEXT },
	{ META("network_name"), "Name", FIELD_TEXT },
	{ META("network_scope"), "Scope", FIELD_TEXT },
	{ META("network_internal"), "Internal", FIELD_BOOL },
	{ META("network_ingress"), "Ingress", FIELD_BOOL },
	{ META("network_label_"), "Labels", FIELD_MAP },
	{ 0 },
};

static const struct docker_config *docker_config_of(const struct rest_run *r)
{
	return (const struct docker_config *)r->config;
}

/* Return the address of a container in a network. */
static struct str endpoint_ip(const struct yaml_node *endpoint)
{
	struct str v4 = doc_text(endpoint, "IPAddress");

	return v4.len ? v4 : doc_text(endpoint, "GlobalIPv6Address");
}

/*
 * Begin a target of a container in a network, with all labels except
 * __address__ and those of a port.
 */
static void begin_target(struct rest_run *r, const struct yaml_node *container,
			 const struct yaml_node *endpoint)
{
	group_target(&r->b);
	field_rows_add(&r->b, container_labels, container, str_of(","));
	group_label(&r->b, META("network_ip"), endpoint_ip(endpoint));
	docker_add_network(r, docker_network_labels,
			   doc_text(endpoint, "NetworkID"));
}

/*
 * Add a target for a port, if its protocol is TCP. Returns whether a target was
 * added.
 */
static bool docker_add_port(struct rest_run *r,
			    const struct yaml_node *container,
			    const struct yaml_node *endpoint,
			    const struct yaml_node *port)
{
	int64_t public_port = doc_int(port, "PublicPort", 0);

	if (!str_is(doc_text(port, "Type"), "tcp"))
		return false;
	begin_target(r, container, endpoint);
	group_address(&r->b, endpoint_ip(endpoint),
		      doc_int(port, "PrivatePort", 0));
	group_label_int(&r->b, META("port_private"),
			doc_int(port, "PrivatePort", 0));
	if (public_port > 0) {
		group_label_int(&r->b, META("port_public"), public_port);
		group_label(&r->b, META("port_public_ip"),
			    doc_text(port, "IP"));
	}
	return true;
}

/*
 * Add the targets of a container in one network: one for each TCP port, or one
 * without the labels of a port if there is no TCP port.
 */
static void add_endpoint(struct rest_run *r, const struct yaml_node *container,
			 const struct yaml_node *endpoint)
{
	const struct docker_config *c = docker_config_of(r);
	const struct yaml_node *ports = doc_find(container, "Ports");
	bool found = false;

	for (size_t i = 0; i < doc_count(ports) && !group_is_over(&r->b); i++)
		found |= docker_add_port(r, container, endpoint,
					 doc_item(ports, i));
	if (found)
		return;
	begin_target(r, container, endpoint);
	if (str_is(doc_text(container, "HostConfig.NetworkMode"), "host"))
		group_address(&r->b, c->host_networking_host, -1);
	else
		group_address(&r->b, endpoint_ip(endpoint), c->rest.port);
}

/*
 * Return the networks of a container, or of the container whose networks it
 * shares; NULL: none.
 */
static const struct yaml_node *networks_of(struct rest_run *r,
					   const struct yaml_node *container)
{
	static const char prefix[] = "container:";

	for (int i = 0; container && i < DOCKER_BORROWS; i++) {
		const struct yaml_node *networks =
			doc_find(container, "NetworkSettings.Networks");
		struct str mode = doc_text(container, "HostConfig.NetworkMode");

		if (doc_keys(networks))
			return networks;
		if (!str_starts(mode, str_of(prefix)))
			return NULL;
		mode.ptr += sizeof(prefix) - 1;
		mode.len -= sizeof(prefix) - 1;
		container = rest_lookup(r, DOCKER_CONTAINERS, mode);
	}
	return NULL;
}

/* Return the network whose name sorts first, or NULL. */
static const struct yaml_node *first_network(const struct yaml_node *networks)
{
	const struct yaml_node *first = NULL;
	struct str first_name = { 0 };

	for (size_t i = 0; i < doc_keys(networks); i++) {
		const struct yaml_node *value;
		struct str name = doc_key(networks, i, &value);

		if (yaml_is_null(value) ||
		    (first && str_cmp(name, first_name) > 0))
			continue;
		first = value;
		first_name = name;
	}
	return first;
}

static void map_container(struct rest_run *r, const struct yaml_node *container)
{
	const struct yaml_node *networks = networks_of(r, container);
	const struct yaml_node *endpoint = first_network(networks);

	if (!endpoint || !doc_count(doc_find(container, "Names")))
		return;
	if (docker_config_of(r)->match_first_network) {
		add_endpoint(r, container, endpoint);
		return;
	}
	for (size_t i = 0; i < doc_keys(networks) && !group_is_over(&r->b);
	     i++) {
		(void)doc_key(networks, i, &endpoint);
		if (!yaml_is_null(endpoint))
			add_endpoint(r, container, endpoint);
	}
}

/*
 * Make the targets when all containers are known, because containers can refer
 * to each other.
 */
static int docker_finish(struct rest_run *r, struct err *err UNUSED)
{
	size_t count = rest_count(r, DOCKER_CONTAINERS);

	for (size_t i = 0; i < count && !group_is_over(&r->b); i++)
		map_container(r, rest_item(r, DOCKER_CONTAINERS, i));
	return 0;
}

static bool docker_write_containers_url(struct rest_run *r, size_t i,
					struct buf *out)
{
	docker_write_url(r, "/containers/json", true, out);
	return i == 0;
}

static const struct rest_step docker_steps[] = {
	DOCKER_STEPS,
	[DOCKER_CONTAINERS] = { .url = docker_write_containers_url,
				.items = "",
				.index = "Id" },
	{ 0 },
};

static const struct rest_table docker_table = {
	.steps = docker_steps,
	.finish = docker_finish,
};

static const struct yaml_field docker_fields[] = {
	DOCKER_FIELDS,
	{ "host_networking_host", yaml_text,
	  offsetof(struct docker_config, host_networking_host), NULL },
	{ "match_first_network", yaml_bool,
	  offsetof(struct docker_config, match_first_network), NULL },
	{ 0 },
};

const struct provider_kind provider_docker = {
	.name = "docker",
	.container_label = "__meta_docker_container_id",
	.refresh_ms = 60000,
	.config_size = sizeof(struct docker_config),
	.fields = docker_fields,
	.init = docker_init,
	.check = docker_check,
	.rest = (const struct rest_table *const[]){ &docker_table, NULL },
	REST_FUNCTIONS,
};
