/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/text_list.h"

void yaml_text_list(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct text_list *l = field;

	if (!yaml_expect(y, n, YAML_LIST, "the value"))
		return;
	l->count = 0;
	l->v = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		l->v[l->count] = str_of("");
		yaml_text(y, n->items[i], &l->v[l->count++]);
	}
}

bool text_list_has(const struct text_list *l, struct str text)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->v[i], text))
			return true;
	}
	return false;
}
