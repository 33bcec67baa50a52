/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/consul/consul_health.h"

#include "base/yaml_json.h"
#include "discovery/rest/field_row.h"

#define META(name) "__meta_consul_" name

static const struct field_row consul_labels[] = {
	{ META("address"), "Node.Address", FIELD_TEXT },
	{ META("node"), "Node.Node", FIELD_TEXT },
	{ META("namespace"), "Service.Namespace", FIELD_TEXT },
	{ META("partition"), "Service.Partition", FIELD_TEXT },
	{ META("service_address"), "Service.Address", FIELD_TEXT },
	{ META("service_port"), "Service.Port", FIELD_INT },
	{ META("service_id"), "Service.ID", FIELD_TEXT },
	{ META("metadata_"), "Node.Meta", FIELD_MAP },
	{ META("service_metadata_"), "Service.Meta", FIELD_MAP },
	{ META("tagged_address_"), "Node.TaggedAddresses", FIELD_MAP },
	{ 0 },
};

/*
 * Return the state of an instance: the worst state of its checks. A check with
 * a reserved ID means maintenance, which counts as the worst. Return "" if a
 * check has an unknown state.
 */
static const char *aggregate_health(const struct yaml_node *checks)
{
	static const char *const states[] = { "passing", "warning",
					      "critical" };
	bool maintenance = false;
	size_t worst = 0;

	for (size_t i = 0; i < doc_count(checks); i++) {
		const struct yaml_node *check = doc_item(checks, i);
		struct str id = doc_text(check, "CheckID");
		struct str status = doc_text(check, "Status");
		size_t k = 0;

		if (str_is(id, "_node_maintenance") ||
		    str_starts(id, str_of("_service_maintenance:"))) {
			maintenance = true;
			continue;
		}
		while (k < ARRAY_SIZE(states) && !str_is(status, states[k]))
			k++;
		if (k == ARRAY_SIZE(states))
			return "";
		worst = k > worst ? k : worst;
	}
	return maintenance ? "maintenance" : states[worst];
}

/* Add the target of an instance. */
static void consul_add_instance(struct group_builder *b,
				const struct yaml_node *instance,
				struct str separator)
{
	struct str host = doc_text(instance, "Service.Address");
	const struct yaml_node *tags = doc_find(instance, "Service.Tags");
	struct buf none = { 0 };

	if (!host.len)
		host = doc_text(instance, "Node.Address");
	group_target(b);
	group_address(b, host, doc_int(instance, "Service.Port", 0));
	field_rows_add(b, consul_labels, instance, separator);
	group_label(b, META("health"),
		    str_of(aggregate_health(doc_find(instance, "Checks"))));
	/* If there are no tags, the value of the label is two separators. */
	buf_printf(&none, "%.*s%.*s", STR_ARG(separator), STR_ARG(separator));
	if (doc_count(tags))
		field_list_add(b, META("tags"), tags, separator);
	else
		group_label(b, META("tags"), str_from(buf_bytes(&none)));
	buf_fini(&none);
}

int consul_health_parse(struct bytes text, struct str service,
			struct str datacenter, struct str tag_separator,
			struct target_groups **out, struct err *err)
{
	struct group_builder b;
	struct yaml y;
	int rc;

	yaml_parse_json(&y, "answer", text);
	rc = yaml_check(&y, err);
	if (!rc && y.root->kind != YAML_LIST)
		rc = err_set(
			err, ERR_INVALID,
			"Consul's answer for this service is not a list: does \"server\" name a Consul agent?");
	if (rc) {
		yaml_fini(&y);
		return rc;
	}
	group_builder_init(&b);
	group_begin(&b);
	group_label(&b, META("service"), service);
	group_label(&b, META("dc"), datacenter);
	for (size_t i = 0; i < y.root->count; i++)
		consul_add_instance(&b, y.root->items[i], tag_separator);
	rc = group_builder_take(&b, out, err);
	group_builder_fini(&b);
	yaml_fini(&y);
	return rc;
}
