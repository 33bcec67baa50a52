/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_answer.h"

#include "base/hash.h"
#include "base/mem.h"

/*
 * The context of same_item(): the answer that has the items, and the path of
 * the text that is the key of an item.
 */
struct item_key {
	const struct rest_answer *answer;
	const char *index;
};

/*
 * Whether item number `number` has the key `key`; a table_same_fn for `by_key`.
 */
static bool same_item(const void *ctx, uint32_t number, const void *key)
{
	const struct item_key *k = ctx;
	const struct str *text = key;

	return str_eq(doc_text(k->answer->items.v[number], k->index), *text);
}

void rest_page_free(struct yaml *page)
{
	yaml_fini(page);
	mem_free(page);
}

void rest_answer_add(struct rest_answer *a, const struct yaml_node *item,
		     size_t url, const char *index)
{
	struct str key = index ? doc_text(item, index) : str_of("");

	*vec_add(&a->items) = item;
	*vec_add(&a->urls) = url;
	/*
	 * Add only the first of the items with the same key: many equal keys
	 * would make the table slow.
	 */
	if (key.len && !rest_answer_find(a, index, key))
		table_add(&a->by_key, hash_key(bytes_of(key)),
			  (uint32_t)a->items.count - 1);
}

const struct yaml_node *rest_answer_find(const struct rest_answer *a,
					 const char *index, struct str key)
{
	const struct item_key k = { a, index };
	uint32_t n = table_find(&a->by_key, hash_key(bytes_of(key)), same_item,
				&k, &key);

	return n == TABLE_NONE ? NULL : a->items.v[n];
}

void rest_answer_fini(struct rest_answer *a)
{
	for (size_t i = 0; i < a->pages.count; i++)
		rest_page_free(a->pages.v[i]);
	vec_fini(&a->pages);
	vec_fini(&a->items);
	vec_fini(&a->urls);
	table_fini(&a->by_key);
}
