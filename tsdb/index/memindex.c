/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/memindex.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "tsdb/index/select.h"

/* Names and values are borrowed, so they are not freed. */
void memindex_fini(struct memindex *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct mem_name *n = &m->names[i];

		for (size_t k = 0; k < n->count; k++) {
			if (n->values[k].cap)
				mem_free(n->values[k].list);
		}
		mem_free(n->values);
		table_fini(&n->index);
	}
	mem_free(m->names);
	table_fini(&m->index);
	*m = (struct memindex){ 0 };
}

/* Equality callbacks of the hash tables memindex.index and mem_name.index. */
static bool memindex_same_name(const void *ctx, uint32_t number,
			       const void *key)
{
	const struct memindex *m = ctx;

	return str_eq(m->names[number].text, *(const struct str *)key);
}

static bool memindex_same_value(const void *ctx, uint32_t number,
				const void *key)
{
	const struct mem_name *n = ctx;

	return str_eq(n->values[number].text, *(const struct str *)key);
}

const struct mem_name *memindex_name(const struct memindex *m, struct str name)
{
	uint32_t i = table_find(&m->index, hash_bytes(bytes_of(name)),
				memindex_same_name, m, &name);

	return i == TABLE_NONE ? NULL : &m->names[i];
}

/* Find a value of a label name. NULL: no series has this label. */
static const struct mem_value *find_value(const struct mem_name *n,
					  struct str value)
{
	uint32_t i = table_find(&n->index, hash_bytes(bytes_of(value)),
				memindex_same_value, n, &value);

	return i == TABLE_NONE ? NULL : &n->values[i];
}

/*
 * Find a label name, or add it. The text of a new name is borrowed, and
 * pointers to other names become invalid.
 */
static struct mem_name *ensure_name(struct memindex *m, struct str name)
{
	uint64_t hash = hash_bytes(bytes_of(name));
	uint32_t i = table_find(&m->index, hash, memindex_same_name, m, &name);

	if (i != TABLE_NONE)
		return &m->names[i];
	m->names = mem_grow(m->names, m->count, &m->cap, sizeof(*m->names));
	m->names[m->count] = (struct mem_name){ .text = name };
	table_add(&m->index, hash, (uint32_t)m->count);
	return &m->names[m->count++];
}

/* Find a value of a label name, or add it. */
static struct mem_value *ensure_value(struct mem_name *n, struct str value)
{
	uint64_t hash = hash_bytes(bytes_of(value));
	uint32_t i =
		table_find(&n->index, hash, memindex_same_value, n, &value);

	if (i != TABLE_NONE)
		return &n->values[i];
	n->values = mem_grow(n->values, n->count, &n->cap, sizeof(*n->values));
	n->values[n->count] = (struct mem_value){ .text = value };
	table_add(&n->index, hash, (uint32_t)n->count);
	return &n->values[n->count++];
}

/*
 * Add a series to a label value. The union holds the number of the first series
 * itself; a list is allocated for the second series. This saves an allocation
 * for each unique value.
 */
static void value_add(struct mem_value *v, uint32_t series)
{
	uint32_t first = v->one;

	if (!v->count) {
		v->one = series;
		v->count = 1;
		return;
	}
	if (!v->cap) {
		v->cap = 4;
		v->list = mem_alloc(v->cap * sizeof(*v->list));
		v->list[0] = first;
	} else if (v->count == v->cap) {
		/*
		 * Growing by half keeps unused memory low; there are many
		 * lists.
		 */
		v->cap += v->cap / 2;
		v->list = mem_realloc(v->list, v->cap, sizeof(*v->list));
	}
	v->list[v->count++] = series;
}

void memindex_add(struct memindex *m, const struct labels *ls)
{
	struct labels_iter it = labels_iter(ls);
	struct label l;

	while (labels_next(&it, &l))
		value_add(ensure_value(ensure_name(m, l.name), l.value),
			  m->series);
	m->series++;
}

const uint32_t *mem_value_series(const struct mem_value *v)
{
	return v->cap ? v->list : &v->one;
}

/* Callback label_index.pair. An unknown label adds nothing. */
static int memindex_make_pair(const void *ctx, struct str name,
			      struct str value, struct postings *out,
			      struct err *err UNUSED)
{
	const struct mem_name *n = memindex_name(ctx, name);
	const struct mem_value *v = n ? find_value(n, value) : NULL;

	if (v)
		postings_add_all(out, mem_value_series(v), v->count);
	return 0;
}

/* Callback label_index.matching. Tries the matcher on each distinct value. */
static int memindex_select_matching(const void *ctx, const struct matcher *m,
				    bool wanted, struct postings *out,
				    struct err *err UNUSED)
{
	const struct mem_name *n = memindex_name(ctx, m->name);

	for (size_t i = 0; n && i < n->count; i++) {
		const struct mem_value *v = &n->values[i];

		if (matcher_matches(m, v->text) == wanted)
			postings_add_all(out, mem_value_series(v), v->count);
	}
	return 0;
}

/* Callback label_index.all. Series are numbered without gaps. */
static int memindex_list_all(const void *ctx, struct postings *out,
			     struct err *err UNUSED)
{
	const struct memindex *m = ctx;

	for (uint32_t i = 0; i < m->series; i++)
		postings_add(out, i);
	return 0;
}

void memindex_select(const struct memindex *m, const struct matcher *v,
		     size_t count, struct postings *out)
{
	struct label_index ix = { .ctx = m,
				  .pair = memindex_make_pair,
				  .matching = memindex_select_matching,
				  .all = memindex_list_all };

	if (select_series(&ix, v, count, out, NULL))
		abort(); /* the callbacks above never fail */
}
