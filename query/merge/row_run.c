/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/row_run.h"

#include "pprof/columns/columns_sum.h"
#include "query/merge/profile_adder.h"

/*
 * A run: consecutive profiles of one series that have the same type set, and of
 * which either all or none have a duration. Each profile is a row (its time and
 * totals) of `t`. Arrays have one element per sample type.
 */
struct row_run {
	struct query_merge *g;
	struct querier *q;
	size_t series;
	/* The rows of all profiles of the series. */
	const struct totals_view *t;
	size_t first; /* index of the run's first row */
	size_t end;   /* index of the run's last row + 1 */
	/* The kind of values of each sample type: flow, state or counter. */
	enum value_kind kinds[TYPES_MAX];
	/* How each type is aggregated; AGGREGATE_AUTO: the type is left out. */
	enum aggregate how[TYPES_MAX];
	/* Scratch: the array that ops_for() sets. */
	enum merge_op ops[TYPES_MAX];
	/*
	 * Whether the type is computed from a few rows, the first and last of
	 * each process: AGGREGATE_DELTA and AGGREGATE_LAST.
	 */
	bool of_ends[TYPES_MAX];
	/*
	 * Whether the type is computed from every row of the run: AGGREGATE_SUM
	 * and AGGREGATE_MEAN.
	 */
	bool of_all[TYPES_MAX];
	bool has_ends; /* whether of_ends is true for any type */
	/* Whether of_all is true for any type, or there are no types at all. */
	bool has_all;
};

/*
 * Find the end of the run that starts at s->first, and decide how each of its
 * sample types is aggregated. If the query needs only one type, the others are
 * left out.
 */
static int plan_stretch(struct row_run *s, struct err *err)
{
	struct query_merge *g = s->g;
	const struct totals_row *first = &s->t->rows[s->first];
	const bool per_interval = querier_counts_interval(s->t, first);
	size_t only = SIZE_MAX;
	bool is_wanted = true;
	int rc = typeset_decode(s->t->typesets[first->typeset], g->types, err);

	if (!rc && g->wanted.is_known)
		wanted_type_find(&g->wanted, g->types, &only);
	else if (!rc && g->o->one_type)
		rc = typeset_index(g->types, g->o->sample_index, &only, err);
	if (!rc && g->o->project)
		is_wanted = merge_projects(g->types, g->o->project,
					   g->o->period, &only);
	s->end = s->first + 1;
	while (s->end < s->t->count &&
	       s->t->rows[s->end].typeset == first->typeset &&
	       querier_counts_interval(s->t, &s->t->rows[s->end]) ==
		       per_interval)
		s->end++;
	g->increments |= s->t->increments;
	s->has_ends = false;
	s->has_all = is_wanted && !g->types->count;
	for (size_t i = 0; i < g->types->count && !rc; i++) {
		s->kinds[i] = value_kind(g->types->types[i].type, per_interval);
		s->how[i] = aggregate_of(g->o->aggregate, s->kinds[i]);
		if (!is_wanted || (only != SIZE_MAX && i != only) ||
		    (s->how[i] == AGGREGATE_DELTA && s->end - s->first == 1))
			/*
			 * Leave out the type: the query does not ask for it, or
			 * the profiles lack what it asks for, or it is a counter
			 * and the run has a single profile, so that its increase
			 * is unknown.
			 */
			s->how[i] = AGGREGATE_AUTO;
		s->of_ends[i] = s->how[i] == AGGREGATE_DELTA ||
				s->how[i] == AGGREGATE_LAST;
		s->of_all[i] = s->how[i] == AGGREGATE_SUM ||
			       s->how[i] == AGGREGATE_MEAN;
		s->has_ends = s->has_ends || s->of_ends[i];
		s->has_all = s->has_all || s->of_all[i];
	}
	return rc;
}

/*
 * Set s->ops and return it. Types that are aggregated by `a` get the operation
 * `op`, types aggregated by `b` get `other`, and the rest get MERGE_SKIP.
 */
static const enum merge_op *ops_for(struct row_run *s, enum aggregate a,
				    enum merge_op op, enum aggregate b,
				    enum merge_op other)
{
	for (size_t i = 0; i < s->g->types->count; i++)
		s->ops[i] = s->how[i] == a ? op :
			    s->how[i] == b ? other :
					     MERGE_SKIP;
	return s->ops;
}

/*
 * Whether the process restarted between row i and row i + 1 of the run. After a
 * restart, counters begin at 0.
 */
static bool restarts_after(const struct row_run *s, size_t i)
{
	const struct totals_view *t = s->t;

	return i + 1 < s->end &&
	       aggregate_restarted(s->kinds, t->totals + t->rows[i].first,
				   t->totals + t->rows[i + 1].first,
				   s->g->types->count);
}

/*
 * Add the profile of row i to the merge: the sample types whose flag in `types`
 * is set, each by its operation in `ops`.
 */
static int add_of(struct row_run *s, size_t i, const bool *types,
		  const enum merge_op *ops, struct err *err)
{
	const struct query_profile x = { .q = s->q,
					 .series = s->series,
					 .ms = s->t->rows[i].ms,
					 .types = types,
					 .ops = ops };

	return query_add_profile(s->g, &x, err);
}

/*
 * Add the last readable row in [first, end). *at is set to the index of this
 * row, or to `end` if no row is readable. `last` is true if `end` is the end of
 * the run: only then are types with AGGREGATE_LAST added.
 */
static int add_last(struct row_run *s, size_t first, size_t end, bool last,
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
 * Subtract the first readable row in [first, at]. The row `at` has been added
 * before. If it is the only readable row, it is subtracted from itself, which
 * gives 0: the increase is unknown, and the total since the process started
 * would be wrong.
 */
static int subtract_first(struct row_run *s, size_t first, size_t at,
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

/*
 * Add the increase of counters between the first and the last profile of each
 * process, and the last values of the run. The deadline is checked only between
 * processes, because half of a difference would be a wrong number
 * (docs/decisions.md, 43).
 */
static int add_ends(struct row_run *s, struct err *err)
{
	size_t first = s->first;
	int rc = query_merge_check_late(s->g, err);

	while (first < s->end && !rc && !s->g->late) {
		size_t end = first + 1;
		size_t at;

		while (end < s->end && !restarts_after(s, end - 1))
			end++;
		rc = add_last(s, first, end, end == s->end, &at, err);
		/*
		 * The first process may have started before the run, so its
		 * first values are subtracted. Later processes started with
		 * counters at 0.
		 */
		if (!rc && first == s->first && at < end)
			rc = subtract_first(s, first, at, err);
		s->g->profiles += s->has_all ? 0 : end - first;
		query_count(s->g->work, 0, s->has_all ? 0 : end - first);
		first = end;
		if (!rc)
			rc = query_merge_check_late(s->g, err);
	}
	return rc;
}

/*
 * Add every row of the run to the types that are summed or averaged. *count
 * grows by the number of rows added; merge_average() divides by it.
 */
static int add_each(struct row_run *s, size_t *count, struct err *err)
{
	int rc = 0;

	for (size_t i = s->first; i < s->end && rc >= 0 && !s->g->late; i++) {
		rc = query_merge_check_late(s->g, err);
		if (rc || s->g->late)
			break;
		rc = add_of(s, i, s->of_all,
			    ops_for(s, AGGREGATE_SUM, MERGE_ADD, AGGREGATE_MEAN,
				    MERGE_AVERAGE),
			    err);
		*count += !rc;
		s->g->profiles += !rc;
		query_count(s->g->work, 0, 1);
	}
	return rc < 0 ? rc : 0;
}

void query_label_samples(struct query_merge *g, const struct labels *labels)
{
	struct str rest = g->o->group_by;

	merge_no_labels(g->merge);
	while (rest.len) {
		struct str key = str_cut(rest, ',', &rest);

		if (key.len)
			merge_label(g->merge, key, labels_get(labels, key));
	}
}

int query_add_rows(struct query_merge *g, struct querier *q, size_t series,
		   const struct totals_view *t, size_t *count, struct err *err)
{
	struct row_run *s = mem_new(struct row_run);
	int rc = 0;

	*s = (struct row_run){ .g = g, .q = q, .series = series, .t = t };
	*count = 0;
	for (; !rc && s->first < t->count && !g->late; s->first = s->end) {
		rc = plan_stretch(s, err);
		if (!rc && s->has_ends)
			rc = add_ends(s, err);
		if (!rc && s->has_all)
			rc = add_each(s, count, err);
	}
	/* A comparison goes on with the next piece of the series. */
	if (!rc)
		rc = g->compare ?
			     columns_sum_flush_part(g->sum, g->merge, err) :
			     columns_sum_flush(g->sum, g->merge, err);
	if (!rc)
		rc = query_merge_account(g, q, err);
	mem_free(s);
	return rc;
}
