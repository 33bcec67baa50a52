/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/label_spans.h"

#include "base/enc.h"
#include "base/hash.h"

/* The key of a group or of a span, for the hash tables. */
struct span_key {
	uint32_t group;
	struct str type;
	struct str job;
	struct str workload;
	struct str text; /* name of the label, or its value */
};

/*
 * Append what tells a program of a machine from others of the same name: the
 * labels of its workload, without those of its instances. Nothing is appended for
 * series that have no label `exe`.
 */
static void span_workload(struct labels *ls, struct buf *out)
{
	static const char *const names[] = { "exe", "namespace", "container",
					     "systemd_unit", "cgroup" };

	if (!labels_get(ls, str_of("exe")).len)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		enc_str(out, labels_get(ls, str_of(names[i])));
}

/*
 * Hash each text, then the hashes together, so that it matters where one text
 * ends and the next begins.
 */
static uint64_t span_hash(const struct span_key *k)
{
	uint64_t parts[] = {
		k->group,
		hash_key(bytes_of(k->type)),
		hash_key(bytes_of(k->job)),
		hash_key(bytes_of(k->workload)),
		hash_key(bytes_of(k->text)),
	};

	return hash_key(
		(struct bytes){ (const uint8_t *)parts, sizeof(parts) });
}

/* table_find() callback for groups. */
static bool span_same_group(const void *ctx, uint32_t i, const void *key)
{
	const struct label_spans *s = ctx;
	const struct span_key *k = key;
	const struct label_group *g = &s->groups.v[i];

	return str_eq(g->type, k->type) && str_eq(g->job, k->job) &&
	       str_eq(g->workload, k->workload) && str_eq(g->name, k->text);
}

/* table_find() callback for spans. */
static bool span_same_value(const void *ctx, uint32_t i, const void *key)
{
	const struct label_spans *s = ctx;
	const struct span_key *k = key;

	return s->v.v[i].group == k->group && str_eq(s->v.v[i].value, k->text);
}

/*
 * Return the number of the group for a series and a label; add the group if it
 * is new.
 */
static uint32_t span_take_group(struct label_spans *s, struct labels *ls,
				struct str name, int64_t first)
{
	struct span_key key = {
		.type = labels_get(ls, str_of(LABEL_NAME)),
		.job = labels_get(ls, str_of("job")),
		.text = name,
	};
	struct buf workload = { 0 };
	uint64_t hash;
	uint32_t i;

	span_workload(ls, &workload);
	key.workload = str_from(buf_bytes(&workload));
	hash = span_hash(&key);
	i = table_find(&s->group_index, hash, span_same_group, s, &key);
	if (i == TABLE_NONE) {
		i = (uint32_t)s->groups.count;
		*vec_add(&s->groups) = (struct label_group){
			.type = arena_str(&s->text, key.type),
			.job = arena_str(&s->text, key.job),
			.exe = arena_str(&s->text,
					 labels_get(ls, str_of("exe"))),
			.workload = arena_str(&s->text, key.workload),
			.name = arena_str(&s->text, name),
			.first = first,
		};
		table_add(&s->group_index, hash, i);
	}
	if (first < s->groups.v[i].first)
		s->groups.v[i].first = first;
	buf_fini(&workload);
	return i;
}

void label_spans_add(struct label_spans *s, struct labels *ls, struct str name,
		     struct str value, int64_t first, int64_t last)
{
	struct span_key key = { .group = span_take_group(s, ls, name, first),
				.text = value };
	uint64_t hash = span_hash(&key);
	uint32_t i = table_find(&s->index, hash, span_same_value, s, &key);
	struct label_span *x;

	if (i == TABLE_NONE) {
		i = (uint32_t)s->v.count;
		*vec_add(&s->v) = (struct label_span){
			.group = key.group,
			.value = arena_str(&s->text, value),
			.first = first,
			.last = last,
		};
		table_add(&s->index, hash, i);
	}
	x = &s->v.v[i];
	x->first = first < x->first ? first : x->first;
	x->last = last > x->last ? last : x->last;
	if (x->counted != ls)
		x->series++;
	x->counted = ls;
}

size_t label_spans_memory(const struct label_spans *s)
{
	return vec_memory(&s->groups) + vec_memory(&s->v) + s->text.used +
	       table_memory(&s->group_index) + table_memory(&s->index);
}

void label_spans_fini(struct label_spans *s)
{
	vec_fini(&s->groups);
	vec_fini(&s->v);
	table_fini(&s->group_index);
	table_fini(&s->index);
	arena_fini(&s->text);
}
