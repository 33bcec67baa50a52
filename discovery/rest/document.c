/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/document.h"

#include <math.h>

size_t doc_count(const struct yaml_node *list)
{
	if (!list || yaml_is_null(list))
		return 0;
	return list->kind == YAML_LIST ? list->count : 1;
}

const struct yaml_node *doc_item(const struct yaml_node *list, size_t i)
{
	return list->kind == YAML_LIST ? list->items[i] : list;
}

size_t doc_keys(const struct yaml_node *map)
{
	return map && map->kind == YAML_MAP ? map->count / 2 : 0;
}

struct str doc_key(const struct yaml_node *map, size_t i,
		   const struct yaml_node **value)
{
	*value = map->items[2 * i + 1];
	return map->items[2 * i]->text;
}

/*
 * Return the value of a key of an object, or NULL. If an object has a key twice,
 * the last value counts, as in Go.
 */
static const struct yaml_node *doc_find_key(const struct yaml_node *n,
					    struct str key)
{
	for (size_t i = doc_keys(n); i-- > 0;) {
		if (str_eq(n->items[2 * i]->text, key))
			return n->items[2 * i + 1];
	}
	return NULL;
}

/* Return the text of a scalar; empty for anything else. */
static struct str scalar_text(const struct yaml_node *n)
{
	bool is_text = n && n->kind == YAML_SCALAR && !yaml_is_null(n);

	return is_text ? n->text : str_of("");
}

/*
 * Return the first item of `list` that meets `condition`, which is "key=value"
 * or the number of the item, from 0. NULL: there is no such item.
 */
static const struct yaml_node *find_item(const struct yaml_node *list,
					 struct str condition)
{
	const char *sign = memchr(condition.ptr, '=', condition.len);
	struct str key = { condition.ptr, 0 };
	struct str value;
	int64_t number;

	if (!sign) {
		if (!str_to_i64(condition, &number) || number < 0 ||
		    (size_t)number >= doc_count(list))
			return NULL;
		return doc_item(list, (size_t)number);
	}
	key.len = (size_t)(sign - condition.ptr);
	value = (struct str){ sign + 1, condition.len - key.len - 1 };
	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *item = doc_item(list, i);

		if (str_eq(scalar_text(doc_find_key(item, key)), value))
			return item;
	}
	return NULL;
}

const struct yaml_node *doc_find(const struct yaml_node *n, const char *path)
{
	while (n && *path) {
		size_t len = strcspn(path, ".[");

		if (len)
			n = doc_find_key(n, (struct str){ path, len });
		path += len;
		if (*path == '[') {
			size_t end = strcspn(path, "]");

			n = n ? find_item(n,
					  (struct str){ path + 1, end - 1 }) :
				NULL;
			path += end + 1;
		}
		path += *path == '.';
	}
	return n && !yaml_is_null(n) ? n : NULL;
}

struct str doc_text(const struct yaml_node *n, const char *path)
{
	return scalar_text(doc_find(n, path));
}

int64_t doc_int(const struct yaml_node *n, const char *path, int64_t absent)
{
	struct str text = doc_text(n, path);
	double d;
	int64_t v;

	if (str_to_i64(text, &v))
		return v;
	/* The fraction of a number is cut off. */
	return str_to_double(text, &d) && fabs(d) < 0x1p63 ? (int64_t)d :
							     absent;
}

bool doc_bool(const struct yaml_node *n, const char *path)
{
	return str_is(doc_text(n, path), "true");
}
