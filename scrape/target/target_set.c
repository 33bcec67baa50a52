/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/target/target_set.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"

/*
 * Bounds on the estimated memory of a job's targets and of its dropped targets.
 * Without bounds, a small file could make so many targets that they fill the
 * memory (docs/decisions.md, 75). Dropped targets beyond the bound are counted,
 * but not kept.
 */
#define BYTES_MAX         (256 * MIB)
#define DROPPED_BYTES_MAX (64 * MIB)
/* estimated memory of a target in bytes, without its labels and URL */
#define TARGET_BYTES 400

/* A target set while it is being made. */
struct set_builder {
	const struct scrape_config *config;
	struct http_config *client;
	/* the job's previous set; NULL: none */
	const struct target_set *before;
	struct table known; /* entries of `before` by target_spec_hash() */
	struct table pages; /* index pages of `before` by hash of the URL */
	struct table seen;  /* entries of the new set by hash of the labels */
	struct table types; /* indexes of job.types by type name */
	/*
	 * for each relabelling rule the text of dropped_by(), made when needed
	 */
	const char **dropped_by;
	struct target_set *set;
	size_t bytes; /* estimated memory of the active targets */
	size_t dropped_bytes;
};

/* Comparison function of the table `known`. */
static bool same_spec(const void *ctx, uint32_t number, const void *key)
{
	const struct target_set *s = ctx;

	return target_spec_eq(&s->v[number].target->spec, key);
}

/* Comparison function of the table `seen`. */
static bool target_set_same_labels(const void *ctx, uint32_t number,
				   const void *key)
{
	const struct target_set *s = ctx;
	const struct labels *ls = key;

	return bytes_eq(labels_bytes(s->v[number].target->spec.labels),
			labels_bytes(ls));
}

/* Comparison function of the table `pages`. */
static bool same_page(const void *ctx, uint32_t number, const void *url)
{
	const struct target_set *s = ctx;

	return !strcmp(s->v[number].target->spec.url, url);
}

static uint64_t target_set_hash_of(const char *text)
{
	return hash_key(bytes_of(str_of(text)));
}

/*
 * Index the previous set by spec and by URL of index pages (/debug/pprof/), so
 * that a target is found again in constant time.
 */
static void index_before(struct set_builder *m)
{
	if (!m->before)
		return;
	table_reserve(&m->known, m->before->active);
	for (size_t i = 0; i < m->before->count; i++) {
		const struct target *t = m->before->v[i].target;

		if (!t)
			continue;
		table_add(&m->known, t->hash, (uint32_t)i);
		if (t->found)
			table_add(&m->pages, target_set_hash_of(t->spec.url),
				  (uint32_t)i);
	}
}

/*
 * The message that a label name or value of `len` bytes exceeds a limit; NULL:
 * the limit is not exceeded. The caller owns the text.
 */
static char *too_long(const char *limit, int64_t max, struct str name,
		      size_t len)
{
	if (!max || (int64_t)len <= max)
		return NULL;
	/* The label name is cut, because a message has limited room. */
	return mem_printf(
		"%s exceeded: label %.*s has %zu bytes, and the limit is %lld",
		limit, (int)(name.len < 64 ? name.len : 64), name.ptr, len,
		(long long)max);
}

/*
 * The message about the limit of the job that the labels `ls` exceed; NULL:
 * they exceed no limit. The caller owns the text.
 */
static char *target_set_describe_refusal(const struct scrape_config *c,
					 const struct labels *ls)
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
			"label_limit exceeded: %lld labels, and the limit is %lld",
			(long long)count, (long long)c->common.label_limit);
	return why;
}

/*
 * The types that the index page with this URL named in the previous set; NULL:
 * none. A page whose spec has changed keeps its types until the page is read
 * again. Otherwise a reload would remove the targets of these types until then.
 */
static struct profile_list *found_before(const struct set_builder *m,
					 const struct target_spec *spec)
{
	uint32_t n = TABLE_NONE;

	if (spec->is_index && m->before)
		n = table_find(&m->pages, target_set_hash_of(spec->url),
			       same_page, m->before, spec->url);
	return n == TABLE_NONE ?
		       NULL :
		       profile_list_ref(m->before->v[n].target->found);
}

/*
 * Return a reference, which the caller owns, to a target with this spec, and
 * take over the spec. A target of the previous set with an equal spec is used
 * again. But if a limit refuses the target, or refused it in the previous set,
 * a new target is made, because the limit may have changed.
 */
static struct target *target_set_take_target(struct set_builder *m,
					     struct target_spec *spec)
{
	uint64_t hash;
	uint32_t n = TABLE_NONE;
	struct target *t;
	struct profile_list *found;
	char *why = target_set_describe_refusal(m->config, spec->labels);
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
	found = found_before(m, spec);
	t = target_new(spec);
	t->found = found;
	t->refused = why;
	if (why)
		t->health = TARGET_DOWN;
	return t;
}

/* Count a dropped target. Returns whether its entry is kept, to be shown. */
static bool keeps_dropped(struct set_builder *m, const char *why)
{
	int64_t most = m->config->common.keep_dropped_targets;

	m->set->dropped++;
	m->dropped_bytes += sizeof(struct target_entry) + strlen(why);
	return m->dropped_bytes <= DROPPED_BYTES_MAX &&
	       (!most || m->set->dropped <= (size_t)most);
}

/* Add a dropped entry. `why` must live as long as the set. */
static void target_set_drop(struct set_builder *m, struct target_entry e,
			    const char *why)
{
	if (!keeps_dropped(m, why))
		return;
	e.dropped = why;
	*vec_add(m->set) = e;
}

/* Add an entry whose labels do not make a target; the message is copied. */
static void drop_faulty(struct set_builder *m, struct target_entry e,
			const struct err *err)
{
	if (!keeps_dropped(m, err->msg))
		return;
	e.dropped = arena_strndup(&m->set->arena, str_of(err->msg));
	*vec_add(m->set) = e;
}

/*
 * Add an active entry and return its target; NULL: another target has the same
 * labels, so this entry is dropped (docs/decisions.md, 59).
 */
static const struct target *target_set_keep(struct set_builder *m,
					    struct target_entry e,
					    struct target_spec *spec)
{
	struct target_set *s = m->set;
	uint64_t hash = spec->labels->hash;

	if (table_find(&m->seen, hash, target_set_same_labels, s,
		       spec->labels) != TABLE_NONE) {
		target_spec_fini(spec);
		target_set_drop(
			m, e,
			"duplicate target: after relabelling, another target of the job has the same labels");
		return NULL;
	}
	table_add(&m->seen, hash, (uint32_t)s->count);
	m->bytes += TARGET_BYTES + spec->labels->len + strlen(spec->url);
	e.target = target_set_take_target(m, spec);
	*vec_add(s) = e;
	s->active++;
	return e.target;
}

/*
 * The reason "dropped by relabel_configs rule N (action)", a text that is made
 * once for each rule.
 */
static const char *dropped_by(struct set_builder *m, size_t rule)
{
	const struct relabel_rules *rules = &m->config->relabel;

	if (!m->dropped_by)
		m->dropped_by =
			arena_array(&m->set->arena, const char *, rules->count);
	if (!m->dropped_by[rule])
		m->dropped_by[rule] = arena_printf(
			&m->set->arena,
			"dropped by relabel_configs rule %zu (%s)", rule + 1,
			relabel_action_name(rules->v[rule].action));
	return m->dropped_by[rule];
}

/*
 * Relabel one target of one type and add it. Returns the target, or NULL when
 * it was dropped.
 */
static const struct target *target_set_add(struct set_builder *m,
					   struct target_entry e)
{
	struct target_set *s = m->set;
	const struct target *t = NULL;
	struct labels_builder b = { 0 };
	struct target_spec spec;
	struct err err;
	size_t by = 0;
	int rc;

	discovered_labels(&s->job, e.group, e.labels, e.type, &b);
	/*
	 * Rules that keep or drop targets by __name__ are skipped for an index
	 * page, because the page stands for all types (docs/decisions.md, 72).
	 */
	rc = relabel_run(&m->config->relabel,
			 job_labels_is_index(&s->job, e.type) ? LABEL_NAME :
								NULL,
			 &b, &by, &err);
	if (rc == RELABEL_DROPPED)
		target_set_drop(m, e, dropped_by(m, by));
	else if (rc < 0 || target_spec_make(&s->job, e.type, &b, &spec, &err))
		drop_faulty(m, e, &err);
	else
		t = target_set_keep(m, e, &spec);
	labels_builder_fini(&b);
	return t;
}

/* Add a target for each type that the index page named last. */
static void add_found(struct set_builder *m, struct target_entry e,
		      const struct profile_list *found)
{
	for (size_t i = 0; i < found->count; i++) {
		e.type = (uint32_t)job_labels_type(&m->set->job, m->config,
						   &m->set->arena, &m->types,
						   &found->v[i]);
		(void)target_set_add(m, e);
	}
}

/*
 * Whether the job has too many targets. If so, none of them will be scraped,
 * and no more need to be made.
 */
static bool is_beyond_limit(const struct set_builder *m)
{
	int64_t limit = m->config->common.target_limit;

	return m->bytes > BYTES_MAX ||
	       (limit && (int64_t)m->set->active > limit);
}

/* Add one discovered target once for each of its profile types. */
static void add_target(struct set_builder *m, struct target_entry e)
{
	const struct target *index;

	if (is_beyond_limit(m))
		return;
	if (m->config->auto_profiles) {
		index = target_set_add(m, e);
		if (index && index->found)
			add_found(m, e, index->found);
		return;
	}
	for (; e.type < m->set->job.type_count; e.type++)
		(void)target_set_add(m, e);
}

static void target_set_add_group(struct set_builder *m,
				 const struct target_group *g)
{
	for (size_t i = 0; i < g->target_count; i++)
		add_target(m, (struct target_entry){
				      .group = g, .labels = &g->targets[i] });
}

/*
 * Mark all targets as refused: if there are more than target_limit allows, none
 * of them is scraped, as in Prometheus.
 */
static void refuse_all(struct target_set *s, const char *why)
{
	s->refused = why;
	for (size_t i = 0; i < s->count; i++) {
		struct target_entry *e = &s->v[i];
		struct target *was = e->target;
		struct target_spec spec;

		if (!was)
			continue;
		/*
		 * The target may be shared with the previous set, so it is
		 * replaced by a copy instead of being changed.
		 */
		spec = was->spec;
		spec.labels = labels_ref(spec.labels);
		spec.client = http_config_ref(spec.client);
		spec.url = mem_strdup(spec.url);
		e->target = target_new(&spec);
		e->target->found = profile_list_ref(was->found);
		target_unref(was);
		e->target->health = TARGET_DOWN;
		e->target->refused = mem_strdup(why);
	}
}

/* The message about the exceeded limit; it lives in the set's arena. */
static const char *target_set_count_excess(const struct set_builder *m)
{
	if (m->bytes > BYTES_MAX)
		return arena_printf(
			&m->set->arena,
			"the job's targets take more than %ld MB of memory (each profile type of an address is a target): drop targets with relabel_configs, or split the job",
			BYTES_MAX / MIB);
	return arena_printf(
		&m->set->arena,
		"target_limit exceeded: the job has more than %lld targets (each profile type of an address is a target)",
		(long long)m->config->common.target_limit);
}

struct target_set *target_set_make(const struct scrape_config *c,
				   struct http_config *client,
				   const struct target_groups_list *groups,
				   const struct target_set *before)
{
	struct target_set *s = mem_new(struct target_set);
	struct set_builder m = {
		.config = c, .client = client, .before = before, .set = s
	};

	atomic_init(&s->refs, 1);
	job_labels_make(c, &s->arena, &s->job);
	target_groups_share(&s->groups, groups);
	index_before(&m);
	for (size_t i = 0; i < groups->count; i++) {
		for (size_t k = 0; k < groups->v[i]->count; k++)
			target_set_add_group(&m, &groups->v[i]->v[k]);
	}
	if (is_beyond_limit(&m))
		refuse_all(s, target_set_count_excess(&m));
	table_fini(&m.known);
	table_fini(&m.pages);
	table_fini(&m.types);
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
