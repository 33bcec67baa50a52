/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digitalocean_sd_configs: droplets and databases of a DigitalOcean account.
 *
 * Source: docs.digitalocean.com/reference/api/digitalocean, "List All
 * Droplets", "List All Database Clusters".
 */
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_digitalocean_" name

static const struct field_row droplet_fields[] = {
	{ META("droplet_id"), "id", FIELD_TEXT },
	{ META("droplet_name"), "name", FIELD_TEXT },
	{ META("image"), "image.slug", FIELD_TEXT },
	{ META("image_name"), "image.name", FIELD_TEXT },
	{ META("private_ipv4"), "networks.v4[type=private].ip_address",
	  FIELD_TEXT },
	{ META("public_ipv4"), "networks.v4[type=public].ip_address",
	  FIELD_TEXT },
	{ META("public_ipv6"), "networks.v6[type=public].ip_address",
	  FIELD_TEXT },
	{ META("region"), "region.slug", FIELD_TEXT },
	{ META("size"), "size_slug", FIELD_TEXT },
	{ META("status"), "status", FIELD_TEXT },
	{ META("vpc"), "vpc_uuid", FIELD_TEXT },
	{ META("features"), "features", FIELD_LIST },
	{ META("tags"), "tags", FIELD_LIST },
	{ 0 },
};

static const struct rest_step droplet_steps[] = {
	{ .path = "/v2/droplets?per_page=200",
	  .items = "droplets",
	  .paging = REST_NEXT_URL,
	  .next = "links.pages.next" },
	{ 0 },
};

static const struct rest_table droplets = {
	.role = "droplets",
	.steps = droplet_steps,
	.fields = droplet_fields,
	.host = "networks.v4[type=public].ip_address",
	.needs = "networks.v4",
};

static const struct field_row database_fields[] = {
	{ META("db_id"), "id", FIELD_TEXT },
	{ META("db_name"), "name", FIELD_TEXT },
	{ META("db_engine"), "engine", FIELD_TEXT },
	{ META("db_version"), "version", FIELD_TEXT },
	{ META("db_status"), "status", FIELD_TEXT },
	{ META("db_region"), "region", FIELD_TEXT },
	{ META("db_size"), "size", FIELD_TEXT },
	{ META("db_num_nodes"), "num_nodes", FIELD_INT },
	{ META("db_private_host"), "private_connection.host", FIELD_TEXT },
	{ META("db_host"), "connection.host", FIELD_TEXT },
	{ 0 },
};

/*
 * Add the target of a database. The address of the target has the private host
 * of the database or, if there is none, the public host. As in Prometheus, the
 * port of the connection is not used, because it is not the port of an
 * exporter.
 */
static void map_database(struct rest_run *r, const struct yaml_node *db)
{
	struct str host = doc_text(db, "private_connection.host");
	const struct yaml_node *tags = doc_find(db, "tags");

	if (!host.len)
		host = doc_text(db, "connection.host");
	group_target(&r->b);
	if (host.len)
		group_address(&r->b, host, r->config->port);
	field_rows_add(&r->b, database_fields, db, r->config->separator);
	for (size_t i = 0; i < doc_count(tags); i++)
		group_label_of(&r->b, META("db_tag_"),
			       doc_text(doc_item(tags, i), ""), str_of("true"));
}

static const struct rest_step database_steps[] = {
	{ .path = "/v2/databases?per_page=100",
	  .items = "databases",
	  .paging = REST_UNTIL_EMPTY,
	  .page_param = "page" },
	{ 0 },
};

static const struct rest_table databases = {
	.role = "databases",
	.steps = database_steps,
	.map = map_database,
};

static void digitalocean_init(struct discovery_config *base)
{
	struct rest_config *c = (struct rest_config *)base;

	rest_init(base);
	c->server = str_of("https://api.digitalocean.com");
	c->table = &droplets;
}

static const struct yaml_field digitalocean_fields[] = {
	REST_FIELDS,
	{ "role", rest_decode_role, 0, NULL },
	{ "endpoint", http_decode_url, offsetof(struct rest_config, server),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_digitalocean = {
	.name = "digitalocean",
	.refresh_ms = 60000,
	.config_size = sizeof(struct rest_config),
	.fields = digitalocean_fields,
	.init = digitalocean_init,
	.rest = (const struct rest_table *const[]){ &droplets, &databases,
						    NULL },
	REST_KIND,
};
