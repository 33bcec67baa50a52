/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/memindex.h"

#include "base/hash.h"
#include "base/mem.h"
#include "model/regex.h"

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

static bool same_name(const void *ctx, uint32_t number, const void *key)
{
	const struct memindex *m = ctx;

	return str_eq(m->names[number].text, *(const struct str *)key);
}

static bool same_value(const void *ctx, uint32_t number, const void *key)
{
	const struct mem_name *n = ctx;

	return str_eq(n->values[number].text, *(const struct str *)key);
}

const struct mem_name *memindex_name(const struct memindex *m, struct str name)
{
	uint32_t i = table_find(&m->index, hash64(bytes_of(name)), same_name, m,
				&name);

	return i == TABLE_NONE ? NULL : &m->names[i];
}

static const struct mem_value *find_value(const struct mem_name *n,
					  struct str value)
{
	uint32_t i = table_find(&n->index, hash64(bytes_of(value)), same_value,
				n, &value);

	return i == TABLE_NONE ? NULL : &n->values[i];
}

static struct mem_name *ensure_name(struct memindex *m, struct str name)
{
	uint64_t hash = hash64(bytes_of(name));
	uint32_t i = table_find(&m->index, hash, same_name, m, &name);

	if (i != TABLE_NONE)
		return &m->names[i];
	m->names = mem_grow(m->names, m->count, &m->cap, sizeof(*m->names));
	m->names[m->count] = (struct mem_name){ .text = name };
	table_add(&m->index, hash, (uint32_t)m->count);
	return &m->names[m->count++];
}

static struct mem_value *ensure_value(struct mem_name *n, struct str value)
{
	uint64_t hash = hash64(bytes_of(value));
	uint32_t i = table_find(&n->index, hash, same_value, n, &value);

	if (i != TABLE_NONE)
		return &n->values[i];
	n->values = mem_grow(n->values, n->count, &n->cap, sizeof(*n->values));
	n->values[n->count] = (struct mem_value){ .text = value };
	table_add(&n->index, hash, (uint32_t)n->count);
	return &n->values[n->count++];
}

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

static void add_value(struct postings *out, const struct mem_value *v)
{
	if (v)
		postings_add_all(out, mem_value_series(v), v->count);
}

/*
 * The series whose value of this label is `wanted` by m; series without the
 * label are not looked at.
 */
static void with_value(const struct mem_name *n, const struct matcher *m,
		       bool wanted, struct postings *out)
{
	bool equal = m->op == MATCH_EQ || m->op == MATCH_NE;
	bool positive = m->op == MATCH_EQ || m->op == MATCH_RE;
	struct str literal;

	if (equal && wanted == positive) {
		add_value(out, find_value(n, m->value));
	} else if (!equal && wanted == positive &&
		   regex_literal(m->regex, 0, &literal)) {
		for (size_t i = 0; regex_literal(m->regex, i, &literal); i++)
			add_value(out, find_value(n, literal));
	} else {
		for (size_t i = 0; i < n->count; i++) {
			if (matcher_matches(m, n->values[i].text) == wanted)
				add_value(out, &n->values[i]);
		}
	}
	postings_sort(out);
}

static void swap(struct postings *a, struct postings *b)
{
	struct postings was = *a;

	*a = *b;
	*b = was;
}

/* Add, or take away, what one matcher says. */
static void apply(const struct memindex *m, const struct matcher *v,
		  bool absent_ok, bool *begun, struct postings *out)
{
	const struct mem_name *n = memindex_name(m, v->name);
	struct postings p = { 0 };

	if (n)
		with_value(n, v, !absent_ok, &p);
	if (absent_ok)
		postings_subtract(out, &p);
	else if (*begun)
		postings_intersect(out, &p);
	else
		swap(out, &p);
	*begun = true;
	postings_fini(&p);
}

/*
 * First the matchers that a series without the label fails: they name the
 * series. Then the others take away from these, or from all.
 */
void memindex_select(const struct memindex *m, const struct matcher *v,
		     size_t count, struct postings *out)
{
	static const struct str empty = { .ptr = "", .len = 0 };
	bool begun = false;

	for (size_t i = 0; i < count; i++) {
		if (!matcher_matches(&v[i], empty))
			apply(m, &v[i], false, &begun, out);
	}
	for (uint32_t i = 0; i < m->series && !begun; i++)
		postings_add(out, i);
	for (size_t i = 0; i < count && out->count; i++) {
		if (matcher_matches(&v[i], empty))
			apply(m, &v[i], true, &begun, out);
	}
}
