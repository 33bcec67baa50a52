/* SPDX-License-Identifier: Apache-2.0 */
#include "query/history/changes.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "model/types.h"
#include "pprof/merge/aggregate.h"

/* Take the memory by which the lists have grown, and check the deadline. */
static int changes_check(struct changes *c, struct err *err)
{
	int64_t now =
		(int64_t)(label_spans_memory(&c->spans) +
			  vec_memory(&c->found) + vec_memory(&c->targets) +
			  table_memory(&c->target_index));
	int rc = query_check_deadline(c->work, err);

	if (!rc && now > c->taken)
		rc = query_take(c->work, now - c->taken, err);
	if (!rc && now > c->taken)
		c->taken = now;
	return rc;
}

/* Return the number of the step that contains the time `ms`. */
static int64_t change_step(const struct changes *c, int64_t ms)
{
	return (ms - c->o->spec->from) / c->o->step_ms;
}

/*
 * Return the entry for a change; if another change of the same kind and name in
 * the same step has an entry already, it is shared.
 */
static struct change *change_take(struct changes *c, enum change_kind kind,
				  struct str name, int64_t ms)
{
	struct change *x;

	for (size_t i = 0; i < c->found.count; i++) {
		x = &c->found.v[i];
		if (x->kind != kind || !str_eq(x->name, name) ||
		    change_step(c, x->ms) != change_step(c, ms))
			continue;
		x->ms = ms < x->ms ? ms : x->ms;
		return x;
	}
	x = vec_add(&c->found);
	*x = (struct change){ .ms = ms, .kind = kind, .name = name };
	return x;
}

/* Add a value to a list of a change, unless the list has the value already. */
#define change_add_value(list, value)                             \
	do {                                                      \
		bool there_ = false;                              \
                                                                  \
		for (size_t i_ = 0; i_ < (list)->count; i_++)     \
			there_ |= str_eq((list)->v[i_], (value)); \
		if (!there_)                                      \
			*vec_add(list) = (value);                 \
	} while (0)

/*
 * Return the last time, at most `ms`, at which a span was seen. Returns
 * INT64_MIN if the span belongs to another group or begins at `ms` or later.
 */
static int64_t seen_before(const struct label_span *x, uint32_t group,
			   int64_t ms)
{
	if (x->group != group || x->first >= ms)
		return INT64_MIN;
	return x->last < ms ? x->last : ms;
}

/*
 * Add to x->from the values that the new value `s` replaces: those that series
 * of its group had last before `s` began, give or take two steps. They may have
 * ended some time ago, if profiles are rare or the job had stopped.
 */
static void add_replaced(const struct changes *c, const struct label_span *s,
			 struct change *x)
{
	int64_t last = INT64_MIN;

	for (size_t k = 0; k < c->spans.v.count; k++) {
		int64_t ms = seen_before(&c->spans.v.v[k], s->group, s->first);

		last = ms > last ? ms : last;
	}
	for (size_t k = 0; k < c->spans.v.count && last != INT64_MIN; k++) {
		int64_t ms = seen_before(&c->spans.v.v[k], s->group, s->first);

		if (ms != INT64_MIN && ms >= last - 2 * c->o->step_ms)
			change_add_value(&x->from, c->spans.v.v[k].value);
	}
}

/*
 * Turn the spans into changes: a value is new if it begins more than one step
 * after the first profile of its job.
 */
static int changes_of_labels(struct changes *c, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < c->spans.v.count && !rc; i++) {
		const struct label_span *s = &c->spans.v.v[i];
		const struct label_group *g = &c->spans.groups.v[s->group];
		struct change *x;

		rc = changes_check(c, err);
		if (s->first <= g->first + c->o->step_ms)
			continue;
		x = change_take(c, g->name.len ? CHANGE_LABEL : CHANGE_BUILD_ID,
				g->name, s->first);
		x->series += s->series;
		change_add_value(&x->jobs, g->job);
		if (g->exe.len)
			change_add_value(&x->programs, g->exe);
		change_add_value(&x->to, s->value);
		add_replaced(c, s, x);
	}
	return rc;
}

/*
 * Set *out to whether the process restarted between rows i and i + 1, which
 * shows as a counter that decreased. Rows with different type sets cannot be
 * compared; *out is then false. Set *counts, which is false before, if the rows
 * have counters.
 */
static int change_restarted(const struct totals_view *t, size_t i,
			    struct typeset *types, bool *counts, bool *out,
			    struct err *err)
{
	const struct totals_row *row = &t->rows[i];
	enum value_kind kinds[TYPES_MAX];
	int rc;

	*out = false;
	if (row->typeset != row[1].typeset)
		return 0;
	rc = typeset_decode(t->typesets[row->typeset], types, err);
	for (size_t k = 0; k < types->count && !rc; k++) {
		kinds[k] = value_kind(types->types[k].type,
				      querier_counts_interval(t, row));
		*counts |= kinds[k] == KIND_COUNTER;
	}
	if (!rc)
		*out = aggregate_restarted(kinds, t->totals + row->first,
					   t->totals + row[1].first,
					   types->count);
	return rc;
}

/* Add an instance to a change, and drop the list if it becomes too long. */
static void change_add_instance(struct change *x, struct str instance)
{
	if (x->many_instances || !instance.len)
		return;
	change_add_value(&x->instances, instance);
	x->many_instances = x->instances.count > CHANGE_INSTANCES_MAX;
	if (x->many_instances)
		x->instances.count = 0;
}

/*
 * Add the restarts of the series with the labels `ls`, and set *counts if it has
 * counters. `t` has the totals of its profiles. The labels are freed with the
 * selection, so their texts are copied.
 */
static int changes_of_counters(struct changes *c, const struct labels *ls,
			       const struct totals_view *t,
			       struct typeset *types, bool *counts,
			       struct err *err)
{
	struct str job = labels_get(ls, str_of("job"));
	struct str instance = labels_get(ls, str_of("instance"));
	int rc = 0;

	for (size_t i = 0; i + 1 < t->count && !rc; i++) {
		struct change *x;
		bool restarted;

		rc = change_restarted(t, i, types, counts, &restarted, err);
		if (rc || !restarted)
			continue;
		x = change_take(c, CHANGE_RESTART, str_of(""),
				t->rows[i + 1].ms);
		x->series++;
		change_add_value(&x->jobs, arena_str(&c->spans.text, job));
		change_add_instance(x, arena_str(&c->spans.text, instance));
	}
	return rc;
}

/* Return a hash of the labels of a series without its type. */
static uint64_t change_target_hash(const struct labels *ls)
{
	struct labels_iter it = labels_iter(ls);
	struct label l;
	uint64_t h[3] = { 0 };

	while (labels_next(&it, &l)) {
		if (str_eq(l.name, str_of(LABEL_NAME)))
			continue;
		h[1] = hash_key(bytes_of(l.name));
		h[2] = hash_key(bytes_of(l.value));
		h[0] = hash_key(
			(struct bytes){ (const uint8_t *)h, sizeof(h) });
	}
	return h[0];
}

/* Whether the target number `number` has this hash. */
static bool change_target_same(const void *ctx, uint32_t number,
			       const void *key)
{
	const struct changes *c = ctx;

	return c->targets.v[number] == *(const uint64_t *)key;
}

/* Whether one of the targets whose restarts are looked for has the labels. */
static bool changes_keep_target(void *ctx, const struct labels *ls)
{
	struct changes *c = ctx;
	uint64_t hash = change_target_hash(ls);

	return table_find(&c->target_index, hash, change_target_same, c,
			  &hash) != TABLE_NONE;
}

/* Look for the restarts of a target in its heap profiles. */
static void changes_add_target(struct changes *c, const struct labels *ls)
{
	uint64_t hash = change_target_hash(ls);

	if (changes_keep_target(c, ls))
		return;
	table_add(&c->target_index, hash, (uint32_t)c->targets.count);
	*vec_add(&c->targets) = hash;
}

/*
 * Add to the spans the values that the series `ls` has of the labels in the
 * options. `t` has the series' profiles. Returns whether the series has any of
 * these labels.
 */
static bool changes_add_labels(struct changes *c, struct labels *ls,
			       const struct totals_view *t)
{
	struct str rest = c->o->labels;
	bool any = false;

	while (rest.len) {
		struct str name = str_trim(str_cut(rest, ',', &rest));
		struct str value = labels_get(ls, name);

		if (!value.len)
			continue;
		any = true;
		label_spans_add(&c->spans, ls, name, value, t->rows[0].ms,
				t->rows[t->count - 1].ms);
	}
	return any;
}

/*
 * Look at one series: its labels, its first and last profile, its counters. Its
 * build IDs are searched only if no label says which version it is.
 */
static int changes_of_series(struct changes *c, struct querier *q, size_t i,
			     struct typeset *types, struct err *err)
{
	const struct query_spec *s = c->o->spec;
	struct totals_view t = { 0 };
	bool counts = false;
	int rc = querier_totals(q, i, s->from, s->to, &t, err);

	if (rc || !t.count)
		return rc;
	rc = changes_of_counters(c, querier_labels(q, i), &t, types, &counts,
				 err);
	if (!rc && !counts)
		changes_add_target(c, querier_labels(q, i));
	if (!rc && !changes_add_labels(c, querier_labels(q, i), &t))
		rc = build_search_series(&c->builds, q, i, t.rows, t.count,
					 err);
	return rc ? rc : changes_check(c, err);
}

/*
 * Copy the matchers to `out`, with heap profiles in place of the type that they
 * select, and return their number; 0 if they select heap profiles, too.
 */
static size_t changes_heap_matchers(const struct selector *s,
				    struct matcher *out)
{
	const struct str heap = str_of("heap");
	bool all_types = true;
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct matcher *m = &s->matchers[i];

		if (!str_eq(m->name, str_of(LABEL_NAME)))
			out[n++] = *m;
		else
			all_types &= matcher_matches(m, heap);
	}
	if (all_types)
		return 0;
	out[n++] = (struct matcher){ .op = MATCH_EQ,
				     .name = str_of(LABEL_NAME),
				     .value = heap };
	return n;
}

/*
 * Add the restarts of targets whose selected series have no counters: their heap
 * profiles show them. Replaces the querier's selection.
 */
static int changes_of_heaps(struct changes *c, struct querier *q,
			    struct typeset *types, struct err *err)
{
	const struct query_spec *s = c->o->spec;
	struct matcher v[SELECTOR_MATCHERS_MAX];
	size_t n = changes_heap_matchers(&s->selector, v);
	int rc = 0;

	if (!n || !c->targets.count)
		return 0;
	rc = query_select(c->work, q, v, n, s->from, s->to, err);
	if (!rc)
		querier_keep(q, changes_keep_target, c);
	for (size_t i = 0; !rc && i < querier_count(q); i++) {
		struct totals_view t = { 0 };
		bool counts = false;

		rc = querier_totals(q, i, s->from, s->to, &t, err);
		if (!rc)
			rc = changes_of_counters(c, querier_labels(q, i), &t,
						 types, &counts, err);
		if (!rc)
			rc = changes_check(c, err);
	}
	return rc;
}

/* Look at all series. */
static int changes_of_all(struct changes *c, struct querier *q, struct err *err)
{
	struct typeset *types = mem_new(struct typeset);
	int rc = 0;

	build_search_init(&c->builds, &c->spans, querier_count(q),
			  c->o->decode_memory, c->work);
	for (size_t i = 0; i < querier_count(q) && !rc; i++)
		rc = changes_of_series(c, q, i, types, err);
	if (!rc)
		rc = changes_of_heaps(c, q, types, err);
	mem_free(types);
	return rc;
}

/* Order of changes: most series first. */
static int change_by_series(const void *a, const void *b)
{
	const struct change *x = a;
	const struct change *y = b;

	if (x->series != y->series)
		return x->series > y->series ? -1 : 1;
	return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* Order of changes: by time. */
static int change_by_time(const void *a, const void *b)
{
	const struct change *x = a;
	const struct change *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->kind != y->kind ? (int)x->kind - (int)y->kind :
				    str_cmp(x->name, y->name);
}

/* Free the lists of a change. */
static void change_fini(struct change *x)
{
	vec_fini(&x->jobs);
	vec_fini(&x->programs);
	vec_fini(&x->instances);
	vec_fini(&x->from);
	vec_fini(&x->to);
}

/*
 * Keep at most CHANGES_MAX changes, those of the most series, and sort them by
 * time.
 */
static void changes_sort(struct changes *c)
{
	if (!c->found.count)
		return;
	if (c->found.count > CHANGES_MAX) {
		qsort(c->found.v, c->found.count, sizeof(*c->found.v),
		      change_by_series);
		c->left_out = c->found.count - CHANGES_MAX;
		while (c->found.count > CHANGES_MAX)
			change_fini(&c->found.v[--c->found.count]);
	}
	qsort(c->found.v, c->found.count, sizeof(*c->found.v), change_by_time);
}

int changes_find(struct changes *c, struct tsdb *db, struct query_work *work,
		 const struct changes_options *o, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	int rc;

	*c = (struct changes){ .o = o, .work = work };
	if (o->step_ms <= 0)
		return err_set(err, ERR_INVALID,
			       "parameter \"step\" must be above 0");
	query_open(work, db, &q);
	rc = query_select(work, q, o->spec->selector.matchers,
			  o->spec->selector.count, o->spec->from, o->spec->to,
			  err);
	if (!rc)
		rc = changes_of_all(c, q, err);
	if (!rc)
		rc = changes_of_labels(c, err);
	if (!rc)
		changes_sort(c);
	return rc;
}

/* Write a list of values. */
static void change_write_values(struct json *j, const char *key,
				const struct str *v, size_t count)
{
	json_key(j, key);
	json_begin(j, '[');
	for (size_t i = 0; i < count; i++)
		json_str(j, v[i]);
	json_end(j, ']');
}

/* The names of the kinds of changes in the API. */
static const char *const change_kinds[] = {
	[CHANGE_LABEL] = "label",
	[CHANGE_BUILD_ID] = "build_id",
	[CHANGE_RESTART] = "restart",
};

void changes_json(const struct changes *c, struct json *j)
{
	json_begin(j, '[');
	for (size_t i = 0; i < c->found.count; i++) {
		const struct change *x = &c->found.v[i];

		json_begin(j, '{');
		json_key(j, "time");
		json_int(j, x->ms);
		json_key(j, "kind");
		json_text(j, change_kinds[x->kind]);
		json_key(j, "name");
		json_str(j, x->name);
		change_write_values(j, "jobs", x->jobs.v, x->jobs.count);
		change_write_values(j, "programs", x->programs.v,
				    x->programs.count);
		change_write_values(j, "instances", x->instances.v,
				    x->instances.count);
		change_write_values(j, "from", x->from.v, x->from.count);
		change_write_values(j, "to", x->to.v, x->to.count);
		json_key(j, "series");
		json_int(j, (int64_t)x->series);
		json_end(j, '}');
	}
	json_end(j, ']');
}

void changes_fini(struct changes *c)
{
	for (size_t i = 0; i < c->found.count; i++)
		change_fini(&c->found.v[i]);
	vec_fini(&c->found);
	vec_fini(&c->targets);
	table_fini(&c->target_index);
	build_search_fini(&c->builds);
	label_spans_fini(&c->spans);
}
