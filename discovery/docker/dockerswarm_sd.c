/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerswarm_sd_configs: services, tasks or nodes of a Docker Swarm.
 *
 * Source: docs.docker.com/reference/api/engine, "Services", "Tasks", "Nodes",
 * "Networks".
 */
#include <arpa/inet.h>

#include "discovery/core/kinds.h"
#include "discovery/docker/docker_api.h"

enum {
	/* Names and addresses in messages are cut off after this many bytes. */
	SHOWN_MAX = 64,
};

#define META(name) "__meta_dockerswarm_" name

/*
 * The steps that the role "tasks" has after DOCKER_STEPS. Of these steps, the
 * role "services" has only SWARM_SERVICES.
 */
enum {
	SWARM_SERVICES = DOCKER_FIRST_STEP,
	SWARM_NODES,
	SWARM_TASKS
};

static const struct field_row service_labels[] = {
	{ META("service_id"), "ID", FIELD_TEXT },
	{ META("service_name"), "Spec.Name", FIELD_TEXT },
	{ META("service_label_"), "Spec.Labels", FIELD_MAP },
	{ 0 },
};

/* Labels of services that only the role "services" adds. */
static const struct field_row service_only_labels[] = {
	{ META("service_task_container_hostname"),
	  "Spec.TaskTemplate.ContainerSpec.Hostname", FIELD_TEXT },
	{ META("service_task_container_image"),
	  "Spec.TaskTemplate.ContainerSpec.Image", FIELD_TEXT },
	{ META("service_updating_status"), "UpdateStatus.State", FIELD_TEXT },
	{ 0 },
};

static const struct field_row task_labels[] = {
	{ META("task_id"), "ID", FIELD_TEXT },
	{ META("task_desired_state"), "DesiredState", FIELD_TEXT },
	{ META("task_state"), "Status.State", FIELD_TEXT },
	{ META("task_slot"), "Slot", FIELD_INT },
	{ META("task_container_id"), "Status.ContainerStatus.ContainerID",
	  FIELD_TEXT },
	{ META("container_label_"), "Spec.ContainerSpec.Labels", FIELD_MAP },
	{ 0 },
};

static const struct field_row node_labels[] = {
	{ META("node_id"), "ID", FIELD_TEXT },
	{ META("node_role"), "Spec.Role", FIELD_TEXT },
	{ META("node_availability"), "Spec.Availability", FIELD_TEXT },
	{ META("node_hostname"), "Description.Hostname", FIELD_TEXT },
	{ META("node_platform_architecture"),
	  "Description.Platform.Architecture", FIELD_TEXT },
	{ META("node_platform_os"), "Description.Platform.OS", FIELD_TEXT },
	{ META("node_status"), "Status.State", FIELD_TEXT },
	{ META("node_address"), "Status.Addr", FIELD_TEXT },
	{ META("node_label_"), "Spec.Labels", FIELD_MAP },
	{ 0 },
};

static const struct field_row manager_labels[] = {
	{ META("node_manager_leader"), "ManagerStatus.Leader", FIELD_BOOL },
	{ META("node_manager_reachability"), "ManagerStatus.Reachability",
	  FIELD_TEXT },
	{ META("node_manager_address"), "ManagerStatus.Addr", FIELD_TEXT },
	{ 0 },
};

static const struct field_row swarm_network_labels[] = {
	{ META("network_id"), "Id", FIELD_TEXT },
	{ META("network_name"), "Name", FIELD_TEXT },
	{ META("network_scope"), "Scope", FIELD_TEXT },
	{ META("network_internal"), "Internal", FIELD_BOOL },
	{ META("network_ingress"), "Ingress", FIELD_BOOL },
	{ META("network_label_"), "Labels", FIELD_MAP },
	{ 0 },
};

/*
 * Write the address in `text`, such as 10.0.0.7 in "10.0.0.7/24", to `out`, in
 * canonical form; `out` has INET6_ADDRSTRLEN bytes. Returns false if there is
 * no valid address before a slash.
 */
static bool read_cidr(struct str text, char *out)
{
	const char *slash = memchr(text.ptr, '/', text.len);
	size_t len = slash ? (size_t)(slash - text.ptr) : 0;
	uint8_t bytes[16];
	int family;

	if (!len || len >= INET6_ADDRSTRLEN)
		return false;
	memcpy(out, text.ptr, len);
	out[len] = 0;
	family = strchr(out, ':') ? AF_INET6 : AF_INET;
	return inet_pton(family, out, bytes) == 1 &&
	       inet_ntop(family, bytes, out, INET6_ADDRSTRLEN);
}

/*
 * Add the labels of a service that both the role "services" and the role
 * "tasks" have. If `service` is NULL, add no labels.
 */
static void add_service(struct rest_run *r, const struct yaml_node *service)
{
	const char *mode = "";

	if (!service)
		return;
	if (doc_find(service, "Spec.Mode.Global"))
		mode = "global";
	else if (doc_find(service, "Spec.Mode.Replicated"))
		mode = "replicated";
	field_rows_add(&r->b, service_labels, service, str_of(","));
	group_label(&r->b, META("service_mode"), str_of(mode));
}

/* Return whether a port's protocol is TCP. */
static bool is_tcp(const struct yaml_node *port)
{
	return str_is(doc_text(port, "Protocol"), "tcp");
}

/*
 * Add the target of a service at `address` and `port`; `port` NULL: the
 * configured port.
 */
static void add_service_target(struct rest_run *r,
			       const struct yaml_node *service,
			       struct str network, const char *address,
			       const struct yaml_node *port)
{
	group_target(&r->b);
	group_address(&r->b, str_of(address),
		      port ? doc_int(port, "PublishedPort", 0) :
			     r->config->port);
	if (port) {
		group_label(&r->b, META("service_endpoint_port_name"),
			    doc_text(port, "Name"));
		group_label(&r->b, META("service_endpoint_port_publish_mode"),
			    doc_text(port, "PublishMode"));
	}
	add_service(r, service);
	field_rows_add(&r->b, service_only_labels, service, str_of(","));
	docker_add_network(r, swarm_network_labels, network);
}

/* Add the targets of a service at one of its virtual addresses. */
static int map_virtual_ip(struct rest_run *r, const struct yaml_node *service,
			  const struct yaml_node *vip, struct err *err)
{
	const struct yaml_node *ports = doc_find(service, "Endpoint.Ports");
	struct str network = doc_text(vip, "NetworkID");
	char address[INET6_ADDRSTRLEN];
	bool found = false;

	if (!read_cidr(doc_text(vip, "Addr"), address))
		return err_set(
			err, ERR_INVALID,
			"the service %.*s has the virtual address \"%.*s\", which is not like 10.0.0.7/24; leave the service out with \"filters\"",
			STR_ARG(str_clip(doc_text(service, "Spec.Name"),
					 SHOWN_MAX)),
			STR_ARG(str_clip(doc_text(vip, "Addr"), SHOWN_MAX)));
	for (size_t i = 0; i < doc_count(ports) && !group_is_over(&r->b); i++) {
		const struct yaml_node *port = doc_item(ports, i);

		if (!is_tcp(port))
			continue;
		add_service_target(r, service, network, address, port);
		found = true;
	}
	if (!found)
		add_service_target(r, service, network, address, NULL);
	return 0;
}

static int services_finish(struct rest_run *r, struct err *err)
{
	size_t count = rest_count(r, SWARM_SERVICES);

	for (size_t i = 0; i < count && !group_is_over(&r->b); i++) {
		const struct yaml_node *service =
			rest_item(r, SWARM_SERVICES, i);
		const struct yaml_node *vips =
			doc_find(service, "Endpoint.VirtualIPs");

		for (size_t k = 0; k < doc_count(vips) && !group_is_over(&r->b);
		     k++) {
			int rc = map_virtual_ip(r, service, doc_item(vips, k),
						err);

			if (rc)
				return rc;
		}
	}
	return 0;
}

/*
 * Add the target of a task at `address` and `port`; NULL: the configured port.
 */
static void add_task_target(struct rest_run *r, const struct yaml_node *task,
			    struct str network, struct str address,
			    const struct yaml_node *port)
{
	group_target(&r->b);
	group_address(&r->b, address,
		      port ? doc_int(port, "PublishedPort", 0) :
			     r->config->port);
	if (port)
		group_label(&r->b, META("task_port_publish_mode"),
			    doc_text(port, "PublishMode"));
	field_rows_add(&r->b, task_labels, task, str_of(","));
	add_service(
		r, rest_lookup(r, SWARM_SERVICES, doc_text(task, "ServiceID")));
	field_rows_add(&r->b, node_labels,
		       rest_lookup(r, SWARM_NODES, doc_text(task, "NodeID")),
		       str_of(","));
	docker_add_network(r, swarm_network_labels, network);
}

/* Add a target for each TCP port that a task has published on its node. */
static void map_host_ports(struct rest_run *r, const struct yaml_node *task)
{
	const struct yaml_node *ports =
		doc_find(task, "Status.PortStatus.Ports");
	const struct yaml_node *node =
		rest_lookup(r, SWARM_NODES, doc_text(task, "NodeID"));

	for (size_t i = 0; i < doc_count(ports); i++) {
		if (is_tcp(doc_item(ports, i)))
			add_task_target(r, task, str_of(""),
					doc_text(node, "Status.Addr"),
					doc_item(ports, i));
	}
}

/* Add the targets of a task at one of its addresses in a network. */
static int map_task_address(struct rest_run *r, const struct yaml_node *task,
			    struct str network, struct str cidr,
			    struct err *err)
{
	const struct yaml_node *service =
		rest_lookup(r, SWARM_SERVICES, doc_text(task, "ServiceID"));
	const struct yaml_node *ports = doc_find(service, "Endpoint.Ports");
	char address[INET6_ADDRSTRLEN];
	bool found = false;

	if (!read_cidr(cidr, address))
		return err_set(
			err, ERR_INVALID,
			"the task %.*s has the address \"%.*s\", which is not like 10.0.0.7/24; leave the task out with \"filters\"",
			STR_ARG(str_clip(doc_text(task, "ID"), SHOWN_MAX)),
			STR_ARG(str_clip(cidr, SHOWN_MAX)));
	for (size_t i = 0; i < doc_count(ports) && !group_is_over(&r->b); i++) {
		if (!is_tcp(doc_item(ports, i)))
			continue;
		add_task_target(r, task, network, str_of(address),
				doc_item(ports, i));
		found = true;
	}
	if (!found)
		add_task_target(r, task, network, str_of(address), NULL);
	return 0;
}

/* Add the targets of a task in the networks that it is attached to. */
static int map_attachments(struct rest_run *r, const struct yaml_node *task,
			   struct err *err)
{
	const struct yaml_node *list = doc_find(task, "NetworksAttachments");

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *a = doc_item(list, i);
		const struct yaml_node *addresses = doc_find(a, "Addresses");

		for (size_t k = 0;
		     k < doc_count(addresses) && !group_is_over(&r->b); k++) {
			int rc = map_task_address(
				r, task, doc_text(a, "Network.ID"),
				doc_text(doc_item(addresses, k), ""), err);

			if (rc)
				return rc;
		}
	}
	return 0;
}

static int tasks_finish(struct rest_run *r, struct err *err)
{
	size_t count = rest_count(r, SWARM_TASKS);

	for (size_t i = 0; i < count && !group_is_over(&r->b); i++) {
		const struct yaml_node *task = rest_item(r, SWARM_TASKS, i);
		int rc;

		map_host_ports(r, task);
		rc = map_attachments(r, task, err);
		if (rc)
			return rc;
	}
	return 0;
}

static void map_node(struct rest_run *r, const struct yaml_node *node)
{
	group_target(&r->b);
	group_address(&r->b, doc_text(node, "Status.Addr"), r->config->port);
	field_rows_add(&r->b, node_labels, node, str_of(","));
	group_label(&r->b, META("node_engine_version"),
		    doc_text(node, "Description.Engine.EngineVersion"));
	if (doc_find(node, "ManagerStatus"))
		field_rows_add(&r->b, manager_labels, node, str_of(","));
}

/*
 * The functions below write the URLs of lists. The configured filters apply
 * only to the list of objects that become targets, not to the lists from which
 * these targets only get labels.
 */

static bool write_services_url(struct rest_run *r, size_t i, struct buf *out)
{
	bool is_role = str_is(str_of(r->config->table->role), "services");

	docker_write_url(r, "/services", is_role, out);
	return i == 0;
}

static bool write_nodes_url(struct rest_run *r, size_t i, struct buf *out)
{
	bool is_role = str_is(str_of(r->config->table->role), "nodes");

	docker_write_url(r, "/nodes", is_role, out);
	return i == 0;
}

static bool write_tasks_url(struct rest_run *r, size_t i, struct buf *out)
{
	docker_write_url(r, "/tasks", true, out);
	return i == 0;
}

static const struct rest_step services_steps[] = {
	DOCKER_STEPS,
	[SWARM_SERVICES] = { .url = write_services_url, .items = "" },
	{ 0 },
};

static const struct rest_step tasks_steps[] = {
	DOCKER_STEPS,
	[SWARM_SERVICES] = { .url = write_services_url,
			     .items = "",
			     .index = "ID" },
	[SWARM_NODES] = { .url = write_nodes_url, .items = "", .index = "ID" },
	[SWARM_TASKS] = { .url = write_tasks_url, .items = "" },
	{ 0 },
};

/* The role "nodes" has no labels of networks, so it lacks DOCKER_NETWORKS. */
static const struct rest_step nodes_steps[] = {
	[DOCKER_VERSION] = { .path = "/version", .items = "" },
	{ .url = write_nodes_url, .items = "" },
	{ 0 },
};

static const struct rest_table services_table = {
	.role = "services",
	.steps = services_steps,
	.finish = services_finish,
};

static const struct rest_table tasks_table = {
	.role = "tasks",
	.steps = tasks_steps,
	.finish = tasks_finish,
};

static const struct rest_table nodes_table = {
	.role = "nodes",
	.steps = nodes_steps,
	.map = map_node,
};

static const struct yaml_field dockerswarm_fields[] = {
	DOCKER_FIELDS,
	{ "role", rest_decode_role, 0, NULL },
	{ 0 },
};

const struct provider_kind provider_dockerswarm = {
	.name = "dockerswarm",
	.refresh_ms = 60000,
	.config_size = sizeof(struct docker_config),
	.fields = dockerswarm_fields,
	.init = docker_init,
	.check = docker_check,
	.rest = (const struct rest_table *const[]){ &services_table,
						    &tasks_table, &nodes_table,
						    NULL },
	REST_FUNCTIONS,
};
