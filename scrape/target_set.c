/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/target_set.h"

#include "base/mem.h"
#include "base/table.h"

/* A set being made. */
struct making {
	const struct scrape_config *config;
	struct http_config *client;
	const struct target_set *before;
	struct table known; /* entries of before by their target's hash */
	struct table seen;  /* entries of the set by their labels' hash */
	struct target_set *set;
};

static bool same_spec(const void *ctx, uint32_t number, const void *key)
{
	const struct target_set *s = ctx;

	return target_spec_eq(&s->v[number].target->spec, key);
}

static bool same_labels(const void *ctx, uint32_t number, const void *key)
{
	const struct target_set *s = ctx;
	const struct labels *ls = key;

	return bytes_eq(labels_bytes(s->v[number].target->spec.labels),
			labels_bytes(ls));
}

static void index_before(struct making *m)
{
	if (!m->before)
		return;
	table_reserve(&m->known, m->before->active);
	for (size_t i = 0; i < m->before->count; i++) {
		const struct target *t = m->before->v[i].target;

		if (t)
			table_add(&m->known, t->hash, (uint32_t)i);
	}
}

/* What a limit says of a name or value of len bytes; NULL: it is within. */
static char *too_long(const char *limit, int64_t max, struct str name,
		      size_t len)
{
	if (!max || (int64_t)len <= max)
		return NULL;
	/* As much of the name as a message has room for. */
	return mem_printf(
		"%s exceeded: label %.*s has %zu bytes, the limit is %lld",
		limit, (int)(name.len < 64 ? name.len : 64), name.ptr, len,
		(long long)max);
}

/* Why the job's limits refuse the target, or NULL. */
static char *refusal(const struct scrape_config *c, const struct labels *ls)
{
	struct labels_iter it = labels_iter(ls);
	struct label l;
	int64_t count = 0;
	char *why = NULL;

	while (!why && labels_next(&it, &l)) {
		count++;
		why = too_long("label_name_length_limit",
			       c->common.label_name_length_limit, l.name,
			       l.name.len);
		if (!why)
			why = too_long("label_value_length_limit",
				       c->common.label_value_length_limit,
				       l.name, l.value.len);
	}
	if (!why && c->common.label_limit && count > c->common.label_limit)
		why = mem_printf(
			"label_limit exceeded: %lld labels, the limit is %lld",
			(long long)count, (long long)c->common.label_limit);
	return why;
}

/* The target with that spec: the one that was there, or a new one. */
static struct target *take_target(struct making *m, struct target_spec *spec)
{
	uint64_t hash;
	uint32_t n = TABLE_NONE;
	struct target *t;
	char *why = refusal(m->config, spec->labels);
	bool keep;

	spec->client = http_config_ref(m->client);
	hash = target_spec_hash(spec);
	if (m->before)
		n = table_find(&m->known, hash, same_spec, m->before, spec);
	keep = n != TABLE_NONE && !why && !m->before->v[n].target->refused;
	if (keep) {
		target_spec_fini(spec);
		return target_ref(m->before->v[n].target);
	}
	t = target_new(spec);
	t->refused = why;
	if (why)
		t->health = TARGET_DOWN;
	return t;
}

static void drop(struct making *m, struct target_entry e, const char *why)
{
	int64_t most = m->config->common.keep_dropped_targets;
	struct target_set *s = m->set;

	s->dropped++;
	if (most && s->dropped > (size_t)most)
		return;
	e.dropped = why;
	s->v[s->count++] = e;
}

static void keep(struct making *m, struct target_entry e,
		 struct target_spec *spec)
{
	struct target_set *s = m->set;
	uint64_t hash = spec->labels->hash;

	if (table_find(&m->seen, hash, same_labels, s, spec->labels) !=
	    TABLE_NONE) {
		target_spec_fini(spec);
		drop(m, e, "another target has the same labels");
		return;
	}
	table_add(&m->seen, hash, (uint32_t)s->count);
	e.target = take_target(m, spec);
	s->v[s->count++] = e;
	s->active++;
}

static void add(struct making *m, struct target_entry e)
{
	struct target_set *s = m->set;
	struct labels_builder b = { 0 };
	struct target_spec spec;
	struct err err;
	int rc;

	discovered_labels(&s->job, e.group, e.labels, e.type, &b);
	rc = relabel_run(&m->config->relabel, &b, &err);
	if (rc == RELABEL_DROPPED) {
		drop(m, e, "relabelling dropped it");
	} else {
		rc = rc < 0 ? rc : target_spec_make(&s->job, &b, &spec, &err);
		if (rc)
			drop(m, e, arena_strndup(&s->arena, str_of(err.msg)));
		else
			keep(m, e, &spec);
	}
	labels_builder_fini(&b);
}

static void add_group(struct making *m, const struct target_group *g)
{
	for (size_t i = 0; i < g->target_count; i++) {
		for (size_t t = 0; t < m->set->job.type_count; t++)
			add(m, (struct target_entry){ .group = g,
						      .labels = &g->targets[i],
						      .type = (uint32_t)t });
	}
}

/* With too many targets none is scraped, as Prometheus does it. */
static void check_count(struct making *m)
{
	const int64_t limit = m->config->common.target_limit;
	struct target_set *s = m->set;

	if (!limit || (int64_t)s->active <= limit)
		return;
	for (size_t i = 0; i < s->count; i++) {
		struct target_entry *e = &s->v[i];
		struct target_spec spec;

		if (!e->target)
			continue;
		/* It may be one that others know, and is not changed. */
		spec = e->target->spec;
		spec.labels = labels_ref(spec.labels);
		spec.client = http_config_ref(spec.client);
		spec.url = mem_strdup(spec.url);
		target_unref(e->target);
		e->target = target_new(&spec);
		e->target->health = TARGET_DOWN;
		e->target->refused = mem_printf(
			"target_limit exceeded: %zu targets, the limit is %lld",
			s->active, (long long)limit);
	}
}

struct target_set *target_set_make(const struct scrape_config *c,
				   struct http_config *client,
				   const struct target_groups_list *groups,
				   const struct target_set *before)
{
	struct target_set *s = mem_new(struct target_set);
	struct making m = {
		.config = c, .client = client, .before = before, .set = s
	};
	size_t targets = 0;

	atomic_init(&s->refs, 1);
	job_labels_make(c, &s->arena, &s->job);
	target_groups_share(&s->groups, groups);
	for (size_t i = 0; i < groups->count; i++)
		targets += groups->v[i]->targets;
	s->v = mem_zalloc(targets * s->job.type_count + 1, sizeof(*s->v));
	index_before(&m);
	for (size_t i = 0; i < groups->count; i++) {
		for (size_t k = 0; k < groups->v[i]->count; k++)
			add_group(&m, &groups->v[i]->v[k]);
	}
	check_count(&m);
	table_fini(&m.known);
	table_fini(&m.seen);
	return s;
}

struct target_set *target_set_ref(struct target_set *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

void target_set_unref(struct target_set *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	for (size_t i = 0; i < s->count; i++)
		target_unref(s->v[i].target);
	mem_free(s->v);
	target_groups_list_fini(&s->groups);
	arena_fini(&s->arena);
	mem_free(s);
}
