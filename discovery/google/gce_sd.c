/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gce_sd_configs: instances of Google Compute Engine.
 *
 * Source: cloud.google.com/compute/docs/reference/rest/v1/instances/list.
 */
#include "base/url.h"
#include "discovery/core/kinds.h"
#include "discovery/google/google_account.h"
#include "discovery/rest/bearer.h"

#define META(name) "__meta_gce_" name

/* An entry of gce_sd_configs. */
struct gce_config {
	struct rest_config rest;
	struct str project;
	struct str zone;
	struct str filter;
};

static const struct field_row gce_labels[] = {
	{ META("zone"), "zone", FIELD_TEXT },
	{ META("instance_id"), "id", FIELD_TEXT },
	{ META("instance_name"), "name", FIELD_TEXT },
	{ META("instance_status"), "status", FIELD_TEXT },
	{ META("machine_type"), "machineType", FIELD_TEXT },
	{ META("network"), "networkInterfaces[0].network", FIELD_TEXT },
	{ META("subnetwork"), "networkInterfaces[0].subnetwork", FIELD_TEXT },
	{ META("private_ip"), "networkInterfaces[0].networkIP", FIELD_TEXT },
	{ META("tags"), "tags.items", FIELD_LIST },
	{ META("label_"), "labels", FIELD_MAP },
	{ 0 },
};

/*
 * Add a label for the address of each network interface, and one for each item
 * of the metadata.
 */
static void add_gce_items(struct rest_run *r, const struct yaml_node *instance)
{
	const struct yaml_node *interfaces =
		doc_find(instance, "networkInterfaces");
	const struct yaml_node *items = doc_find(instance, "metadata.items");

	for (size_t i = 0; i < doc_count(interfaces); i++) {
		const struct yaml_node *n = doc_item(interfaces, i);

		group_label_of(&r->b, META("interface_ipv4_"),
			       doc_text(n, "name"), doc_text(n, "networkIP"));
	}
	/*
	 * Go backwards: of labels with the same name, the first one counts in a
	 * struct label_list, but Prometheus takes the last one.
	 */
	for (size_t i = doc_count(items); i-- > 0;) {
		const struct yaml_node *item = doc_item(items, i);

		group_label_of(&r->b, META("metadata_"), doc_text(item, "key"),
			       doc_text(item, "value"));
	}
}

static void map_gce_instance(struct rest_run *r,
			     const struct yaml_node *instance)
{
	const struct gce_config *c = (const struct gce_config *)r->config;
	const struct yaml_node *first =
		doc_find(instance, "networkInterfaces[0]");
	const struct yaml_node *nat = doc_find(first, "accessConfigs[0]");

	if (!first)
		return;
	group_target(&r->b);
	group_address(&r->b, doc_text(first, "networkIP"), r->config->port);
	group_label(&r->b, META("project"), c->project);
	field_rows_add(&r->b, gce_labels, instance, r->config->separator);
	add_gce_items(r, instance);
	if (str_is(doc_text(nat, "type"), "ONE_TO_ONE_NAT"))
		group_label(&r->b, META("public_ip"), doc_text(nat, "natIP"));
}

static bool gce_write_url(struct rest_run *r, size_t i, struct buf *out)
{
	const struct gce_config *c = (const struct gce_config *)r->config;

	buf_str(out, "/projects/");
	url_escape(c->project, out);
	buf_str(out, "/zones/");
	url_escape(c->zone, out);
	buf_str(out, "/instances");
	if (c->filter.len)
		url_add_param(out, "filter", c->filter);
	return i == 0;
}

static const struct rest_step gce_steps[] = {
	{ .url = gce_write_url,
	  .items = "items",
	  .paging = REST_NEXT_TOKEN,
	  .next = "nextPageToken",
	  .page_param = "pageToken" },
	{ 0 },
};

static const struct rest_table gce_table = {
	.steps = gce_steps,
	.map = map_gce_instance,
	.account = &google_account_kind,
	.prepare = bearer_prepare,
};

static void gce_init(struct discovery_config *base)
{
	struct gce_config *c = (struct gce_config *)base;

	rest_init(base);
	c->rest.server = str_of("https://compute.googleapis.com/compute/v1");
	c->project = str_of("");
	c->zone = str_of("");
	c->filter = str_of("");
}

static void gce_check(struct yaml *y, const struct yaml_node *entry,
		      struct discovery_config *base)
{
	const struct gce_config *c = (const struct gce_config *)base;

	rest_check(y, entry, base);
	rest_refuse_auth(y, entry, base);
	if (!c->project.len)
		yaml_error(y, entry, "gce_sd_config requires project");
	if (!c->zone.len)
		yaml_error(y, entry, "gce_sd_config requires zone");
}

static const struct yaml_field gce_fields[] = {
	REST_FIELDS,
	{ "project", yaml_text, offsetof(struct gce_config, project), NULL },
	{ "zone", yaml_text, offsetof(struct gce_config, zone), NULL },
	{ "filter", yaml_text, offsetof(struct gce_config, filter), NULL },
	{ "tag_separator", yaml_text, offsetof(struct rest_config, separator),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_gce = {
	.name = "gce",
	.refresh_ms = 60000,
	.config_size = sizeof(struct gce_config),
	.fields = gce_fields,
	.init = gce_init,
	.check = gce_check,
	.rest = (const struct rest_table *const[]){ &gce_table, NULL },
	REST_FUNCTIONS,
};
