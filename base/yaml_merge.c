/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge keys of YAML 1.1: "<<" includes the pairs of other maps in a map.
 */
#include <stdarg.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/yaml_private.h"

/* Only a plain "<<" merges; a quoted one is an ordinary key. */
static bool is_merge_key(const struct yaml_node *key)
{
	return !key->quoted && str_is(key->text, "<<");
}

/* A map under construction, which replaces a map that has merge keys. */
struct merging {
	/* the map being built; `cap` is the capacity of its items */
	struct yaml_node *map;
	size_t cap;
	struct table seen; /* the map's keys, as indexes of its items */
};

/*
 * Append a pair. mem_grow() makes room for one element more than the number it
 * is given. That number counts the key already, so there is room for key and
 * value.
 */
static void yaml_merge_add_pair(struct merging *m, struct yaml_node *key,
				struct yaml_node *value)
{
	uint64_t hash = hash_key(bytes_of(key->text));

	m->map->items = mem_grow(m->map->items, m->map->count + 1, &m->cap,
				 sizeof(struct yaml_node *));
	table_add(&m->seen, hash, (uint32_t)m->map->count);
	m->map->items[m->map->count++] = key;
	m->map->items[m->map->count++] = value;
}

/* Whether the map being built has a key already. */
static bool yaml_merge_has_key(const struct merging *m,
			       const struct yaml_node *key)
{
	return table_find(&m->seen, hash_key(bytes_of(key->text)), same_key,
			  m->map, &key->text) != TABLE_NONE;
}

/* Add the pairs of one map to which a merge key refers. */
static bool merge_from(struct yaml_builder *b, struct merging *m,
		       const struct yaml_node *key,
		       const struct yaml_node *from)
{
	yaml_mark_t at = { .line = key->line - 1, .column = key->column - 1 };

	if (from->kind != YAML_MAP) {
		yaml_fail(b, at,
			  "map merge (<<) requires a map or a list of maps");
		return false;
	}
	for (size_t i = 0; i < from->count; i += 2) {
		/*
		 * A pair is added only if its key is new: the map's own keys
		 * take precedence, then the keys of earlier merges.
		 */
		if (!yaml_merge_has_key(m, from->items[i]))
			yaml_merge_add_pair(m, from->items[i],
					    from->items[i + 1]);
	}
	return true;
}

/*
 * The map's own pairs are added first, wherever the merge key is in the map,
 * because they take precedence. The array of items is then copied to the arena,
 * with its final size.
 */
struct yaml_node *yaml_merge_apply(struct yaml_builder *b, struct yaml_node *n)
{
	struct yaml_node whole = *n;
	struct merging m = { .map = &whole };
	bool good = true;

	whole.items = NULL;
	whole.count = 0;
	for (size_t i = 0; i < n->count; i += 2) {
		/*
		 * Duplicates are kept, so that yaml_unique_keys() reports them.
		 */
		if (!is_merge_key(n->items[i]))
			yaml_merge_add_pair(&m, n->items[i], n->items[i + 1]);
	}
	for (size_t i = 0; i < n->count && good; i += 2) {
		const struct yaml_node *from = n->items[i + 1];

		if (!is_merge_key(n->items[i]))
			continue;
		if (from->kind != YAML_LIST)
			good = merge_from(b, &m, n->items[i], from);
		for (size_t k = 0;
		     good && from->kind == YAML_LIST && k < from->count; k++)
			good = merge_from(b, &m, n->items[i], from->items[k]);
	}
	n->items = arena_array(&b->y->arena, struct yaml_node *, whole.count);
	if (whole.count)
		memcpy(n->items, whole.items,
		       whole.count * sizeof(struct yaml_node *));
	n->count = whole.count;
	mem_free(whole.items);
	table_fini(&m.seen);
	return good ? n : NULL;
}

bool has_merge_key(const struct yaml_node *map)
{
	for (size_t i = 0; i < map->count; i += 2) {
		if (is_merge_key(map->items[i]))
			return true;
	}
	return false;
}
