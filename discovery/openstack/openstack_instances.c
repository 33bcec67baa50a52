/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/openstack/openstack_instances.h"

#include "base/hash.h"

#define META(name) "__meta_openstack_" name

static bool write_ports(struct rest_run *r, size_t i, struct buf *out)
{
	return i == 0 &&
	       keystone_write_url(r, "network", "/v2.0",
				  "/ports?fields=id&fields=device_id", out);
}

bool openstack_write_floating(struct rest_run *r, size_t i, struct buf *out)
{
	return i == 0 &&
	       keystone_write_url(r, "network", "/v2.0", "/floatingips", out);
}

static bool write_servers(struct rest_run *r, size_t i, struct buf *out)
{
	const struct openstack_config *c =
		(const struct openstack_config *)r->config;

	return i == 0 &&
	       keystone_write_url(r, "compute", "",
				  c->all_tenants ?
					  "/servers/detail?all_tenants=true" :
					  "/servers/detail",
				  out);
}

static int begin_instances(struct rest_run *r, struct err *err)
{
	int rc = keystone_need(r, "compute", err);

	return rc ? rc : keystone_need(r, "network", err);
}

/* The indexes of the steps in instance_steps. */
enum {
	STACK_PORTS,
	STACK_FLOATING,
	STACK_SERVERS
};

static const struct field_row server_labels[] = {
	{ META("instance_id"), "id", FIELD_TEXT },
	{ META("instance_status"), "status", FIELD_TEXT },
	{ META("instance_name"), "name", FIELD_TEXT },
	{ META("instance_image"), "image.id", FIELD_TEXT },
	{ META("project_id"), "tenant_id", FIELD_TEXT },
	{ META("user_id"), "user_id", FIELD_TEXT },
	{ META("tag_"), "metadata", FIELD_MAP },
	{ 0 },
};

/* A floating IP that leads to an address of a server. */
struct floating_ip {
	struct str server;  /* ID of the server */
	struct str address; /* the server's own address */
	struct str ip;
};

/* All floating IPs that lead to servers. */
struct floating_ips {
	VEC(struct floating_ip) list;
	struct table by_address; /* by server and address */
	struct table by_ip;
};

/* Comparison function of by_address. */
static bool same_address(const void *ctx, uint32_t number, const void *key)
{
	const struct floating_ips *f = ctx;
	const struct floating_ip *wanted = key;

	return str_eq(f->list.v[number].address, wanted->address) &&
	       str_eq(f->list.v[number].server, wanted->server);
}

/* Comparison function of by_ip. */
static bool same_ip(const void *ctx, uint32_t number, const void *key)
{
	const struct floating_ips *f = ctx;
	const struct floating_ip *wanted = key;

	return str_eq(f->list.v[number].ip, wanted->ip);
}

/* Return the hash of a server and an address. */
static uint64_t address_hash(const struct floating_ip *f)
{
	return hash_key(bytes_of(f->server)) ^ hash_key(bytes_of(f->address))
						       << 1;
}

/*
 * Return the floating IP that leads to `address` of the server with the ID
 * `server`; empty: none does.
 */
static struct str floating_of(const struct floating_ips *f, struct str server,
			      struct str address)
{
	const struct floating_ip key = { server, address, str_of("") };
	uint32_t n = table_find(&f->by_address, address_hash(&key),
				same_address, f, &key);

	return n == TABLE_NONE ? str_of("") : f->list.v[n].ip;
}

/* Return whether `ip` is a floating IP of any server. */
static bool is_floating(const struct floating_ips *f, struct str ip)
{
	const struct floating_ip key = { .ip = ip };

	return table_find(&f->by_ip, hash_key(bytes_of(ip)), same_ip, f,
			  &key) != TABLE_NONE;
}

/* Find the floating IPs that lead to servers. */
static void find_floating(struct rest_run *r, struct floating_ips *f)
{
	for (size_t i = 0; i < rest_count(r, STACK_FLOATING); i++) {
		const struct yaml_node *n = rest_item(r, STACK_FLOATING, i);
		struct str port = doc_text(n, "port_id");
		const struct floating_ip found = {
			.server = doc_text(rest_lookup(r, STACK_PORTS, port),
					   "device_id"),
			.address = doc_text(n, "fixed_ip_address"),
			.ip = doc_text(n, "floating_ip_address"),
		};

		if (!port.len || !found.server.len || !found.address.len ||
		    is_floating(f, found.ip))
			continue;
		*vec_add(&f->list) = found;
		if (!floating_of(f, found.server, found.address).len)
			table_add(&f->by_address, address_hash(&found),
				  (uint32_t)f->list.count - 1);
		table_add(&f->by_ip, hash_key(bytes_of(found.ip)),
			  (uint32_t)f->list.count - 1);
	}
}

/*
 * Make the target of one address of a server, unless the address is a floating
 * IP, or the server has no flavor.
 */
static void map_address(struct rest_run *r, const struct floating_ips *f,
			const struct yaml_node *server, struct str pool,
			struct str address)
{
	struct str flavor = doc_text(server, "flavor.original_name");
	struct str id = doc_text(server, "id");

	if (!flavor.len)
		flavor = doc_text(server, "flavor.id");
	if (!address.len || !flavor.len || is_floating(f, address))
		return;
	group_target(&r->b);
	group_address(&r->b, address, r->config->port);
	group_label(&r->b, META("address_pool"), pool);
	group_label(&r->b, META("private_ip"), address);
	group_label(&r->b, META("public_ip"), floating_of(f, id, address));
	group_label(&r->b, META("instance_flavor"), flavor);
	field_rows_add(&r->b, server_labels, server, r->config->separator);
}

static void map_server(struct rest_run *r, const struct floating_ips *f,
		       const struct yaml_node *server)
{
	const struct yaml_node *pools = doc_find(server, "addresses");

	for (size_t i = 0; i < doc_keys(pools); i++) {
		const struct yaml_node *list;
		struct str pool = doc_key(pools, i, &list);

		for (size_t k = 0; k < doc_count(list); k++)
			map_address(r, f, server, pool,
				    doc_text(doc_item(list, k), "addr"));
	}
}

static int map_servers(struct rest_run *r, struct err *err UNUSED)
{
	struct floating_ips f = { 0 };

	find_floating(r, &f);
	for (size_t i = 0; i < rest_count(r, STACK_SERVERS); i++)
		map_server(r, &f, rest_item(r, STACK_SERVERS, i));
	vec_fini(&f.list);
	table_fini(&f.by_address);
	table_fini(&f.by_ip);
	return 0;
}

static const struct rest_step instance_steps[] = {
	[STACK_PORTS] = { .url = write_ports,
			  .index = "id",
			  OPENSTACK_PAGES("ports") },
	[STACK_FLOATING] = { .url = openstack_write_floating,
			     OPENSTACK_PAGES("floatingips") },
	[STACK_SERVERS] = { .url = write_servers, OPENSTACK_PAGES("servers") },
	{ 0 },
};

const struct rest_table openstack_instance_table = {
	.role = "instance",
	.steps = instance_steps,
	.finish = map_servers,
	.account = &keystone_kind,
	.begin = begin_instances,
	.prepare = keystone_prepare,
};
