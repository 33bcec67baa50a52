/* SPDX-License-Identifier: Apache-2.0 */
#include "web/gather.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "pprof/columns_sum.h"
#include "web/absence.h"
#include "web/decoding.h"

void gather_init(struct gather *g, struct web *w, struct request *r,
		 struct answer *a, const struct gather_options *o)
{
	*g = (struct gather){
		.web = w,
		.r = r,
		.a = a,
		.o = o,
		.merge = merge_new(),
		.sum = columns_sum_new(),
		.decoder = decoder_new((size_t)w->memory.max),
		.types = mem_new(struct typeset),
	};
}

void gather_fini(struct gather *g)
{
	merge_free(g->merge);
	columns_sum_free(g->sum);
	decoder_free(g->decoder);
	profile_fini(&g->fetched);
	labels_unref(g->labels);
	mem_free(g->types);
}

/* Take what merging has grown by from the memory of all queries. */
static int account(struct gather *g, const struct querier *q, struct err *err)
{
	int64_t now =
		(int64_t)(merge_memory(g->merge) + columns_sum_memory(g->sum) +
			  decoder_memory(g->decoder) + g->fetched.raw.cap +
			  querier_memory(q));
	int64_t more = now - g->taken;

	if (more <= 0)
		return 0;
	g->taken = now;
	return answer_take(g->a, more, err);
}

/* Before a profile is read: account() finds it taken already. */
static int spend_fetch(void *ctx, size_t bytes, struct err *err)
{
	struct gather *g = ctx;
	int rc = answer_take(g->a, (int64_t)bytes, err);

	if (!rc)
		g->taken += (int64_t)bytes;
	return rc;
}

/*
 * Merge a profile. What the merge will probably grow by at most is reserved
 * while it does: half of what the profile takes, for stacks repeat.
 */
static int merge_within(struct gather *g, const struct querier *q,
			const struct pprof *p, const enum merge_op *ops,
			struct err *err)
{
	int64_t most = (int64_t)pprof_memory(p) / 2;
	int rc = budget_take(g->a->memory, most, err);

	if (rc)
		return rc;
	rc = merge_add(g->merge, p, ops, err);
	budget_give(g->a->memory, most);
	return rc ? rc : account(g, q, err);
}

/* What one damaged profile leaves out is told, not fatal. */
static int leave_out(struct gather *g, int rc, const struct err *why,
		     struct err *err)
{
	if (rc != ERR_CORRUPT && rc != ERR_NOTFOUND && rc != ERR_IO)
		return err_set(err, rc, "%s", why->msg);
	if (!g->damaged++)
		g->damage = *why;
	return 0;
}

/* A profile of a series, and what is done with it. */
struct one {
	struct querier *q;
	size_t series;
	int64_t ms;
	const bool *types;        /* those that profiles are added for */
	const enum merge_op *ops; /* NULL: it is the only one */
};

/*
 * A profile added up as it is stored. ERR_UNSUPPORTED: it has to be read as a
 * profile; what was added up is then merged first.
 */
static int add_row(struct gather *g, const struct one *x, struct err *err)
{
	struct querier_row r = { 0 };
	struct err why;
	int failed;
	int rc = querier_rows(x->q, x->series, x->ms, x->types, &r, &why);

	if (!rc)
		rc = columns_sum_add(g->sum, r.rows, r.row, x->ops, g->merge,
				     &why);
	if (!rc)
		return account(g, x->q, err);
	/* Before the next call, with which the sum's table may go. */
	failed = columns_sum_flush(g->sum, g->merge, err);
	if (failed || rc == ERR_UNSUPPORTED)
		return failed ? failed : rc;
	rc = leave_out(g, rc, &why, err);
	return rc ? rc : 1;
}

/* 1: it cannot be read, which is noted. */
static int add_one(struct gather *g, const struct one *x, struct err *err)
{
	struct pprof *p;
	struct err why;
	int rc = x->ops ? add_row(g, x, err) : ERR_UNSUPPORTED;

	if (rc != ERR_UNSUPPORTED)
		return rc;
	rc = querier_fetch(x->q, x->series, x->ms, &g->fetched, &why);

	if (rc) {
		rc = leave_out(g, rc, &why, err);
		return rc ? rc : 1;
	}
	rc = decode_within(g->decoder, g->a->memory, buf_bytes(&g->fetched.raw),
			   &p, err);
	if (!rc)
		rc = account(g, x->q, err);
	return rc ? rc : merge_within(g, x->q, p, x->ops, err);
}

/* One series. */

/* Rows of one type set, told apart by what is done with each type. */
struct stretch {
	struct gather *g;
	struct querier *q;
	size_t series;
	const struct totals_view *t;
	size_t first;
	size_t end;
	enum value_kind kinds[TYPES_MAX];
	enum aggregate how[TYPES_MAX];
	enum merge_op ops[TYPES_MAX];
	bool of_ends[TYPES_MAX]; /* types that need the ends, */
	bool of_all[TYPES_MAX];  /* and those that need all */
	bool has_ends; /* some types need the first and the last one alone */
	bool has_all;
};

static bool has_duration(const struct totals_row *row)
{
	return row->duration_ns > 0;
}

/* How far rows are alike; what becomes of their types. */
static int plan_stretch(struct stretch *s, struct err *err)
{
	struct gather *g = s->g;
	const struct totals_row *first = &s->t->rows[s->first];
	size_t only = SIZE_MAX;
	int rc = typeset_decode(s->t->typesets[first->typeset], g->types, err);

	if (!rc && g->o->one_type)
		rc = typeset_index(g->types, g->o->sample_index, &only, err);
	s->end = s->first + 1;
	while (s->end < s->t->count &&
	       s->t->rows[s->end].typeset == first->typeset &&
	       has_duration(&s->t->rows[s->end]) == has_duration(first))
		s->end++;
	s->has_ends = false;
	s->has_all = !g->types->count;
	for (size_t i = 0; i < g->types->count && !rc; i++) {
		s->kinds[i] = value_kind(g->types->types[i].type,
					 has_duration(first));
		s->how[i] = aggregate_of(g->o->aggregate, s->kinds[i]);
		if ((only != SIZE_MAX && i != only) ||
		    (s->how[i] == AGGREGATE_DELTA && s->end - s->first == 1))
			s->how[i] = AGGREGATE_AUTO; /* nothing of it */
		s->of_ends[i] = s->how[i] == AGGREGATE_DELTA ||
				s->how[i] == AGGREGATE_LAST;
		s->of_all[i] = s->how[i] == AGGREGATE_SUM ||
			       s->how[i] == AGGREGATE_MEAN;
		s->has_ends = s->has_ends || s->of_ends[i];
		s->has_all = s->has_all || s->of_all[i];
	}
	return rc;
}

/* The operations of all types that are aggregated as one of two. */
static const enum merge_op *ops_for(struct stretch *s, enum aggregate a,
				    enum merge_op op, enum aggregate b,
				    enum merge_op other)
{
	for (size_t i = 0; i < s->g->types->count; i++)
		s->ops[i] = s->how[i] == a ? op :
			    s->how[i] == b ? other :
					     MERGE_SKIP;
	return s->ops;
}

/* Whether row i + 1 is of a new process. */
static bool restarts_after(const struct stretch *s, size_t i)
{
	const struct totals_view *t = s->t;

	return i + 1 < s->end &&
	       aggregate_restarted(s->kinds, t->totals + t->rows[i].first,
				   t->totals + t->rows[i + 1].first,
				   s->g->types->count);
}

/* Row i. */
static int add_of(struct stretch *s, size_t i, const bool *types,
		  const enum merge_op *ops, struct err *err)
{
	const struct one x = { .q = s->q,
			       .series = s->series,
			       .ms = s->t->rows[i].ms,
			       .types = types,
			       .ops = ops };

	return add_one(s->g, &x, err);
}

/*
 * Add the last readable row of [first, end); *at: which one, or end. last: it
 * is the last of the whole stretch, too.
 */
static int add_last(struct stretch *s, size_t first, size_t end, bool last,
		    size_t *at, struct err *err)
{
	int rc = 1;

	for (*at = end; *at > first && rc == 1;)
		rc = add_of(s, --*at, s->of_ends,
			    ops_for(s, AGGREGATE_DELTA, MERGE_ADD,
				    AGGREGATE_LAST,
				    last ? MERGE_ADD : MERGE_SKIP),
			    err);
	if (rc == 1)
		*at = end;
	return rc < 0 ? rc : 0;
}

/*
 * Subtract the first readable row of [first, at), or, without one, the row at
 * `at` itself: then nothing is known of what happened.
 */
static int subtract_first(struct stretch *s, size_t first, size_t at,
			  struct err *err)
{
	int rc = 1;

	for (size_t i = first; i <= at && rc == 1; i++)
		rc = add_of(s, i, s->of_ends,
			    ops_for(s, AGGREGATE_DELTA, MERGE_SUBTRACT,
				    AGGREGATE_AUTO, MERGE_SKIP),
			    err);
	return rc < 0 ? rc : 0;
}

static int check_late(struct gather *g, struct err *err)
{
	g->late = g->late || (check_deadline(g->r, NULL) && g->profiles);
	return g->late ? 0 : check_deadline(g->r, err);
}

/*
 * What was counted between the first and the last profile of each process;
 * that of the last one. Never half of it: the deadline is looked at between.
 */
static int add_ends(struct stretch *s, struct err *err)
{
	size_t first = s->first;
	int rc = check_late(s->g, err);

	while (first < s->end && !rc && !s->g->late) {
		size_t end = first + 1;
		size_t at;

		while (end < s->end && !restarts_after(s, end - 1))
			end++;
		rc = add_last(s, first, end, end == s->end, &at, err);
		if (!rc && first == s->first && at < end)
			rc = subtract_first(s, first, at, err);
		s->g->profiles += s->has_all ? 0 : end - first;
		first = end;
		if (!rc)
			rc = check_late(s->g, err);
	}
	return rc;
}

static int add_each(struct stretch *s, size_t *count, struct err *err)
{
	int rc = 0;

	for (size_t i = s->first; i < s->end && rc >= 0 && !s->g->late; i++) {
		rc = check_late(s->g, err);
		if (rc || s->g->late)
			break;
		rc = add_of(s, i, s->of_all,
			    ops_for(s, AGGREGATE_SUM, MERGE_ADD, AGGREGATE_MEAN,
				    MERGE_AVERAGE),
			    err);
		*count += !rc;
		s->g->profiles += !rc;
	}
	return rc < 0 ? rc : 0;
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
		      const struct side *side, struct err *err)
{
	struct totals_view t;
	struct stretch *s = mem_new(struct stretch);
	size_t count = 0;
	int rc = querier_totals(q, series, side->from, side->to, &t, err);

	*s = (struct stretch){ .g = g, .q = q, .series = series, .t = &t };
	if (!rc && t.count) {
		g->series++;
		label_samples(g, querier_labels(q, series));
	}
	for (; !rc && s->first < t.count && !g->late; s->first = s->end) {
		rc = plan_stretch(s, err);
		if (!rc && s->has_ends)
			rc = add_ends(s, err);
		if (!rc && s->has_all)
			rc = add_each(s, &count, err);
	}
	if (!rc)
		rc = columns_sum_flush(g->sum, g->merge, err);
	if (!rc)
		rc = account(g, q, err);
	if (!rc)
		merge_average(g->merge, count);
	mem_free(s);
	return rc;
}

static int add_all(struct gather *g, struct querier *q, const struct side *s,
		   struct err *err)
{
	char from[40];
	char to[40];
	char when[100];
	int rc = 0;

	querier_sequential(q);
	for (size_t i = 0; i < querier_count(q) && !rc && !g->late; i++) {
		rc = check_late(g, err);
		if (!rc)
			rc = add_series(g, q, i, s, err);
	}
	if (rc || g->series)
		return rc;
	if (querier_lost(q))
		return err_set(err, ERR_CORRUPT, "%s", querier_lost(q)->msg);
	time_format(s->from, from);
	time_format(s->to, to);
	snprintf(when, sizeof(when), "from %s to %s", from, to);
	return absence_set(q, g->r, &s->selector, when, err);
}

static int add_nearest(struct gather *g, struct querier *q,
		       const struct side *s, struct err *err)
{
	size_t series = 0;
	int rc = side_nearest(s, g->r, q, &series, &g->ms, err);

	if (rc)
		return rc;
	g->series = 1;
	g->labels = labels_ref(querier_labels(q, series));
	label_samples(g, g->labels);
	rc = add_one(g, &(struct one){ .q = q, .series = series, .ms = g->ms },
		     err);
	g->profiles += !rc;
	return rc == 1 ? err_set(err, g->damage.code, "%s", g->damage.msg) : rc;
}

/* All profiles are in the merge: what they were read with is given back. */
static void release_inputs(struct gather *g)
{
	int64_t now =
		(int64_t)(merge_memory(g->merge) + columns_sum_memory(g->sum));

	decoder_free(g->decoder);
	g->decoder = NULL;
	profile_fini(&g->fetched);
	if (g->taken > now) {
		answer_give(g->a, g->taken - now);
		g->taken = now;
	}
}

int gather_run(struct gather *g, const struct side *s, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	int rc;

	querier_open(g->web->o.db, &q);
	querier_on_spend(q, spend_fetch, g);
	querier_select(q, s->selector.matchers, s->selector.count, s->from,
		       s->to);
	rc = account(g, q, err);
	if (rc)
		return rc;
	rc = s->merged ? add_all(g, q, s, err) : add_nearest(g, q, s, err);
	release_inputs(g);
	if (!rc && querier_lost(q)) {
		if (!g->damaged)
			g->damage = *querier_lost(q);
		g->damaged += querier_lost_count(q);
	}
	if (!rc && !merge_count(g->merge))
		rc = err_set(
			err, g->damaged ? ERR_CORRUPT : ERR_NOTFOUND, "%s",
			g->damaged ?
				g->damage.msg :
				"one profile alone does not tell what was counted in this time: ask for more time, or aggregate=sum");
	return rc;
}

int gather_finish(struct gather *g, struct pprof **out, struct err *err)
{
	/* What cancelled out is left out by merging once more. */
	int rc =
		g->o->aggregate == AGGREGATE_SUM ?
			0 :
			answer_take(g->a, (int64_t)merge_memory(g->merge), err);

	if (!rc)
		*out = merge_finish(g->merge);
	return rc;
}

int gather_subtract(struct gather *base, struct merge *both,
		    const struct merge_diff_options *o, struct pprof **p,
		    struct err *err)
{
	struct pprof *minus;
	int rc = gather_finish(base, &minus, err);

	/* Both sides once more, in one. */
	if (!rc)
		rc = answer_take(
			base->a,
			(int64_t)(pprof_memory(*p) + pprof_memory(minus)) * 2,
			err);
	return rc ? rc : merge_diff(both, *p, minus, o, p, err);
}

static int spend(void *ctx, size_t bytes, struct err *err)
{
	struct gather *g = ctx;
	int rc = check_deadline(g->r, err);

	if (!rc && bytes)
		rc = answer_take(g->a, (int64_t)bytes, err);
	/* Reports write straight into the body. */
	return rc ? rc : answer_account(g->a, err);
}

struct effort gather_effort(struct gather *g)
{
	return (struct effort){ .spend = spend, .ctx = g };
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
