/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eureka_sd_configs: instances that a Eureka server knows.
 *
 * Source: github.com/Netflix/eureka/wiki/Eureka-REST-operations.
 */
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_eureka_app_instance_" name

static const struct field_row eureka_labels[] = {
	{ "instance", "instanceId", FIELD_TEXT },
	{ META("hostname"), "hostName", FIELD_TEXT },
	{ META("homepage_url"), "homePageUrl", FIELD_TEXT },
	{ META("statuspage_url"), "statusPageUrl", FIELD_TEXT },
	{ META("healthcheck_url"), "healthCheckUrl", FIELD_TEXT },
	{ META("ip_addr"), "ipAddr", FIELD_TEXT },
	{ META("vip_address"), "vipAddress", FIELD_TEXT },
	{ META("secure_vip_address"), "secureVipAddress", FIELD_TEXT },
	{ META("status"), "status", FIELD_TEXT },
	{ META("country_id"), "countryId", FIELD_INT },
	{ META("id"), "instanceId", FIELD_TEXT },
	{ META("datacenterinfo_name"), "dataCenterInfo.name", FIELD_TEXT },
	{ 0 },
};

/*
 * Return the text of the XML element `n`, which may have attributes (see
 * rest/xml_document.h).
 */
static struct str element_text(const struct yaml_node *n)
{
	return doc_keys(n) ? doc_text(n, "#text") : doc_text(n, "");
}

/*
 * Add the labels of `port`, the element of a port; NULL: the instance has no
 * such port.
 */
static void add_port(struct rest_run *r, const struct yaml_node *port,
		     const char *label, const char *enabled_label)
{
	if (!port)
		return;
	group_label(&r->b, label, element_text(port));
	group_label(&r->b, enabled_label,
		    str_of(doc_bool(port, "@enabled") ? "true" : "false"));
}

/*
 * Add a label for each child element of `map`, the metadata, but not for the
 * attributes and the text of `map`.
 */
static void add_metadata(struct rest_run *r, const char *prefix,
			 const struct yaml_node *map)
{
	for (size_t i = 0; i < doc_keys(map); i++) {
		const struct yaml_node *value;
		struct str key = doc_key(map, i, &value);

		/* Of several elements with one name, the last counts. */
		if (value->kind == YAML_LIST && value->count)
			value = value->items[value->count - 1];
		if (key.len && *key.ptr != '@' && *key.ptr != '#')
			group_label_of(&r->b, prefix, key, element_text(value));
	}
}

static void map_eureka_instance(struct rest_run *r, struct str app,
				const struct yaml_node *i)
{
	const struct yaml_node *port = doc_find(i, "port");
	int64_t number =
		port ? doc_int(port, doc_keys(port) ? "#text" : "", 0) : 80;

	group_target(&r->b);
	group_address(&r->b, doc_text(i, "hostName"), number);
	group_label(&r->b, "__meta_eureka_app_name", app);
	field_rows_add(&r->b, eureka_labels, i, str_of(","));
	add_port(r, port, META("port"), META("port_enabled"));
	add_port(r, doc_find(i, "securePort"), META("secure_port"),
		 META("secure_port_enabled"));
	add_metadata(r, META("datacenterinfo_metadata_"),
		     doc_find(i, "dataCenterInfo.metadata"));
	add_metadata(r, META("metadata_"), doc_find(i, "metadata"));
}

static void map_application(struct rest_run *r, const struct yaml_node *app)
{
	const struct yaml_node *list = doc_find(app, "instance");

	for (size_t i = 0; i < doc_count(list); i++)
		map_eureka_instance(r, doc_text(app, "name"),
				    doc_item(list, i));
}

static const struct rest_step eureka_steps[] = {
	{ .path = "/apps", .items = "application" },
	{ 0 },
};

static const struct rest_table eureka_table = {
	.steps = eureka_steps,
	.map = map_application,
	.headers = (const char *const[]){ "Accept: application/xml", NULL },
	.is_xml = true,
};

static void eureka_check(struct yaml *y, const struct yaml_node *entry,
			 struct discovery_config *base)
{
	if (!((const struct rest_config *)base)->server.len)
		yaml_error(y, entry, "eureka_sd_config requires server");
	rest_check(y, entry, base);
}

static const struct yaml_field eureka_fields[] = {
	DISCOVERY_HTTP_FIELDS,
	{ "server", http_decode_url, offsetof(struct rest_config, server),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_eureka = {
	.name = "eureka",
	.refresh_ms = 30000,
	.config_size = sizeof(struct rest_config),
	.fields = eureka_fields,
	.init = rest_init,
	.check = eureka_check,
	.rest = (const struct rest_table *const[]){ &eureka_table, NULL },
	REST_FUNCTIONS,
};
