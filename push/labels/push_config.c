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

void push_config_decode(struct yaml *y, const struct yaml_node *n, void *config)
{
	static const struct yaml_field fields[] = {
		{ "instance", push_config_decode_instance,
		  offsetof(struct push_config, without_instance), NULL },
		{ "relabel_configs", relabel_decode,
		  offsetof(struct push_config, relabel), NULL },
		{ 0 },
	};

	yaml_decode(y, n, "push", fields, config);
}

void push_config_fini(struct push_config *c)
{
	relabel_rules_fini(&c->relabel);
}
