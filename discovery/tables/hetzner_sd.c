/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hetzner_sd_configs: servers of Hetzner's cloud (role hcloud) and dedicated
 * servers (role robot).
 *
 * Sources: docs.hetzner.cloud, "Servers" and "Networks";
 * robot.hetzner.com/doc/webservice, "Server".
 */
#include "base/url.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_hetzner_" name

/* An entry of hetzner_sd_configs. */
struct hetzner_config {
	struct rest_config rest;
	struct str label_selector;
};

/* The steps of role hcloud. */
enum {
	HCLOUD_NETWORKS,
	HCLOUD_SERVERS
};

static const struct field_row hcloud_labels[] = {
	{ META("server_id"), "id", FIELD_TEXT },
	{ META("server_name"), "name", FIELD_TEXT },
	{ META("server_status"), "status", FIELD_TEXT },
	{ META("datacenter"), "datacenter.name", FIELD_TEXT },
	{ META("hcloud_location"), "location.name", FIELD_TEXT },
	{ META("hcloud_location_network_zone"), "location.network_zone",
	  FIELD_TEXT },
	{ META("hcloud_server_type"), "server_type.name", FIELD_TEXT },
	{ META("hcloud_cpu_cores"), "server_type.cores", FIELD_INT },
	{ META("hcloud_cpu_type"), "server_type.cpu_type", FIELD_TEXT },
	{ META("hcloud_memory_size_gb"), "server_type.memory", FIELD_INT },
	{ META("hcloud_disk_size_gb"), "server_type.disk", FIELD_INT },
	{ META("hcloud_image_name"), "image.name", FIELD_TEXT },
	{ META("hcloud_image_description"), "image.description", FIELD_TEXT },
	{ META("hcloud_image_os_version"), "image.os_version", FIELD_TEXT },
	{ META("hcloud_image_os_flavor"), "image.os_flavor", FIELD_TEXT },
	{ META("hcloud_label_"), "labels", FIELD_MAP },
	{ META("hcloud_labelpresent_"), "labels", FIELD_PRESENT },
	{ 0 },
};

/*
 * The labels for the location of a server. The location is the member
 * `location` of the server. If an answer has no such member, as with older
 * versions of the API, the location is `datacenter.location`.
 */
static const struct field_row hcloud_location[] = {
	{ META("hcloud_datacenter_location"), "name", FIELD_TEXT },
	{ META("hcloud_datacenter_location_network_zone"), "network_zone",
	  FIELD_TEXT },
	{ 0 },
};

/*
 * Return the public address of a server at `path`. Without such an address,
 * return "<nil>", as Prometheus writes, because relabelling rules can look for
 * this text.
 */
static struct str public_address(const struct yaml_node *server,
				 const char *path)
{
	struct str address = doc_text(server, path);

	return address.len ? address : str_of("<nil>");
}

static void map_hcloud(struct rest_run *r, const struct yaml_node *server)
{
	struct str v4 = public_address(server, "public_net.ipv4.ip");
	const struct yaml_node *nets = doc_find(server, "private_net");
	const struct yaml_node *location = doc_find(server, "location");

	if (!location)
		location = doc_find(server, "datacenter.location");
	group_target(&r->b);
	group_address(&r->b, v4, r->config->port);
	group_label(&r->b, META("role"), str_of("hcloud"));
	group_label(&r->b, META("public_ipv4"), v4);
	group_label(&r->b, META("public_ipv6_network"),
		    public_address(server, "public_net.ipv6.ip"));
	field_rows_add(&r->b, hcloud_labels, server, r->config->separator);
	field_rows_add(&r->b, hcloud_location, location, r->config->separator);
	for (size_t i = 0; i < doc_count(nets); i++) {
		const struct yaml_node *net = doc_item(nets, i);
		const struct yaml_node *known = rest_lookup(
			r, HCLOUD_NETWORKS, doc_text(net, "network"));

		if (known)
			group_label_of(&r->b, META("hcloud_private_ipv4_"),
				       doc_text(known, "name"),
				       doc_text(net, "ip"));
	}
}

static bool hcloud_write_url(struct rest_run *r, size_t i, struct buf *out)
{
	const struct hetzner_config *c =
		(const struct hetzner_config *)r->config;

	buf_str(out, "/servers?per_page=50");
	if (c->label_selector.len)
		url_add_param(out, "label_selector", c->label_selector);
	return i == 0;
}

static const struct rest_step hcloud_steps[] = {
	[HCLOUD_NETWORKS] = { .path = "/networks?per_page=50",
			      .items = "networks",
			      .paging = REST_NEXT_NUMBER,
			      .next = "meta.pagination.next_page",
			      .page_param = "page",
			      .index = "id" },
	[HCLOUD_SERVERS] = { .url = hcloud_write_url,
			     .items = "servers",
			     .paging = REST_NEXT_NUMBER,
			     .next = "meta.pagination.next_page",
			     .page_param = "page" },
	{ 0 },
};

static const struct rest_table hcloud = {
	.role = "hcloud",
	.steps = hcloud_steps,
	.map = map_hcloud,
};

static const struct field_row robot_labels[] = {
	{ META("server_id"), "server.server_number", FIELD_TEXT },
	{ META("server_name"), "server.server_name", FIELD_TEXT },
	{ META("server_status"), "server.status", FIELD_TEXT },
	{ META("datacenter"), "server.dc", FIELD_LOWER },
	{ META("robot_datacenter"), "server.dc", FIELD_LOWER },
	{ META("public_ipv4"), "server.server_ip", FIELD_TEXT },
	{ META("robot_product"), "server.product", FIELD_TEXT },
	{ META("robot_cancelled"), "server.cancelled", FIELD_BOOL },
	{ 0 },
};

static void map_robot(struct rest_run *r, const struct yaml_node *item)
{
	const struct yaml_node *nets = doc_find(item, "server.subnet");
	struct buf text = { 0 };

	group_target(&r->b);
	group_address(&r->b, doc_text(item, "server.server_ip"),
		      r->config->port);
	group_label(&r->b, META("role"), str_of("robot"));
	field_rows_add(&r->b, robot_labels, item, r->config->separator);
	for (size_t i = 0; i < doc_count(nets) && !text.len; i++) {
		struct str ip = doc_text(doc_item(nets, i), "ip");

		if (memchr(ip.ptr, ':', ip.len))
			buf_printf(
				&text, "%.*s/%.*s", STR_ARG(ip),
				STR_ARG(doc_text(doc_item(nets, i), "mask")));
	}
	group_label(&r->b, META("public_ipv6_network"),
		    str_from(buf_bytes(&text)));
	buf_fini(&text);
}

static const struct rest_step robot_steps[] = {
	{ .path = "/server", .items = "" },
	{ 0 },
};

static const struct rest_table robot = {
	.role = "robot",
	.steps = robot_steps,
	.map = map_robot,
};

static void hetzner_init(struct discovery_config *base)
{
	struct hetzner_config *c = (struct hetzner_config *)base;

	rest_init(base);
	c->label_selector = str_of("");
}

/*
 * Check an entry. If the entry has no `endpoint`, set the default base URL of
 * its role.
 */
static void hetzner_check(struct yaml *y, const struct yaml_node *entry,
			  struct discovery_config *base)
{
	struct rest_config *c = (struct rest_config *)base;

	if (!c->server.len)
		c->server = str_of(c->table == &robot ?
					   "https://robot-ws.your-server.de" :
					   "https://api.hetzner.cloud/v1");
	rest_check(y, entry, base);
}

static const struct yaml_field hetzner_fields[] = {
	REST_FIELDS,
	{ "role", rest_decode_role, 0, NULL },
	{ "label_selector", yaml_text,
	  offsetof(struct hetzner_config, label_selector), NULL },
	{ "endpoint", http_decode_url, offsetof(struct rest_config, server),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_hetzner = {
	.name = "hetzner",
	.refresh_ms = 60000,
	.config_size = sizeof(struct hetzner_config),
	.fields = hetzner_fields,
	.init = hetzner_init,
	.check = hetzner_check,
	.rest = (const struct rest_table *const[]){ &robot, &hcloud, NULL },
	REST_FUNCTIONS,
};
