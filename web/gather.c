/* SPDX-License-Identifier: Apache-2.0 */
#include "web/gather.h"

#include <inttypes.h>

#include "base/mem.h"

void gather_init(struct gather *g, struct web *w, struct request *r,
		 struct answer *a, const struct gather_options *o)
{
	*g = (struct gather){
		.web = w,
		.r = r,
		.a = a,
		.o = o,
		.merge = merge_new(),
		.decoder = decoder_new((size_t)w->memory.max),
		.types = mem_new(struct typeset),
	};
}

void gather_fini(struct gather *g)
{
	merge_free(g->merge);
	decoder_free(g->decoder);
	profile_fini(&g->fetched);
	mem_free(g->types);
}

/* Take what merging has grown by from the memory of all queries. */
static int account(struct gather *g, struct err *err)
{
	int64_t now =
		(int64_t)(merge_memory(g->merge) + decoder_memory(g->decoder) +
			  g->fetched.raw.cap);
	int64_t more = now - g->taken;

	if (more <= 0)
		return 0;
	g->taken = now;
	return answer_take(g->a, more, err);
}

/* What one damaged profile leaves out is told, not fatal. */
static int leave_out(struct gather *g, int rc, const struct err *why,
		     struct err *err)
{
	if (rc != ERR_CORRUPT && rc != ERR_NOTFOUND)
		return err_set(err, rc, "%s", why->msg);
	if (!g->damaged++)
		g->damage = *why;
	return 0;
}

static int add_one(struct gather *g, struct querier *q, size_t series,
		   int64_t ms, const enum merge_op *ops, struct err *err)
{
	struct pprof *p;
	struct err why;
	int rc = querier_fetch(q, series, ms, &g->fetched, &why);

	if (rc)
		return leave_out(g, rc, &why, err);
	rc = decoder_run(g->decoder, buf_bytes(&g->fetched.raw), &p, err);
	if (!rc)
		rc = merge_add(g->merge, p, ops, err);
	if (!rc)
		rc = account(g, err);
	g->profiles += !rc;
	return rc;
}

/* One series. */

struct plan {
	struct gather *g;
	const struct totals_view *t;
	enum value_kind kinds[TYPES_MAX];
	enum merge_op ops[TYPES_MAX];
	uint32_t typeset; /* that kinds are of */
	bool has_duration;
	bool known;
	size_t only; /* the type that matters, when only one does */
};

/* The kinds of a row's types; they seldom change within a series. */
static int find_kinds(struct plan *p, const struct totals_row *row,
		      struct err *err)
{
	struct gather *g = p->g;
	bool has_duration = row->duration_ns > 0;
	int rc;

	if (p->known && p->typeset == row->typeset &&
	    p->has_duration == has_duration)
		return 0;
	rc = typeset_decode(p->t->typesets[row->typeset], g->types, err);
	if (!rc && g->o->one_type)
		rc = typeset_index(g->types, g->o->sample_index, &p->only, err);
	for (size_t i = 0; i < g->types->count && !rc; i++)
		p->kinds[i] = value_kind(g->types->types[i].type, has_duration);
	p->typeset = row->typeset;
	p->has_duration = has_duration;
	p->known = true;
	return rc;
}

static bool restarts_after(const struct plan *p, size_t i)
{
	const struct totals_view *t = p->t;

	return i + 1 < t->count &&
	       t->rows[i].typeset == t->rows[i + 1].typeset &&
	       aggregate_restarted(p->kinds, t->totals + t->rows[i].first,
				   t->totals + t->rows[i + 1].first,
				   p->g->types->count);
}

/* What to do with row i; false: nothing of it is needed. */
static bool choose_ops(struct plan *p, size_t i)
{
	const struct gather *g = p->g;
	struct series_place at = { i, p->t->count, restarts_after(p, i) };
	bool needed = !g->types->count;

	for (size_t t = 0; t < g->types->count; t++) {
		p->ops[t] = aggregate_op(g->o->aggregate, p->kinds[t], &at);
		if (g->o->one_type && t != p->only)
			p->ops[t] = MERGE_SKIP;
		needed = needed || p->ops[t] != MERGE_SKIP;
	}
	return needed;
}

static int run_plan(struct plan *p, struct querier *q, size_t series,
		    struct err *err)
{
	struct gather *g = p->g;
	size_t before = g->profiles;
	int rc = 0;

	for (size_t i = 0; i < p->t->count && !rc && !g->late; i++) {
		rc = find_kinds(p, &p->t->rows[i], err);
		if (rc || !choose_ops(p, i))
			continue;
		g->late = check_deadline(g->r, NULL) && g->profiles;
		if (!g->late)
			rc = check_deadline(g->r, err);
		if (!rc && !g->late)
			rc = add_one(g, q, series, p->t->rows[i].ms, p->ops,
				     err);
	}
	merge_average(g->merge, g->profiles - before);
	return rc;
}

/* Samples get the labels of their series that they are to be grouped by. */
static void label_samples(struct gather *g, const struct labels *labels)
{
	struct str rest = g->o->group_by;

	merge_no_labels(g->merge);
	while (rest.len) {
		struct str key = str_cut(rest, ',', &rest);

		if (key.len)
			merge_label(g->merge, key, labels_get(labels, key));
	}
}

static int add_series(struct gather *g, struct querier *q, size_t series,
		      const struct side *s, struct err *err)
{
	struct totals_view t;
	struct plan p = { .g = g, .t = &t };
	int rc = querier_totals(q, series, s->from, s->to, &t, err);

	if (rc || !t.count)
		return rc;
	g->series++;
	label_samples(g, querier_labels(q, series));
	return run_plan(&p, q, series, err);
}

static int add_all(struct gather *g, struct querier *q, const struct side *s,
		   struct err *err)
{
	int rc = 0;

	querier_sequential(q);
	for (size_t i = 0; i < querier_count(q) && !rc && !g->late; i++)
		rc = add_series(g, q, i, s, err);
	if (rc || g->series)
		return rc;
	if (querier_lost(q))
		return err_set(err, ERR_CORRUPT, "%s", querier_lost(q)->msg);
	return err_set(err, ERR_NOTFOUND,
		       "no profile of this selector from %" PRId64
		       " to %" PRId64,
		       s->from, s->to);
}

static int add_nearest(struct gather *g, struct querier *q,
		       const struct side *s, struct err *err)
{
	size_t series = 0;
	int64_t ms = 0;
	int rc = side_nearest(s, g->r, q, &series, &ms, err);

	if (rc)
		return rc;
	g->series = 1;
	label_samples(g, querier_labels(q, series));
	rc = add_one(g, q, series, ms, NULL, err);
	if (!rc && g->damaged)
		rc = err_set(err, g->damage.code, "%s", g->damage.msg);
	return rc;
}

int gather_run(struct gather *g, const struct side *s, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	int rc;

	querier_open(g->web->o.db, &q);
	querier_select(q, s->selector.matchers, s->selector.count, s->from,
		       s->to);
	rc = answer_take(g->a, (int64_t)querier_memory(q), err);
	if (rc)
		return rc;
	rc = s->merged ? add_all(g, q, s, err) : add_nearest(g, q, s, err);
	if (!rc && querier_lost(q) && !g->damaged++)
		g->damage = *querier_lost(q);
	/* Counters of a single profile have no difference: nothing merged. */
	if (!rc && !merge_count(g->merge))
		rc = err_set(
			err, g->damaged ? ERR_CORRUPT : ERR_NOTFOUND, "%s",
			g->damaged ?
				g->damage.msg :
				"no series has two profiles to tell a difference: widen the range, or take aggregate=sum");
	return rc;
}

size_t gather_warnings(const struct gather *g, const char **out, size_t max)
{
	size_t n = 0;

	if (g->late && n < max)
		out[n++] = arena_printf(
			&g->r->arena,
			"the query took longer than --query.timeout: only %zu profiles are in the answer",
			g->profiles);
	if (g->damaged && n < max)
		out[n++] = arena_printf(
			&g->r->arena,
			"%zu profiles could not be read and are left out, the first: %s",
			g->damaged, g->damage.msg);
	return n;
}
