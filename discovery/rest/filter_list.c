/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/filter_list.h"

/*
 * Check that `n`, the value of the key `values` of a filter, is a list of
 * texts. Nothing is stored.
 */
static void check_filter_values(struct yaml *y, const struct yaml_node *n,
				void *field UNUSED)
{
	struct str text;

	if (!yaml_expect(y, n, YAML_LIST, "values"))
		return;
	for (size_t i = 0; i < n->count; i++)
		yaml_text(y, n->items[i], &text);
}

bool filter_list_check(struct yaml *y, const struct yaml_node *n)
{
	static const struct yaml_field fields[] = {
		{ "name", yaml_text, 0, NULL },
		{ "values", check_filter_values, 0, NULL },
		{ 0 },
	};
	size_t errors = y->error_count;

	if (!yaml_expect(y, n, YAML_LIST, "filters"))
		return false;
	for (size_t i = 0; i < n->count; i++) {
		struct str name = str_of("");

		yaml_decode(y, n->items[i], "filter", fields, &name);
		if (!name.len)
			yaml_error(y, n->items[i], "a filter requires name");
	}
	return y->error_count == errors;
}
