/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/memindex.h"

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
	uint32_t i = table_find(&m->index, hash_key(bytes_of(name)),
				memindex_same_name, m, &name);

	return i == TABLE_NONE ? NULL : &m->names[i];
}

/* Find a value of a label name. NULL: no series has this label. */
static const struct mem_value *find_value(const struct mem_name *n,
					  struct str value)
{
	uint32_t i = table_find(&n->index, hash_key(bytes_of(value)),
				memindex_same_value, n, &value);

	return i == TABLE_NONE ? NULL : &n->values[i];
}

/*
 * Find a label name, or add it. The text of a new name is borrowed, and
 * pointers to other names become invalid.
 */
static struct mem_name *ensure_name(struct memindex *m, struct str name)
{
	uint64_t hash = hash_key(bytes_of(name));
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
	uint64_t hash = hash_key(bytes_of(value));
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

/* A label index, and the mutex that protects it. */
struct memindex_access {
	const struct memindex *m;
	struct mutex *mu;
};

/* Callback label_index.pair. An unknown label adds nothing. */
static int memindex_make_pair(const void *ctx, struct str name,
			      struct str value, struct postings *out,
			      struct err *err UNUSED)
{
	const struct memindex_access *a = ctx;
	const struct mem_name *n;
	const struct mem_value *v;

	mutex_lock(a->mu);
	n = memindex_name(a->m, name);
	v = n ? find_value(n, value) : NULL;
	if (v)
		postings_add_all(out, mem_value_series(v), v->count);
	mutex_unlock(a->mu);
	return 0;
}

size_t memindex_texts(const struct memindex *m, struct mutex *mu,
		      struct str name, size_t first, struct str *out)
{
	const struct mem_name *n;
	size_t count;
	size_t got = 0;

	mutex_lock(mu);
	n = name.len ? memindex_name(m, name) : NULL;
	count = name.len ? (n ? n->count : 0) : m->count;
	for (; got < MEMINDEX_BATCH && first + got < count; got++)
		out[got] = n ? n->values[first + got].text :
			       m->names[first + got].text;
	mutex_unlock(mu);
	return got;
}

/* Add the series of those values of a batch whose element in `fits` is true. */
static void memindex_add_fitting(const struct memindex_access *a,
				 struct str name, size_t first,
				 const bool *fits, size_t count,
				 struct postings *out)
{
	const struct mem_name *n;

	mutex_lock(a->mu);
	n = memindex_name(a->m, name);
	for (size_t i = 0; n && i < count; i++) {
		const struct mem_value *v = &n->values[first + i];

		if (fits[i])
			postings_add_all(out, mem_value_series(v), v->count);
	}
	mutex_unlock(a->mu);
}

/*
 * Callback label_index.matching. Tries the matcher on each distinct value,
 * without holding the mutex: a slow regular expression must not stop the
 * appends. Values that appends add meanwhile get higher numbers.
 */
static int memindex_select_matching(const void *ctx, struct value_trial *t,
				    struct postings *out, struct err *err)
{
	const struct memindex_access *a = ctx;
	struct str texts[MEMINDEX_BATCH];
	bool fits[MEMINDEX_BATCH];
	size_t first = 0;
	size_t count;
	int rc = 0;

	do {
		count = memindex_texts(a->m, a->mu, t->m->name, first, texts);
		for (size_t i = 0; i < count && !rc; i++)
			rc = value_trial_run(t, texts[i], &fits[i], err);
		if (!rc)
			memindex_add_fitting(a, t->m->name, first, fits, count,
					     out);
		first += count;
	} while (count && !rc);
	return rc;
}

/* Callback label_index.all. Series are numbered without gaps. */
static int memindex_list_all(const void *ctx, struct postings *out,
			     struct err *err UNUSED)
{
	const struct memindex_access *a = ctx;

	mutex_lock(a->mu);
	for (uint32_t i = 0; i < a->m->series; i++)
		postings_add(out, i);
	mutex_unlock(a->mu);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): the index, and a selection */
int memindex_select(const struct memindex *m, struct mutex *mu,
		    const struct limits *limits, const struct matcher *v,
		    size_t count, struct postings *out, struct err *err)
{
	struct memindex_access access = { m, mu };
	struct label_index ix = { .ctx = &access,
				  .limits = limits,
				  .pair = memindex_make_pair,
				  .matching = memindex_select_matching,
				  .all = memindex_list_all };

	return select_series(&ix, v, count, out, err);
}
