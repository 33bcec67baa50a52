/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nomad_sd_configs: the instances of the services that are registered with
 * Nomad itself (and not with Consul).
 *
 * Source: developer.hashicorp.com/nomad/api-docs/services.
 */
#include "base/url.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_nomad_" name

/* An entry of nomad_sd_configs. */
struct nomad_config {
	struct rest_config rest;
	struct str namespace;
	struct str region;
	bool allow_stale;
};

static const struct field_row nomad_labels[] = {
	{ META("address"), "Address", FIELD_TEXT },
	{ META("dc"), "Datacenter", FIELD_TEXT },
	{ META("namespace"), "Namespace", FIELD_TEXT },
	{ META("node_id"), "NodeID", FIELD_TEXT },
	{ META("service"), "ServiceName", FIELD_TEXT },
	{ META("service_address"), "Address", FIELD_TEXT },
	{ META("service_id"), "ID", FIELD_TEXT },
	{ META("service_port"), "Port", FIELD_INT },
	{ META("tags"), "Tags", FIELD_LIST },
	{ 0 },
};

/* Append the parameters that all requests have. */
static void nomad_add_params(const struct rest_run *r, struct buf *url)
{
	const struct nomad_config *c = (const struct nomad_config *)r->config;

	if (c->namespace.len)
		url_add_param(url, "namespace", c->namespace);
	if (c->region.len)
		url_add_param(url, "region", c->region);
	if (c->allow_stale)
		url_add_param(url, "stale", str_of(""));
}

static bool nomad_write_list_url(struct rest_run *r, size_t i, struct buf *out)
{
	buf_str(out, "/v1/services");
	nomad_add_params(r, out);
	return i == 0;
}

/*
 * Write the URL that lists the instances of service number `i`. The first step
 * has found the services. Returns false if there are fewer services.
 */
static bool nomad_write_service_url(struct rest_run *r, size_t i,
				    struct buf *out)
{
	if (i >= rest_count(r, 0))
		return false;
	buf_str(out, "/v1/service/");
	url_escape(doc_text(rest_item(r, 0, i), "ServiceName"), out);
	nomad_add_params(r, out);
	return true;
}

static const struct rest_step nomad_steps[] = {
	{ .url = nomad_write_list_url, .items = "*.Services" },
	{ .url = nomad_write_service_url, .items = "" },
	{ 0 },
};

static const struct rest_table nomad_table = {
	.steps = nomad_steps,
	.fields = nomad_labels,
	.host = "Address",
	.port = "Port",
};

static void nomad_init(struct discovery_config *base)
{
	struct nomad_config *c = (struct nomad_config *)base;

	rest_init(base);
	c->rest.server = str_of("http://localhost:4646");
	c->namespace = str_of("default");
	c->region = str_of("global");
	c->allow_stale = true;
}

static const struct yaml_field nomad_fields[] = {
	DISCOVERY_HTTP_FIELDS,
	{ "server", http_decode_url, offsetof(struct rest_config, server),
	  NULL },
	{ "namespace", yaml_text, offsetof(struct nomad_config, namespace),
	  NULL },
	{ "region", yaml_text, offsetof(struct nomad_config, region), NULL },
	{ "allow_stale", yaml_bool, offsetof(struct nomad_config, allow_stale),
	  NULL },
	{ "tag_separator", yaml_text, offsetof(struct rest_config, separator),
	  NULL },
	{ 0 },
};

static void nomad_check(struct yaml *y, const struct yaml_node *entry,
			struct discovery_config *base)
{
	if (!((const struct rest_config *)base)->server.len)
		yaml_error(y, entry, "nomad_sd_config requires server");
	rest_check(y, entry, base);
}

const struct provider_kind provider_nomad = {
	.name = "nomad",
	.refresh_ms = 60000,
	.config_size = sizeof(struct nomad_config),
	.fields = nomad_fields,
	.init = nomad_init,
	.check = nomad_check,
	.rest = (const struct rest_table *const[]){ &nomad_table, NULL },
	REST_FUNCTIONS,
};
