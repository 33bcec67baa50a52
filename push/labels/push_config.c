/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels/push_config.h"

#include <stddef.h>

/* Decode the key instance: address or none. */
static void push_config_decode_instance(struct yaml *y,
					const struct yaml_node *n, void *field)
{
	struct str s = { 0 };

	yaml_text(y, n, &s);
	*(bool *)field = str_is(s, "none");
	if (!str_is(s, "none") && !str_is(s, "address"))
		yaml_error(y, n,
			   "instance must be address or none, not \"%.*s\"",
			   STR_ARG(str_clip(s, 40)));
}

/* Decode the key resource_labels: a list of names. */
static void push_config_decode_resource(struct yaml *y,
					const struct yaml_node *n, void *field)
{
	struct push_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "resource_labels"))
		return;
	if (n->count > PUSH_RESOURCE_LABELS_MAX) {
		yaml_error(y, n, "resource_labels has more than %d names",
			   PUSH_RESOURCE_LABELS_MAX);
		return;
	}
	c->resource_labels = arena_array(&y->arena, struct str, n->count + 1);
	c->resource_label_count = n->count;
	for (size_t i = 0; i < n->count; i++) {
		c->resource_labels[i] = str_of("");
		yaml_text(y, n->items[i], &c->resource_labels[i]);
	}
}

void push_config_decode(struct yaml *y, const struct yaml_node *n, void *config)
{
	static const struct yaml_field fields[] = {
		{ "instance", push_config_decode_instance,
		  offsetof(struct push_config, without_instance), NULL },
		{ "relabel_configs", relabel_decode,
		  offsetof(struct push_config, relabel), NULL },
		{ "resource_labels", push_config_decode_resource, 0, NULL },
		{ 0 },
	};

	yaml_decode(y, n, "push", fields, config);
}

void push_config_fini(struct push_config *c)
{
	relabel_rules_fini(&c->relabel);
}
