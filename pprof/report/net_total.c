/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/net_total.h"

#include <assert.h>

#include "base/hash.h"
#include "base/pairs.h"

/* Groups of label sets that are equal except for the label of the base. */
struct label_groups {
	const struct pprof *p;
	struct table index; /* finds a label set by the hash of its labels */
	uint32_t *of;       /* by label set: the first set of its group */
};

/*
 * Copy the labels of a set to `out`, without the label of the base. Returns
 * their number.
 */
static size_t copy_labels(const struct pprof *p, uint32_t set,
			  struct pprof_label *out)
{
	struct pprof_run run = p->label_sets.v[set];
	size_t n = 0;

	for (uint32_t i = 0; i < run.count; i++) {
		const struct pprof_label *l = &p->labels.v[run.first + i];

		if (!pprof_label_is_base(p, l))
			out[n++] = *l;
	}
	return n;
}

/* The labels of a set without that of the base: the key of a search. */
struct label_key {
	const struct pprof_label *v;
	size_t count;
	struct pprof_label *other; /* scratch for the labels of another set */
};

/* table_find() callback: whether a set has the labels of the key. */
static bool label_set_is_same(const void *ctx, uint32_t set, const void *key)
{
	const struct label_groups *g = ctx;
	const struct label_key *k = key;

	return copy_labels(g->p, set, k->other) == k->count &&
	       !memcmp(k->other, k->v, k->count * sizeof(*k->v));
}

/* Return the largest number of labels in a set. */
static size_t widest_set(const struct pprof *p)
{
	size_t max = 0;

	for (size_t i = 0; i < p->label_sets.count; i++) {
		if (p->label_sets.v[i].count > max)
			max = p->label_sets.v[i].count;
	}
	return max;
}

/* Find the group of each label set. */
static void group_label_sets(struct label_groups *g)
{
	const struct pprof *p = g->p;
	size_t size = (widest_set(p) + 1) * sizeof(struct pprof_label);
	struct pprof_label *labels = mem_alloc(size);
	struct label_key key = { .v = labels, .other = mem_alloc(size) };

	g->of = mem_zalloc(p->label_sets.count, sizeof(*g->of));
	for (uint32_t i = 0; i < p->label_sets.count; i++) {
		uint64_t hash;

		key.count = copy_labels(p, i, labels);
		hash = hash_key((struct bytes){ (const uint8_t *)labels,
						key.count * sizeof(*labels) });
		g->of[i] =
			table_find(&g->index, hash, label_set_is_same, g, &key);
		if (g->of[i] != TABLE_NONE)
			continue;
		g->of[i] = i;
		table_add(&g->index, hash, i);
	}
	mem_free(labels);
	mem_free(key.other);
}

int64_t report_net_total(const struct report *r)
{
	const struct pprof *p = r->p;
	struct label_groups g = { .p = p };
	struct pairs index = { 0 };
	VEC(int64_t) sums = { 0 };
	int64_t total = 0;

	group_label_sets(&g);
	for (size_t i = 0; i < p->samples.count; i++) {
		const struct pprof_sample *s = &p->samples.v[i];
		uint32_t *number = pairs_at(&index, s->stack, g.of[s->labels]);

		if (!*number) {
			*vec_add(&sums) = 0;
			*number = (uint32_t)sums.count;
		}
		assert(sums.v);
		sums.v[*number - 1] =
			wrap_add(sums.v[*number - 1], report_weight(r, i));
	}
	for (size_t i = 0; i < sums.count; i++)
		total = wrap_add(total, graph_abs(sums.v[i]));
	table_fini(&g.index);
	mem_free(g.of);
	pairs_fini(&index);
	vec_fini(&sums);
	return total;
}
