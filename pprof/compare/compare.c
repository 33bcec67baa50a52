/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/significance.h"
#include "pprof/compare/compare_table.h"
#include "pprof/profile/profile.h"

enum {
	/* Fewest buckets of a side: at first, once they are joined, as runs. */
	BUCKETS_FIRST = 20,
	BUCKETS_JOINED = 15,
	BUCKETS_RUNS = 5,
	/* The width of buckets is chosen by the spread of so many functions. */
	WIDTH_ROWS = 50,
	/* Without a period, a value is tested if it is in so many buckets. */
	BUCKETS_TESTED = 5,
	/* Times that buckets are joined in pairs, at most. */
	JOINED_MAX = 16,
};

/* Functions with more than this part of the total tell little about it. */
#define WIDTH_SHARE 0.9

/*
 * Buckets twice as wide are independent if the variance stays; it grows by more
 * than this if neighbours are alike.
 */
#define WIDTH_GROWTH 1.15

struct compare_type compare_type_of(const struct value_type *type,
				    const struct value_type *period,
				    bool per_interval)
{
	return (struct compare_type){
		.kind = value_kind(type->type, per_interval),
		.is_samples = str_is(type->type, "samples") &&
			      str_is(type->unit, "count"),
		.is_period = str_eq(type->type, period->type) &&
			     str_eq(type->unit, period->unit),
	};
}

enum compare_by compare_by_kind(enum value_kind kind)
{
	return kind == KIND_FLOW ? COMPARE_SHARE : COMPARE_LEVEL;
}

double compare_type_period(const struct compare_type *t, int64_t period)
{
	if (t->kind != KIND_FLOW)
		return 0;
	if (t->is_samples)
		return 1;
	return t->is_period ? (double)period : 0;
}

double *compare_divisor(struct compare *c, bool instance, uint32_t column)
{
	struct compare_divisors *d = &c->divisors[column & 1];

	while (!instance && d->buckets.count <= column / 2)
		*vec_add(&d->buckets) = 0;
	while (instance && d->instances.count <= column / 2)
		*vec_add(&d->instances) = 0;
	return instance ? &d->instances.v[column / 2] :
			  &d->buckets.v[column / 2];
}

double compare_divisor_sum(const struct compare *c, int side)
{
	double sum = 0;

	for (size_t i = 0; i < c->divisors[side].buckets.count; i++)
		sum += c->divisors[side].buckets.v[i];
	return sum;
}

size_t compare_memory(const struct compare *c)
{
	size_t divisors = 0;

	for (int s = 0; s < ESTIMATE_SIDES; s++)
		divisors += vec_memory(&c->divisors[s].buckets) +
			    vec_memory(&c->divisors[s].instances);
	return divisors + cells_memory(&c->buckets) +
	       cells_memory(&c->instances);
}

void compare_fini(struct compare *c)
{
	cells_fini(&c->buckets);
	cells_fini(&c->instances);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		vec_fini(&c->divisors[s].buckets);
		vec_fini(&c->divisors[s].instances);
	}
}

void compare_result_fini(struct compare_result *r)
{
	vec_fini(&r->rows);
}

/* A function and its weight on both sides. */
struct compare_weight {
	double weight;
	uint32_t node;
};

/* Order of two numbers, the larger one first. */
static int compare_numbers(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_weights(const void *a, const void *b, void *nodes)
{
	const struct compare_weight *x = a;
	const struct compare_weight *y = b;
	int order = compare_numbers(x->weight, y->weight);

	return order ? order :
		       nodes_order(*(const struct nodes *const *)nodes, x->node,
				   y->node);
}

/*
 * List the functions by whose spread the width of buckets is chosen: the heaviest
 * ones, but for those that are nearly everything. Returns their number.
 */
static size_t list_heaviest(const struct compare_table *t,
			    struct compare_weight out[WIDTH_ROWS])
{
	const struct nodes *names = t->nodes;
	size_t nodes = names->v.count;
	struct compare_weight *v = mem_zalloc(nodes + 1, sizeof(*v));
	size_t count = 0;
	double total = 0;

	for (size_t i = 0; i < t->p->samples.count; i++)
		total += compare_table_weight(t, i);
	for (size_t n = 0; n < nodes; n++) {
		struct compare_entries e = compare_table_node(t, n);
		double sum = 0;

		for (size_t i = 0; i < e.count; i++)
			sum += compare_table_weight(t, e.v[i] & ~COMPARE_LEAF);
		if (sum > 0 && sum < WIDTH_SHARE * total)
			v[count++] =
				(struct compare_weight){ sum, (uint32_t)n };
	}
	if (count)
		qsort_r(v, count, sizeof(*v), compare_weights, &names);
	count = count < WIDTH_ROWS ? count : WIDTH_ROWS;
	memcpy(out, v, count * sizeof(*v));
	mem_free(v);
	return count;
}

/* The spread of a function between the buckets as they are now. */
static double node_spread(struct compare_table *t, uint32_t node)
{
	compare_table_add(t, compare_table_node(t, node), false, &t->values);
	return estimate_spread(&t->frame,
			       (const double *const *)t->values.buckets);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * By how much the variance grows when the buckets become twice as wide: the median
 * of the functions. Leaves the buckets joined.
 */
static double widen_buckets(struct compare_table *t,
			    const struct compare_weight *v, size_t n,
			    unsigned int shift)
{
	double before[WIDTH_ROWS];
	double ratios[WIDTH_ROWS];
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		before[i] = node_spread(t, v[i].node);
	compare_table_join(t, shift);
	for (size_t i = 0; i < n; i++) {
		if (before[i] > 0)
			ratios[count++] = node_spread(t, v[i].node) / before[i];
	}
	if (!count)
		return 1;
	qsort(ratios, count, sizeof(*ratios), compare_doubles);
	return count % 2 ? ratios[count / 2] :
			   (ratios[count / 2 - 1] + ratios[count / 2]) / 2;
}

/* The number of buckets of the side that has fewer. */
static double fewest_buckets(const struct compare_table *t)
{
	return fmin(t->frame.count[ESTIMATE_BASE],
		    t->frame.count[ESTIMATE_NEW]);
}

/*
 * Choose one width for the whole comparison: as long as the variance grows with
 * the width, neighbouring buckets are not independent.
 */
static int choose_width(struct compare_table *t, struct compare_result *out,
			struct err *err)
{
	struct compare_weight heaviest[WIDTH_ROWS];
	unsigned int shift = 0;
	size_t n;
	int rc = 0;

	compare_table_join(t, 0);
	out->few_buckets = fewest_buckets(t) <
			   (t->c->runs ? BUCKETS_RUNS : BUCKETS_FIRST);
	n = t->c->runs ? 0 : list_heaviest(t, heaviest);
	while (n && shift < JOINED_MAX && !rc) {
		if (widen_buckets(t, heaviest, n, shift + 1) < WIDTH_GROWTH) {
			compare_table_join(t, shift);
			break;
		}
		if (fewest_buckets(t) < BUCKETS_JOINED) {
			out->bursty = true;
			compare_table_join(t, shift);
			break;
		}
		shift++;
		rc = limits_spend(t->limits, 0, err);
	}
	if (!t->c->runs && fewest_buckets(t) < BUCKETS_JOINED)
		out->few_buckets = true;
	out->joined = (size_t)1 << shift;
	out->same_instances = t->frame.same_instances;
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		out->buckets[s] = (size_t)t->frame.count[s];
		for (size_t i = 0; i < t->instance_count; i++)
			out->instances[s] += t->frame.instances[s].v[i] > 0;
	}
	return rc;
}

/* In how many buckets of a side a row has a value. */
static size_t filled_buckets(const struct compare_table *t, const double *v,
			     int side)
{
	size_t n = 0;

	for (size_t i = 0; i < t->frame.buckets[side].count; i++)
		n += v[i] != 0;
	return n;
}

/* The values of a row, or of what is its own. */
struct compare_row_sums {
	double v[ESTIMATE_SIDES];
	size_t cells; /* how many are added up */
};

static struct compare_row_sums sum_entries(const struct compare_table *t,
					   struct compare_entries e, bool leaf)
{
	struct compare_row_sums out = { 0 };

	for (size_t i = 0; i < e.count; i++) {
		size_t sample = e.v[i] & ~COMPARE_LEAF;
		size_t id = compare_table_id(t->p, sample);

		if (leaf && !(e.v[i] & COMPARE_LEAF))
			continue;
		for (int s = 0; s < ESTIMATE_SIDES; s++)
			out.v[s] += t->sample_sums[s][sample];
		out.cells += t->bucket_first[id + 1] - t->bucket_first[id];
	}
	return out;
}

/*
 * Whether a value can be more than a few samples, so that it can be tested. Most
 * rows are not: their cells are not even read.
 */
static bool may_be_tested(const struct compare_table *t,
			  const struct compare_row_sums *sums,
			  struct compare_value *x)
{
	if (!(t->frame.period > 0))
		return sums->cells >= BUCKETS_TESTED;
	x->samples = (sums->v[ESTIMATE_BASE] + sums->v[ESTIMATE_NEW]) /
		     t->frame.period;
	return x->samples >= t->c->min_samples;
}

/* Whether a value can be tested, whose values by bucket are v. */
static bool is_testable(const struct compare_table *t,
			const struct compare_row_sums *sums,
			const struct compare_values *v)
{
	int side = fabs(sums->v[ESTIMATE_BASE]) > fabs(sums->v[ESTIMATE_NEW]) ?
			   ESTIMATE_BASE :
			   ESTIMATE_NEW;

	return t->frame.period > 0 ||
	       filled_buckets(t, v->buckets[side], side) >= BUCKETS_TESTED;
}

/* Begin with one value, which is not tested yet. */
static struct compare_value value_begin(const struct compare_table *t,
					const struct compare_row_sums *sums)
{
	return (struct compare_value){
		.e = estimate_ratios(&t->frame, sums->v),
		.p_all = 2,
		.visible = (double)NAN,
	};
}

/* Test one value; p_all is that of the value alone until all are known. */
static void value_test(struct compare_table *t,
		       const struct compare_row_sums *sums,
		       const struct compare_values *v, struct compare_value *x)
{
	const double *const *buckets = (const double *const *)v->buckets;

	if (!is_testable(t, sums, v))
		return;
	/* The share of what is in all samples has to be exactly 1. */
	x->e = estimate_buckets(&t->frame, buckets);
	estimate_row(&t->frame, &x->e, buckets,
		     (const double *const *)v->instances);
	/* Buckets of which one weighs nearly all tell nothing of the spread. */
	if (x->e.degrees >= 1)
		x->p_all = x->e.p;
}

/* Estimate one value of a row, and test it if it has more than a few samples. */
static struct compare_value estimate_value(struct compare_table *t,
					   struct compare_entries e, bool leaf)
{
	struct compare_row_sums sums = sum_entries(t, e, leaf);
	struct compare_value x = value_begin(t, &sums);

	if (may_be_tested(t, &sums, &x)) {
		compare_table_add(t, e, leaf, &t->values);
		value_test(t, &sums, &t->values, &x);
	}
	return x;
}

/* Estimate the value of all samples. */
static struct compare_value estimate_total(struct compare_table *t)
{
	struct compare_row_sums sums = { .cells = SIZE_MAX };
	struct compare_value x;

	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		for (size_t i = 0; i < t->p->samples.count; i++)
			sums.v[s] += t->sample_sums[s][i];
	}
	x = value_begin(t, &sums);
	if (may_be_tested(t, &sums, &x))
		value_test(t, &sums, &t->total, &x);
	return x;
}

static bool is_empty(const struct compare_value *x)
{
	return x->e.ratio[ESTIMATE_BASE] == 0 && x->e.ratio[ESTIMATE_NEW] == 0;
}

/* Groups have no own value. */
static const struct compare_value value_untested = { .p_all = 2,
						     .visible = (double)NAN };

static void count_value(struct compare_result *r, const struct compare_value *x)
{
	bool tested = x->p_all <= 1;

	r->tested += tested;
	r->few += !tested;
}

/* Estimate all functions, or all groups. */
static int estimate_nodes(struct compare_table *t, struct compare_result *out,
			  struct err *err)
{
	size_t count = t->c->groups ? t->c->groups->count : t->nodes->v.count;
	struct growth_meter meter = { 0 };
	int rc = 0;

	for (size_t n = 0; n < count && !rc; n++) {
		struct compare_entries e = compare_table_row(t, n);
		struct compare_row row = {
			.node = (uint32_t)n,
			.flat = t->c->groups ? value_untested :
					       estimate_value(t, e, true),
			.cum = estimate_value(t, e, false),
		};

		if (!is_empty(&row.cum) || !is_empty(&row.flat)) {
			count_value(out, &row.cum);
			if (!t->c->groups)
				count_value(out, &row.flat);
			*vec_add(&out->rows) = row;
		}
		rc = limits_meter(t->limits, &meter,
				  t->cells_read + e.count + 16,
				  vec_memory(&out->rows), err);
		t->cells_read = 0;
	}
	out->total = estimate_total(t);
	return rc;
}

/* Judge a value, once it is corrected for all. */
static void judge_value(const struct compare_table *t,
			const struct compare_result *out,
			struct compare_value *x, size_t tests)
{
	if (x->p_all > 1)
		return;
	/* Nobody asks what could have been seen of a group. */
	if (!t->c->groups)
		x->visible = estimate_visible(&x->e, t->c->alpha, tests);
	x->sure = x->p_all <= t->c->alpha && !out->few_buckets &&
		  !t->c->is_state;
}

/* Correct the probabilities for the number of tests, and judge all values. */
static void judge_all(const struct compare_table *t, struct compare_result *out)
{
	double *p = mem_zalloc(2 * out->rows.count + 1, sizeof(*p));

	for (size_t i = 0; i < out->rows.count; i++) {
		p[2 * i] = out->rows.v[i].flat.p_all;
		p[2 * i + 1] = out->rows.v[i].cum.p_all;
	}
	significance_holm(p, 2 * out->rows.count);
	for (size_t i = 0; i < out->rows.count; i++) {
		out->rows.v[i].flat.p_all = p[2 * i];
		out->rows.v[i].cum.p_all = p[2 * i + 1];
		judge_value(t, out, &out->rows.v[i].flat, out->tested);
		judge_value(t, out, &out->rows.v[i].cum, out->tested);
	}
	/* The total is a question of its own. */
	judge_value(t, out, &out->total, 1);
	mem_free(p);
}

/* Difference in standard errors. */
static double row_score(const struct compare_row *r)
{
	double se = sqrt(r->cum.e.variance);

	return se > 0 ? fabs(r->cum.e.delta) / se : 0;
}

/*
 * Order of rows: those that changed for sure, the largest change first, then the most
 * likely ones. Of equal ones, the heaviest is first, then the names decide.
 */
static int compare_rows(const void *a, const void *b, void *nodes)
{
	const struct compare_row *x = a;
	const struct compare_row *y = b;
	bool sure_x = x->cum.sure || x->flat.sure;
	bool sure_y = y->cum.sure || y->flat.sure;
	double by_x = sure_x ? fabs(x->cum.e.delta) : row_score(x);
	double by_y = sure_y ? fabs(y->cum.e.delta) : row_score(y);
	int order = compare_numbers(sure_x, sure_y);

	if (!order)
		order = compare_numbers(by_x, by_y);
	if (!order)
		order = compare_numbers(x->cum.e.ratio[ESTIMATE_BASE],
					y->cum.e.ratio[ESTIMATE_BASE]);
	return order ? order :
		       nodes_order(*(const struct nodes *const *)nodes, x->node,
				   y->node);
}

/* Whether the buckets of both sides are of the same times. */
static bool is_paired(const struct compare *c)
{
	return c->paired && c->first[0] == c->first[1] &&
	       c->divisors[0].buckets.count == c->divisors[1].buckets.count;
}

void compare_sums(const struct compare *c, const struct pprof *p,
		  int64_t *sums[ESTIMATE_SIDES])
{
	size_t samples = p->samples.count;
	size_t ids = cells_samples(&c->buckets);
	int64_t *of[ESTIMATE_SIDES];

	for (int s = 0; s < ESTIMATE_SIDES; s++)
		of[s] = mem_zalloc(ids + 1, sizeof(int64_t));
	for (size_t i = 0; i < c->buckets.v.count; i++) {
		const struct cell *v = &c->buckets.v.v[i];
		int64_t *sum = &of[v->column & 1][v->sample];

		*sum = wrap_add(*sum, v->value);
	}
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		for (size_t i = 0; i < samples; i++) {
			size_t id = compare_table_id(p, i);

			sums[s][i] = id < ids ? of[s][id] : 0;
		}
		mem_free(of[s]);
	}
}

int compare_run(struct compare *c, const struct pprof *p,
		const struct nodes *nodes, const struct limits *limits,
		struct compare_result *out, struct err *err)
{
	struct compare_table t = {
		.c = c,
		.p = p,
		.nodes = nodes,
		.limits = limits,
		.frame = { .paired = is_paired(c),
			   .is_share = c->by == COMPARE_SHARE,
			   .period = c->period },
	};
	int rc;

	*out = (struct compare_result){ 0 };
	rc = compare_table_init(&t, err);
	if (!rc)
		rc = choose_width(&t, out, err);
	if (!rc)
		rc = estimate_nodes(&t, out, err);
	if (!rc) {
		judge_all(&t, out);
		if (out->rows.count && !c->groups)
			qsort_r(out->rows.v, out->rows.count,
				sizeof(*out->rows.v), compare_rows, &t.nodes);
	}
	if (rc)
		compare_result_fini(out);
	compare_table_fini(&t);
	return rc;
}
