/* SPDX-License-Identifier: Apache-2.0 */
/*
 * puppetdb_sd_configs: resources that a query of PuppetDB selects.
 *
 * Source: puppet.com/docs/puppetdb, "Resources endpoint".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_puppetdb_" name

/* An entry of puppetdb_sd_configs. */
struct puppetdb_config {
	struct rest_config rest;
	struct str query;
	bool include_parameters;
};

static const struct field_row puppetdb_labels[] = {
	{ META("certname"), "certname", FIELD_TEXT },
	{ META("resource"), "resource", FIELD_TEXT },
	{ META("type"), "type", FIELD_TEXT },
	{ META("title"), "title", FIELD_TEXT },
	{ META("exported"), "exported", FIELD_BOOL },
	{ META("tags"), "tags", FIELD_LIST },
	{ META("file"), "file", FIELD_TEXT },
	{ META("environment"), "environment", FIELD_TEXT },
	{ 0 },
};

/*
 * Append a number as Prometheus writes it. To Prometheus, all numbers of an
 * answer are floating-point. Prometheus writes as few digits as possible. It
 * writes an exponent if the absolute value is at least 10^6, or is below 10^-4
 * but not 0.
 */
static void add_number(struct buf *out, double v)
{
	char text[40];
	int digits = 1;
	int exponent;

	/* Find the shortest text that is read back as the same number. */
	do {
		snprintf(text, sizeof(text), "%.*e", digits - 1, v);
	} while (strtod(text, NULL) != v && ++digits <= 17);
	exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	if (exponent >= -4 && exponent < 6) {
		int after = digits - 1 - exponent;

		snprintf(text, sizeof(text), "%.*f", after > 0 ? after : 0, v);
	}
	buf_str(out, text);
}

/*
 * If `n` is a scalar other than null, append its value and return true.
 * Otherwise return false.
 */
static bool add_scalar(struct buf *out, const struct yaml_node *n)
{
	double v;

	if (n->kind != YAML_SCALAR || yaml_is_null(n))
		return false;
	if (!n->quoted && str_to_double(n->text, &v))
		add_number(out, v);
	else
		buf_add(out, n->text.ptr, n->text.len);
	return true;
}

/* Append the items of a list with commas between them. */
static void add_parameter_items(struct buf *out, const struct yaml_node *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			buf_byte(out, ',');
		(void)add_scalar(out, list->items[i]);
	}
}

/*
 * Add a label for each parameter in `map`. The name of the label is
 * "__meta_puppetdb_parameter_", then `prefix`, then the key. An object within
 * an object gives labels whose names contain both keys. The recursion is
 * bounded by YAML_DEPTH_MAX.
 */
static void add_parameters(struct rest_run *r, struct str prefix,
			   const struct yaml_node *map)
{
	for (size_t i = 0; i < doc_keys(map); i++) {
		const struct yaml_node *value;
		struct str key = doc_key(map, i, &value);
		struct buf name = { 0 };
		struct buf text = { 0 };

		buf_printf(&name, "%.*s%.*s", STR_ARG(prefix), STR_ARG(key));
		if (value->kind == YAML_MAP) {
			buf_byte(&name, '_');
			add_parameters(r, str_from(buf_bytes(&name)), value);
		} else if (value->kind == YAML_LIST) {
			add_parameter_items(&text, value);
		} else {
			(void)add_scalar(&text, value);
		}
		group_label_of(&r->b, META("parameter_"),
			       str_from(buf_bytes(&name)),
			       str_from(buf_bytes(&text)));
		buf_fini(&name);
		buf_fini(&text);
	}
}

static void map_resource(struct rest_run *r, const struct yaml_node *resource)
{
	const struct puppetdb_config *c =
		(const struct puppetdb_config *)r->config;

	group_target(&r->b);
	group_address(&r->b, doc_text(resource, "certname"), r->config->port);
	group_label(&r->b, META("query"), c->query);
	field_rows_add(&r->b, puppetdb_labels, resource, str_of(","));
	if (c->include_parameters)
		add_parameters(r, str_of(""), doc_find(resource, "parameters"));
}

/* Write the body with the query. */
static void puppetdb_body(struct rest_run *r, struct buf *out)
{
	const struct puppetdb_config *c =
		(const struct puppetdb_config *)r->config;
	struct json j = json_init(out);

	json_begin(&j, '{');
	json_key(&j, "query");
	json_str(&j, c->query);
	json_end(&j, '}');
}

static const struct rest_step puppetdb_steps[] = {
	{ .path = "/pdb/query/v4", .items = "", .body = puppetdb_body },
	{ 0 },
};

static const struct rest_table puppetdb_table = {
	.steps = puppetdb_steps,
	.map = map_resource,
	.headers = (const char *const[]){ "Accept: application/json",
					  "Content-Type: application/json",
					  NULL },
};

static void puppetdb_init(struct discovery_config *base)
{
	rest_init(base);
	((struct puppetdb_config *)base)->query = str_of("");
}

static void puppetdb_check(struct yaml *y, const struct yaml_node *entry,
			   struct discovery_config *base)
{
	const struct puppetdb_config *c = (const struct puppetdb_config *)base;

	if (!c->rest.server.len)
		yaml_error(y, entry, "puppetdb_sd_config requires url");
	if (!c->query.len)
		yaml_error(y, entry, "puppetdb_sd_config requires query");
	rest_check(y, entry, base);
}

static const struct yaml_field puppetdb_fields[] = {
	REST_FIELDS,
	{ "url", http_decode_url, offsetof(struct rest_config, server), NULL },
	{ "query", yaml_text, offsetof(struct puppetdb_config, query), NULL },
	{ "include_parameters", yaml_bool,
	  offsetof(struct puppetdb_config, include_parameters), NULL },
	{ 0 },
};

const struct provider_kind provider_puppetdb = {
	.name = "puppetdb",
	.refresh_ms = 60000,
	.config_size = sizeof(struct puppetdb_config),
	.fields = puppetdb_fields,
	.init = puppetdb_init,
	.check = puppetdb_check,
	.rest = (const struct rest_table *const[]){ &puppetdb_table, NULL },
	REST_FUNCTIONS,
};
