/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/query_merge.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "pprof/columns/columns_sum.h"
#include "query/merge/profile_adder.h"
#include "query/merge/query_compare.h"
#include "query/merge/row_run.h"
#include "query/select/absence.h"
#include "query/select/coverage.h"
#include "query/select/time_steps.h"
#include "query/select/total_filter.h"

/* How long before a picked profile that of a counter is looked for before it. */
#define PICK_BEFORE_MS 3600000

void query_merge_init(struct query_merge *g, struct tsdb *db,
		      struct query_work *work,
		      const struct query_merge_options *o)
{
	*g = (struct query_merge){
		.db = db,
		.work = work,
		.o = o,
		.merge = merge_new(),
		.sum = columns_sum_new(),
		.decoder = decoder_new((size_t)work->memory->max),
		.types = mem_new(struct typeset),
		.sample_limits = query_limits(work),
	};
	if (o->project)
		merge_project(g->merge, o->project, o->period);
	wanted_type_init(&g->wanted,
			 o->one_type ? o->sample_index : str_of(""));
}

void query_merge_fini(struct query_merge *g)
{
	merge_free(g->merge);
	columns_sum_free(g->sum);
	decoder_free(g->decoder);
	profile_fini(&g->fetched);
	querier_row_fini(&g->row);
	labels_unref(g->labels);
	mem_free(g->types);
	wanted_type_fini(&g->wanted);
}

/*
 * Count the profiles that will be read, so that clients can see the progress of
 * the query. A filter of totals may leave some of them out.
 */
static int count_ahead(struct query_merge *g, struct querier *q,
		       const struct query_spec *s, struct err *err)
{
	int rc = 0;

	if (!g->work->progress)
		return 0;
	for (size_t i = 0; i < querier_count(q) && !rc; i++) {
		struct times_view t = { 0 };

		rc = querier_times(q, i, s->from, s->to, &t, err);
		query_count(g->work, t.count, 0);
		if (!rc)
			rc = query_check_deadline(g->work, err);
	}
	return rc;
}

/*
 * Merge the profiles of all selected series. When the deadline passes, the
 * result is partial. If there are no profiles, the error says why: the selector
 * matches none, or stored data could not be read.
 */
static int add_all(struct query_merge *g, struct querier *q,
		   const struct query_spec *s, struct err *err)
{
	char from[40];
	char to[40];
	char when[100];
	/* Of an earlier selection, if this is the second side of a comparison. */
	size_t before = g->series;
	int rc = 0;

	querier_sequential(q);
	rc = count_ahead(g, q, s, err);
	for (size_t i = 0; i < querier_count(q) && !rc && !g->late; i++) {
		rc = query_merge_check_late(g, err);
		if (!rc)
			rc = query_add_series(g, q, i, s, err);
	}
	if (rc || g->series > before)
		return rc;
	if (g->lacking)
		return err_set(err, ERR_INVALID, "%s", g->wanted.lacking.msg);
	if (querier_lost(q))
		return err_set(
			err, ERR_CORRUPT,
			"no profile was found, but some stored data could not be read: %s",
			querier_lost(q)->msg);
	time_format(s->from, from);
	time_format(s->to, to);
	snprintf(when, sizeof(when), "from %s to %s", from, to);
	return query_explain_absence(q, g->work, s, when, err);
}

/* Set which samples of a series are merged from now on. */
static void query_merge_match(struct query_merge *g, const struct query_spec *s,
			      const struct labels *labels)
{
	size_t n = matchers_lacking(s->sample_matchers, s->sample_count, labels,
				    g->sample_matchers);

	merge_match(g->merge, g->sample_matchers, n, &g->sample_limits);
}

/*
 * Add the one profile that is nearest to the requested time. Its labels and
 * time are kept for the headers of the answer.
 */
static int add_nearest(struct query_merge *g, struct querier *q,
		       const struct query_spec *s, struct err *err)
{
	size_t series = 0;
	int rc = query_nearest(s, g->work, q, &series, &g->ms, err);

	if (rc)
		return rc;
	g->series = 1;
	g->labels = labels_ref(querier_labels(q, series));
	query_label_samples(g, g->labels);
	query_merge_match(g, s, g->labels);
	rc = query_add_profile(g,
			       &(struct query_profile){
				       .q = q, .series = series, .ms = g->ms },
			       err);
	g->profiles += !rc;
	/*
	 * An unreadable profile fails the query, because it is the query's only
	 * profile.
	 */
	return rc == 1 ? err_set(err, g->damage.code, "%s", g->damage.msg) : rc;
}

/*
 * Free the buffers for reading once all profiles are merged, so that the report
 * can use their memory.
 */
static void release_inputs(struct query_merge *g, const struct querier *q)
{
	int64_t now = (int64_t)query_merge_kept(g);

	if (g->has_looked) {
		/* The totals tell of profiles that could not be read, too. */
		bool whole = !g->late && !g->damaged && !querier_lost(q);

		g->looked_ns = whole ? looked_time_ns(&g->looked) : 0;
		g->looked_sum = whole ? looked_time_sum(&g->looked) : 0;
		looked_time_fini(&g->looked);
	}
	decoder_free(g->decoder);
	g->decoder = NULL;
	profile_fini(&g->fetched);
	querier_row_fini(&g->row);
	if (g->taken > now) {
		query_give(g->work, g->taken - now);
		g->taken = now;
	}
}

int query_merge_run(struct query_merge *g, const struct query_spec *s,
		    struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	size_t before = merge_count(g->merge);
	int rc;

	/* A second selection may be added to the same merge. */
	if (!g->decoder)
		g->decoder = decoder_new((size_t)g->work->memory->max);
	g->has_looked = g->o->looked && s->merged;
	if (g->has_looked)
		looked_time_init(&g->looked, g->db, g->work, s->from, s->to,
				 !s->totals.set && !g->o->without_beats);
	query_open(g->work, g->db, &q);
	querier_on_spend(q, query_merge_spend_fetch, g);
	rc = query_spec_select(s, q, err);
	if (!rc)
		rc = query_merge_account(g, q, err);
	if (rc) {
		release_inputs(g, q);
		return rc;
	}
	rc = s->merged ? add_all(g, q, s, err) : add_nearest(g, q, s, err);
	release_inputs(g, q);
	/* Series that could not be read at all also count as damaged. */
	if (!rc && querier_lost(q)) {
		if (!g->damaged)
			g->damage = *querier_lost(q);
		g->damaged += querier_lost_count(q);
	}
	if (!rc && merge_count(g->merge) == before)
		rc = err_set(
			err, g->damaged ? ERR_CORRUPT : ERR_NOTFOUND, "%s",
			g->damaged ?
				g->damage.msg :
				"an increase needs at least two profiles of a series in the time range (everprof takes the increase of counters, such as alloc_space, and with aggregate=delta of all values): use a longer range or aggregate=sum (comparisons with error bars do not support aggregate=sum)");
	return rc;
}

int query_merge_bytes(struct query_merge *g, struct bytes raw, struct err *err)
{
	int rc = query_add_bytes(g, raw, err);

	g->has_looked = false;
	g->series = g->profiles = !rc;
	release_inputs(g, NULL);
	return rc;
}

int query_merge_finish(struct query_merge *g, struct pprof **out,
		       struct err *err)
{
	/*
	 * Subtraction may leave stacks with only zeros. merge_finish() drops
	 * them by merging once more, which needs memory for a second copy.
	 */
	int rc = g->o->aggregate == AGGREGATE_SUM ?
			 0 :
			 query_take(g->work, (int64_t)merge_memory(g->merge),
				    err);

	if (!rc)
		*out = merge_finish(g->merge);
	return rc;
}

int query_merge_subtract(struct query_merge *base, struct merge *both,
			 const struct merge_diff_options *o, struct pprof **p,
			 struct err *err)
{
	struct pprof *minus;
	int rc = query_merge_finish(base, &minus, err);

	/*
	 * The difference is another profile, with the stacks of both sides:
	 * reserve twice the size of both.
	 */
	if (!rc)
		rc = query_take(
			base->work,
			(int64_t)(pprof_memory(*p) + pprof_memory(minus)) * 2,
			err);
	return rc ? rc : merge_diff(both, *p, minus, o, p, err);
}

/*
 * Callback that the report engine calls before it allocates memory, and
 * regularly while it works. `bytes` is the memory that it needs.
 */
static int query_merge_spend(void *ctx, size_t bytes, struct err *err)
{
	struct query_merge *g = ctx;
	int rc = query_check_deadline(g->work, err);

	if (!rc && bytes)
		rc = query_take(g->work, (int64_t)bytes, err);
	/* Reports are written directly into the body of the answer. */
	return rc ? rc : query_take_output(g->work, err);
}

struct limits query_merge_limits(struct query_merge *g)
{
	return (struct limits){ .spend = query_merge_spend, .ctx = g };
}

size_t query_merge_warnings(const struct query_merge *g, struct arena *arena,
			    const char **out, size_t max)
{
	size_t n = 0;

	if (g->late && n < max)
		out[n++] = arena_printf(
			arena, "%s: the result contains only %zu profiles",
			g->late_why.msg, g->profiles);
	if (g->damaged && n < max)
		out[n++] = arena_printf(
			arena,
			"%zu profiles, chunks or blocks could not be read and are left out; the first error: %s",
			g->damaged, g->damage.msg);
	if (g->lacking && n < max)
		out[n++] = arena_printf(
			arena,
			"%zu profiles lack the sample type %.*s and are left out",
			g->lacking, STR_ARG(g->wanted.name));
	return n;
}

int query_merge_reduce(struct query_merge *g, struct totals_view *v,
		       struct total_rows *rows, struct err *err)
{
	bool was_known = g->wanted.is_known;
	int rc = wanted_type_reduce(&g->wanted, g->work, v, rows, err);

	if (!rc && g->wanted.is_known && !was_known)
		merge_project_name(g->merge, g->wanted.type);
	return rc;
}

/*
 * Add all profiles of a series. Means are computed for each series: divide before
 * the next series is added.
 */
static int add_whole(struct query_merge *g, struct querier *q, size_t series,
		     const struct totals_view *t, struct err *err)
{
	size_t count;
	int rc = query_add_rows(g, q, series, t, &count, err);

	if (!rc)
		merge_average(g->merge, count);
	return rc;
}

/*
 * Whether the values that are merged of a profile are those of a counter; a profile that
 * lacks what is merged has none.
 */
static int query_merge_counts(struct query_merge *g,
			      const struct totals_view *t, size_t row,
			      bool *counts, struct err *err)
{
	const struct totals_row *r = &t->rows[row];
	size_t only = SIZE_MAX;
	int rc = typeset_decode(t->typesets[r->typeset], g->types, err);

	*counts = false;
	if (rc || !g->o->project ||
	    !merge_projects(g->types, g->o->project, g->o->period, &only))
		return rc;
	*counts = value_kind(g->types->types[only].type,
			     querier_counts_interval(t, r)) == KIND_COUNTER;
	return 0;
}

/*
 * Add the picked profiles of a series, each alone. That of a counter is added with the one
 * before it, whose value is subtracted.
 */
static int add_picked(struct query_merge *g, struct querier *q, size_t series,
		      const struct totals_view *t,
		      const struct query_spec *side, struct err *err)
{
	struct labels *ls = querier_labels(q, series);
	size_t sum = 0;
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++) {
		struct totals_view one = *t;
		bool counts = false;
		size_t count = 0;

		if (t->rows[i].ms < side->from ||
		    !side->pick(side->pick_ctx, ls, t->rows[i].ms))
			continue;
		rc = query_merge_counts(g, t, i, &counts, err);
		counts = counts && i;
		one.rows = t->rows + i - counts;
		one.count = 1 + (size_t)counts;
		if (t->restarts)
			one.restarts = t->restarts + i - counts;
		if (!rc)
			rc = query_add_rows(g, q, series, &one, &count, err);
		sum += count;
	}
	if (!rc)
		merge_average(g->merge, sum);
	return rc;
}

int query_add_series(struct query_merge *g, struct querier *q, size_t series,
		     const struct query_spec *side, struct err *err)
{
	struct totals_view t = { 0 };
	struct total_rows typed = { 0 };
	struct total_rows rows = { 0 };
	size_t all;
	const struct coverage_node *node = NULL;
	/* Of a counter, the profile before the range may be needed. */
	int64_t from = side->pick ?
			       time_steps_add(side->from, -PICK_BEFORE_MS) :
			       side->from;
	int rc = 0;

	if (g->has_looked)
		rc = looked_time_find(&g->looked, querier_labels(q, series),
				      &node, err);
	if (!rc)
		rc = querier_totals(q, series, from, side->to, &t, err);
	all = rc ? 0 : t.count;
	if (!rc)
		rc = query_merge_reduce(g, &t, &typed, err);
	g->lacking += rc ? 0 : all - t.count;
	/* Before the filter leaves profiles out. */
	if (!rc && t.increments)
		t.interval_ms = querier_usual_distance(&t);
	if (!rc)
		rc = total_filter_reduce(&side->totals, g->work, &t, &rows,
					 err);
	if (!rc && t.count && g->has_looked)
		rc = looked_time_add(&g->looked, node, &t, g->o->sample_index,
				     g->types, err);
	if (!rc && t.count) {
		g->series++;
		query_label_samples(g, querier_labels(q, series));
		query_merge_match(g, side, querier_labels(q, series));
	}
	/*
	 * For the progress, profiles that the filter leaves out count as read.
	 */
	query_count(g->work, 0, all - (rc ? all : t.count));
	if (!rc && t.count)
		rc = g->compare ?
			     query_compare_add(g->compare, q, series, &t, err) :
		     side->pick ? add_picked(g, q, series, &t, side, err) :
				  add_whole(g, q, series, &t, err);
	total_rows_fini(&rows);
	total_rows_fini(&typed);
	return rc ? rc :
		    matchers_check_steps(side->sample_matchers,
					 side->sample_count, err);
}
