/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/query_compare.h"

#include "pprof/columns/columns_sum.h"
#include "query/merge/bucket_plan.h"
#include "query/merge/row_run.h"

enum {
	/* So many times between profiles tell how far apart they mostly are. */
	SPACINGS_MAX = 4096,
	/* A range is cut into at most so many buckets, whatever is asked for. */
	COMPARE_BUCKETS_MAX = 4096,
};

void query_compare_init(struct query_compare *c, struct query_merge *g,
			const struct query_compare_options *o)
{
	*c = (struct query_compare){ .g = g, .o = *o };
	c->compare.alpha = o->alpha;
	c->compare.min_samples = o->min_samples;
	g->compare = c;
}

size_t query_compare_memory(const struct query_compare *c)
{
	return compare_memory(&c->compare) + vec_memory(&c->instances) +
	       vec_memory(&c->spacings);
}

/* The middle of a profile. */
static int64_t row_middle(const struct totals_row *row)
{
	return row->ms +
	       (row->duration_ns > 0 ? row->duration_ns / 2000000 : 0);
}

/*
 * Look up the sample type of one profile, and its kind. All profiles have to be of
 * one kind: others are divided by something else.
 */
static int note_kind(struct query_compare *c, const struct totals_view *t,
		     const struct totals_row *row, struct err *err)
{
	struct typeset *types = c->g->types;
	struct compare_type values;
	size_t at;
	int rc = typeset_decode(t->typesets[row->typeset], types, err);

	if (!rc)
		rc = typeset_index(types, c->g->o->sample_index, &at, err);
	if (rc)
		return rc;
	values = compare_type_of(&types->types[at], &types->period,
				 querier_counts_interval(t, row));
	if (c->has_kind && values.kind != c->values.kind)
		return err_set(
			err, ERR_INVALID,
			"the profiles have values of different kinds (%s, %s): select one profile type, such as heap{…}, and only profiles that all have a duration, or all have none",
			value_kind_name(c->values.kind),
			value_kind_name(values.kind));
	c->values = values;
	c->has_kind = true;
	return 0;
}

/* Check the kinds of all profiles of a series. */
static int note_kinds(struct query_compare *c, const struct totals_view *t,
		      struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++) {
		const struct totals_row *row = &t->rows[i];
		const struct totals_row *last = i ? row - 1 : NULL;

		if (!last || last->typeset != row->typeset ||
		    (last->duration_ns > 0) != (row->duration_ns > 0))
			rc = note_kind(c, t, row, err);
	}
	return rc;
}

/* The first and the last time of the profiles of both sides. */
struct compare_extent {
	int64_t first[ESTIMATE_SIDES];
	int64_t last[ESTIMATE_SIDES];
	size_t profiles[ESTIMATE_SIDES];
	int64_t spacing; /* of the side whose profiles are further apart */
};

/* For how long a side has profiles. */
static int64_t side_range(const struct compare_extent *x, int side)
{
	return x->last[side] > x->first[side] ? x->last[side] - x->first[side] :
						0;
}

/* Extend a side to what happens from `first` to `last`. */
static void extend_side(struct compare_extent *x, int side, int64_t first,
			int64_t last)
{
	if (first < x->first[side])
		x->first[side] = first;
	if (last > x->last[side])
		x->last[side] = last;
}

/* Look at the times of a series. */
static int plan_series(struct query_compare *c, const struct totals_view *t,
		       struct compare_extent *x, struct err *err)
{
	int rc = note_kinds(c, t, err);

	x->profiles[c->side] += t->count;
	for (size_t i = 0; i < t->count && !rc; i++) {
		int64_t ms = row_middle(&t->rows[i]);

		extend_side(x, c->side, ms, ms);
		if (i && c->spacings.count < SPACINGS_MAX)
			*vec_add(&c->spacings) =
				t->rows[i].ms - t->rows[i - 1].ms;
	}
	return rc;
}

/* A program is idle where there are heartbeats, and no profiles: this counts, too. */
static int plan_coverage(struct query_compare *c, struct labels *series,
			 const struct query_spec *s, struct compare_extent *x,
			 struct err *err)
{
	const struct coverage_node *node = NULL;
	int rc = coverage_find(&c->coverage, series, &node, err);
	const struct time_span *last;
	int64_t end;

	if (rc || !node || !node->spans.count)
		return rc;
	last = &node->spans.v[node->spans.count - 1];
	end = last->reach < s->to ? last->reach : s->to;
	if (end > s->from)
		extend_side(x, c->side,
			    node->spans.v[0].from > s->from ?
				    node->spans.v[0].from :
				    s->from,
			    end - 1);
	return 0;
}

/* Begin to look at the heartbeats of a side, if rates are asked for. */
static void open_coverage(struct query_compare *c, const struct query_spec *s)
{
	c->has_coverage = !c->o.by_kind && c->o.by == COMPARE_RATE &&
			  !s->totals.set;
	if (c->has_coverage)
		coverage_init(&c->coverage, c->g->db, c->g->work, s->from,
			      s->to);
}

static void close_coverage(struct query_compare *c)
{
	if (c->has_coverage)
		coverage_fini(&c->coverage);
	c->has_coverage = false;
}

/* Look at the times of all profiles of a side. */
static int plan_side(struct query_compare *c, const struct query_spec *s,
		     struct compare_extent *x, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	struct query_work *w = c->g->work;
	int64_t spacing;
	int rc;

	open_coverage(c, s);
	query_open(w, c->g->db, &q);
	rc = query_select(w, q, s->selector.matchers, s->selector.count,
			  s->from, s->to, err);
	x->first[c->side] = INT64_MAX;
	x->last[c->side] = INT64_MIN;
	c->spacings.count = 0;
	for (size_t i = 0; !rc && i < querier_count(q); i++) {
		struct totals_view t = { 0 };
		struct total_rows rows = { 0 };

		rc = querier_totals(q, i, s->from, s->to, &t, err);
		if (!rc)
			rc = query_merge_reduce(c->g, &t, &rows, err);
		if (!rc)
			rc = plan_series(c, &t, x, err);
		if (!rc && t.count && c->has_coverage)
			rc = plan_coverage(c, querier_labels(q, i), s, x, err);
		total_rows_fini(&rows);
		if (!rc)
			rc = query_check_deadline(w, err);
	}
	close_coverage(c);
	spacing = bucket_plan_spacing(c->spacings.v, c->spacings.count);
	x->spacing = spacing > x->spacing ? spacing : x->spacing;
	return rc;
}

/* Decide what is compared, and refuse what makes no sense. */
static int choose_by(struct query_compare *c, struct err *err)
{
	struct compare *to = &c->compare;

	to->is_state = c->values.kind == KIND_STATE;
	to->by = c->o.by;
	if (c->o.by_kind)
		to->by = compare_by_kind(c->values.kind);
	if (to->by == COMPARE_RATE && c->values.kind == KIND_STATE)
		return err_set(
			err, ERR_INVALID,
			"values that are a state, such as memory in use, have no rate: use by=level or, for the error bars of a flame graph, by=share");
	if (to->by == COMPARE_LEVEL && c->values.kind == KIND_FLOW)
		return err_set(
			err, ERR_INVALID,
			"values that count for a time, such as CPU time, have no level: use by=rate");
	if (c->o.no_states && to->by == COMPARE_LEVEL && to->is_state)
		return err_set(
			err, c->o.by_kind ? ERR_UNSUPPORTED : ERR_INVALID,
			"for values that are a state, such as memory in use, a flame graph can have error bars only with by=share");
	return 0;
}

/* Sides of the same time are cut alike, so that their buckets can be paired. */
static void join_extents(struct compare_extent *x)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		x->first[s] = x->first[s] < x->first[!s] ? x->first[s] :
							   x->first[!s];
		x->last[s] = x->last[s] > x->last[!s] ? x->last[s] :
							x->last[!s];
	}
}

/*
 * Cut both ranges into buckets, as far as there are profiles. A side without
 * profiles has one bucket; collecting it will say why it has none.
 */
static int plan_buckets(struct query_compare *c, struct compare_extent *x,
			struct err *err)
{
	int64_t range = side_range(x, ESTIMATE_BASE);

	if (range < side_range(x, ESTIMATE_NEW))
		range = side_range(x, ESTIMATE_NEW);
	c->width_ms = c->o.bucket_ms ? c->o.bucket_ms :
				       bucket_plan_width(range, c->values.kind,
							 x->spacing);
	if (range / c->width_ms >= COMPARE_BUCKETS_MAX)
		return err_set(
			err, ERR_INVALID,
			"the time range has more than %d blocks: use longer blocks (parameter \"block\"), or a shorter time range",
			COMPARE_BUCKETS_MAX);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		int64_t last;

		if (x->last[s] < x->first[s])
			x->first[s] = x->last[s] = c->from[s];
		c->compare.first[s] = bucket_plan_at(x->first[s], c->width_ms);
		last = bucket_plan_at(x->last[s], c->width_ms);
		(void)compare_divisor(&c->compare, false,
				      (uint32_t)(last - c->compare.first[s]) *
						      2 +
					      (uint32_t)s);
	}
	return 0;
}

/* The column of a time of the side that is being collected. */
static uint32_t column_at(const struct query_compare *c, int64_t ms)
{
	size_t count = c->compare.divisors[c->side].buckets.count;
	int64_t at =
		bucket_plan_at(ms, c->width_ms) - c->compare.first[c->side];

	/* A profile may have come since the plan was made. */
	at = at < 0 ? 0 : at >= (int64_t)count ? (int64_t)count - 1 : at;
	return (uint32_t)at * 2 + (uint32_t)c->side;
}

/* The column of a series: the same on both sides. */
static uint32_t instance_column(struct query_compare *c, struct labels *ls)
{
	size_t at = c->instances.count;

	if (c->side == ESTIMATE_NEW) {
		size_t low = 0;
		size_t high = c->of_base;

		/* The series of the base came in the order of their labels. */
		while (low < high) {
			size_t mid = (low + high) / 2;

			if (labels_cmp(c->instances.v[mid], ls) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < c->of_base && !labels_cmp(c->instances.v[low], ls))
			at = low;
	}
	if (at == c->instances.count)
		*vec_add(&c->instances) = labels_ref(ls);
	return (uint32_t)at * 2 + (uint32_t)c->side;
}

/* A piece of a series, and the columns to which its values belong. */
struct compare_piece {
	struct query_compare *c;
	struct querier *q;
	size_t series;
	const struct totals_view *t; /* the rows of the series */
	uint32_t bucket;
	uint32_t instance;
};

/* merge_collected() callback. */
static void take_value(void *ctx, uint32_t sample, int64_t value)
{
	const struct compare_piece *x = ctx;

	cells_add(&x->c->compare.buckets, sample, x->bucket, value);
	cells_add(&x->c->compare.instances, sample, x->instance, value);
}

/* Add to the divisors of a piece. */
static void add_divisor(struct compare_piece *x, double v)
{
	*compare_divisor(&x->c->compare, false, x->bucket) += v;
	*compare_divisor(&x->c->compare, true, x->instance) += v;
}

/*
 * Add to the divisors for the rows [first, end) of a series: the time that they
 * tell of, or 1 for a state. `node` is the machine whose heartbeats tell it for
 * all rows of their time; those rows add nothing here. ERR_INVALID: a rate is
 * asked for, and a profile has no duration.
 */
static int add_rows_divisor(struct compare_piece *x, size_t first, size_t end,
			    const struct coverage_node *node, struct err *err)
{
	enum value_kind kind = x->c->values.kind;
	double seconds = 0;

	for (size_t i = first; i < end; i++) {
		const struct totals_row *row = &x->t->rows[i];
		int64_t interval = querier_interval_ns(x->t, row);

		if (kind == KIND_COUNTER)
			seconds +=
				i ? (double)(row->ms - x->t->rows[i - 1].ms) /
						1e3 :
				    0;
		else if (node && coverage_has(node, row_middle(row)))
			continue;
		else if (kind == KIND_FLOW && interval <= 0 &&
			 x->c->compare.by == COMPARE_RATE)
			return err_set(
				err, ERR_INVALID,
				"a profile does not state its duration, so its rate is unknown: use by=share, or select profiles that have a duration");
		else
			seconds += (double)interval / 1e9;
	}
	add_divisor(x, kind == KIND_STATE ? 1 : seconds);
	return 0;
}

/* Add the time for which the machine of a series was sampled, by bucket. */
static void add_coverage(struct compare_piece *x,
			 const struct coverage_node *node)
{
	const struct query_compare *c = x->c;
	size_t n = c->compare.divisors[c->side].buckets.count;

	for (size_t i = 0; i < n; i++) {
		int64_t begin =
			(c->compare.first[c->side] + (int64_t)i) * c->width_ms;
		int64_t end = begin + c->width_ms;

		begin = begin > c->from[c->side] ? begin : c->from[c->side];
		end = end < c->to[c->side] ? end : c->to[c->side];
		if (begin >= end)
			continue;
		x->bucket = (uint32_t)i * 2 + (uint32_t)c->side;
		add_divisor(x,
			    (double)coverage_overlap(node, begin, end) / 1e3);
	}
}

/*
 * Add the rows [first, end) of a series, which are of one bucket. The increase of a
 * counter begins at the profile before them.
 */
static int add_piece(struct compare_piece *x, size_t first, size_t end,
		     struct err *err)
{
	struct query_compare *c = x->c;
	size_t begin = c->values.kind == KIND_COUNTER && first ? first - 1 :
								 first;
	struct totals_view piece = *x->t;
	size_t count;
	int rc;

	piece.rows += begin;
	piece.count = end - begin;
	rc = query_add_rows(c->g, x->q, x->series, &piece, &count, err);
	if (rc || !merge_count(c->g->merge))
		return rc;
	rc = merge_type_index(c->g->merge, c->g->o->sample_index, &c->type,
			      err);
	if (!rc)
		merge_collected(c->g->merge, c->type,
				c->values.kind == KIND_STATE ? count : 1,
				take_value, x);
	return rc;
}

int query_compare_add(struct query_compare *c, struct querier *q, size_t series,
		      const struct totals_view *t, struct err *err)
{
	struct labels *ls = querier_labels(q, series);
	struct compare_piece x = { .c = c,
				   .q = q,
				   .series = series,
				   .t = t,
				   .instance = instance_column(c, ls) };
	const struct coverage_node *node = NULL;
	size_t first = 0;
	int rc = 0;

	c->profiles[c->side] += t->count;
	/* Profiles may have come since the plan was made. */
	rc = note_kinds(c, t, err);
	if (!rc && c->has_coverage)
		rc = coverage_find(&c->coverage, ls, &node, err);
	if (!rc && node)
		add_coverage(&x, node);
	while (first < t->count && !rc && !c->g->late) {
		size_t end = first + 1;

		x.bucket = column_at(c, row_middle(&t->rows[first]));
		while (end < t->count &&
		       column_at(c, row_middle(&t->rows[end])) == x.bucket)
			end++;
		rc = add_rows_divisor(&x, first, end, node, err);
		if (!rc)
			rc = add_piece(&x, first, end, err);
		first = end;
	}
	columns_sum_forget(c->g->sum);
	return rc;
}

/* Collect the profiles of one side. */
static int collect_side(struct query_compare *c, const struct query_spec *s,
			struct err *err)
{
	size_t series = c->g->series;
	int rc;

	open_coverage(c, s);
	rc = query_merge_run(c->g, s, err);
	if (c->has_coverage && !rc && coverage_lost(&c->coverage))
		rc = err_set(err, coverage_lost(&c->coverage)->code, "%s",
			     coverage_lost(&c->coverage)->msg);
	close_coverage(c);
	if (!rc && c->g->late)
		rc = err_set(err, c->g->late_why.code, "%s",
			     c->g->late_why.msg);
	c->series[c->side] = c->g->series - series;
	if (c->side == ESTIMATE_BASE)
		c->of_base = c->instances.count;
	return rc;
}

/* Say which side an error is about. */
static int name_side(int side, int rc, struct err *err)
{
	return rc ? err_wrap(err, rc, "side %s",
			     side == ESTIMATE_BASE ?
				     "a (the base)" :
				     "b (compared with the base)") :
		    0;
}

int query_compare_run(struct query_compare *c, const struct query_spec *base,
		      const struct query_spec *new, struct pprof **out,
		      struct err *err)
{
	const struct query_spec *specs[] = { base, new };
	struct compare_extent x = { 0 };
	int rc = 0;

	for (c->side = 0; c->side < ESTIMATE_SIDES; c->side++) {
		c->from[c->side] = specs[c->side]->from;
		c->to[c->side] = specs[c->side]->to;
	}
	for (c->side = 0; c->side < ESTIMATE_SIDES && !rc; c->side++)
		rc = name_side(c->side, plan_side(c, specs[c->side], &x, err),
			       err);
	if (!rc && c->has_kind)
		rc = choose_by(c, err);
	c->compare.paired = base->from == new->from && base->to == new->to;
	if (c->compare.paired)
		join_extents(&x);
	if (!rc)
		rc = plan_buckets(c, &x, err);
	merge_collect(c->g->merge);
	for (c->side = 0; c->side < ESTIMATE_SIDES && !rc; c->side++)
		rc = name_side(c->side, collect_side(c, specs[c->side], err),
			       err);
	if (rc)
		return rc;
	*out = merge_number(c->g->merge, c->type);
	c->compare.period = compare_type_period(&c->values, (*out)->period);
	return 0;
}

void query_compare_fini(struct query_compare *c)
{
	for (size_t i = 0; i < c->instances.count; i++)
		labels_unref(c->instances.v[i]);
	vec_fini(&c->instances);
	vec_fini(&c->spacings);
	close_coverage(c);
	compare_fini(&c->compare);
	c->g->compare = NULL;
}
