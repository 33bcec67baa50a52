/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_group.h"

#include <stdlib.h>

#include "base/dec.h"
#include "base/enc.h"
#include "base/hash.h"
#include "pprof/proto/encode.h"

/*
 * Encode what a group is found by. Resources list the same attributes in any order, so
 * the labels are sorted.
 */
static void otlp_groups_key(const struct labels_builder *labels,
			    const struct pprof *p, struct buf *key,
			    struct buf *types)
{
	VEC(struct label) sorted = { 0 };

	vec_add_all(&sorted, labels->v, labels->count);
	if (sorted.count)
		qsort(sorted.v, sorted.count, sizeof(*sorted.v), label_by_name);
	for (size_t i = 0; i < sorted.count; i++) {
		enc_str(key, sorted.v[i].name);
		enc_str(key, sorted.v[i].value);
	}
	vec_fini(&sorted);
	enc_svarint(key, p->time_ns);
	for (size_t i = 0; i < p->types.count; i++) {
		enc_str(types, pprof_str(p, p->types.v[i].type));
		enc_str(types, pprof_str(p, p->types.v[i].unit));
	}
	enc_str(types, pprof_str(p, p->period_type.type));
	enc_str(types, pprof_str(p, p->period_type.unit));
	enc_svarint(types, p->period);
}

static bool otlp_groups_same(const void *ctx, uint32_t number, const void *key)
{
	const struct otlp_groups *g = ctx;
	const struct otlp_group *a = &g->v.v[number];
	const struct otlp_group *b = key;

	return bytes_eq(buf_bytes(&a->key), buf_bytes(&b->key)) &&
	       bytes_eq(buf_bytes(&a->types), buf_bytes(&b->types));
}

/* Find the group of a profile, or add one. */
static struct otlp_group *otlp_groups_find(struct otlp_groups *g,
					   const struct labels_builder *labels,
					   const struct pprof *p)
{
	struct otlp_group new = { .time_ns = p->time_ns };
	uint64_t hash;
	uint32_t number;

	otlp_groups_key(labels, p, &new.key, &new.types);
	hash = hash_key(buf_bytes(&new.key));
	number = table_find(&g->index, hash, otlp_groups_same, g, &new);
	if (number != TABLE_NONE) {
		buf_fini(&new.key);
		buf_fini(&new.types);
		return &g->v.v[number];
	}
	for (size_t i = 0; i < labels->count; i++)
		labels_set(&new.labels, labels->v[i].name, labels->v[i].value);
	new.merge = merge_new();
	g->memory += sizeof(new) + merge_memory(new.merge) + new.key.cap +
		     new.types.cap + new.labels.arena.used +
		     new.labels.cap * sizeof(*new.labels.v);
	table_add(&g->index, hash, (uint32_t)g->v.count);
	*vec_add(&g->v) = new;
	return &g->v.v[g->v.count - 1];
}

int otlp_groups_add(struct otlp_groups *g, const struct labels_builder *labels,
		    const struct pprof *p, const struct otlp_members *members,
		    struct err *err)
{
	struct otlp_group *group = otlp_groups_find(g, labels, p);
	size_t before = merge_memory(group->merge);
	int rc = merge_add(group->merge, p, NULL, err);

	g->memory += merge_memory(group->merge) - before +
		     members->count * sizeof(*members->v);
	vec_add_all(&group->members, members->v, rc ? 0 : members->count);
	if (p->duration_ns > group->duration_ns)
		group->duration_ns = p->duration_ns;
	return rc;
}

/* Whether a group has the key of another one, and is not the same. */
static bool otlp_groups_other(const void *ctx, uint32_t number, const void *key)
{
	const struct otlp_groups *g = ctx;
	const struct otlp_group *a = &g->v.v[number];
	const struct otlp_group *b = key;

	return a != b && bytes_eq(buf_bytes(&a->key), buf_bytes(&b->key));
}

bool otlp_groups_collide(const struct otlp_groups *g, size_t i)
{
	const struct otlp_group *group = &g->v.v[i];

	return table_find(&g->index, hash_key(buf_bytes(&group->key)),
			  otlp_groups_other, g, group) != TABLE_NONE;
}

struct str otlp_groups_type(const struct otlp_group *group)
{
	struct dec d = dec_init(buf_bytes(&group->types));

	return dec_str(&d);
}

/* Profiles that were merged are of one time, so their durations are no sum. */
void otlp_groups_encode(struct otlp_groups *g, size_t i, struct buf *out)
{
	struct otlp_group *group = &g->v.v[i];
	size_t memory = merge_memory(group->merge);
	struct pprof *p = merge_finish(group->merge);

	p->duration_ns = group->duration_ns;
	pprof_encode(p, out);
	merge_free(group->merge);
	group->merge = NULL;
	g->memory -= memory;
}

void otlp_groups_fini(struct otlp_groups *g)
{
	for (size_t i = 0; i < g->v.count; i++) {
		struct otlp_group *group = &g->v.v[i];

		labels_builder_fini(&group->labels);
		buf_fini(&group->key);
		buf_fini(&group->types);
		merge_free(group->merge);
		vec_fini(&group->members);
	}
	vec_fini(&g->v);
	table_fini(&g->index);
}
