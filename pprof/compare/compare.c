/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/significance.h"
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

/* Marks the samples of a function whose leaf it is. */
#define COMPARE_LEAF (UINT32_C(1) << 31)

/* Values of both sides, by bucket and by instance. */
struct compare_values {
	double *buckets[ESTIMATE_SIDES];
	double *instances[ESTIMATE_SIDES];
};

/* A comparison that is being computed. */
struct compare_work {
	struct compare *c;
	const struct pprof *p;
	const struct nodes *nodes;
	const struct limits *limits;
	struct compare_result *out;
	size_t ids; /* number of samples in the cells */
	/* The cells of each sample; see cells_sort(). */
	uint32_t *bucket_first;
	uint32_t *instance_first;
	/* The samples of each node: those of node i begin at node_first[i]. */
	uint32_t *node_first;
	uint32_t *node_samples;
	double *sample_sum; /* of both sides, by sample of p */
	/* The joined bucket of each bucket, and the divisors of joined ones. */
	uint32_t *joined[ESTIMATE_SIDES];
	double *divisors[ESTIMATE_SIDES];
	double *instance_divisors[ESTIMATE_SIDES];
	size_t bucket_count[ESTIMATE_SIDES]; /* before they are joined */
	size_t instance_count;
	size_t cells_read; /* for the node that is being estimated */
	struct compare_values total;
	struct compare_values flat;
	struct compare_values cum;
	struct estimate_frame frame;
};

struct compare_type compare_type_of(const struct value_type *type,
				    const struct value_type *period,
				    bool has_duration)
{
	return (struct compare_type){
		.kind = value_kind(type->type, has_duration),
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

/* The number of a sample of p in the cells. */
static size_t sample_id(const struct pprof *p, size_t sample)
{
	return (size_t)pprof_values(p, sample)[0] - 1;
}

/*
 * Call visit() for the nodes of a sample, each once, the leaf first. `seen` has an
 * element for each node.
 */
static void each_node(struct compare_work *w, size_t sample, uint32_t *seen,
		      void (*visit)(struct compare_work *w, uint32_t node,
				    uint32_t entry))
{
	const struct pprof_run *stack = pprof_stack(w->p, sample);
	uint32_t entry = (uint32_t)sample | COMPARE_LEAF;

	for (uint32_t f = 0; f < stack->count; f++) {
		uint32_t l = w->p->frames.v[stack->first + f];
		struct pprof_run of = w->nodes->locations.v[l];

		for (uint32_t n = 0; n < of.count; n++) {
			uint32_t node = w->nodes->of_lines.v[of.first + n];

			if (seen[node] != sample + 1)
				visit(w, node, entry);
			seen[node] = (uint32_t)sample + 1;
			entry = (uint32_t)sample;
		}
	}
}

static void count_sample(struct compare_work *w, uint32_t node, uint32_t entry)
{
	(void)entry;
	w->node_first[node + 1]++;
}

static void place_sample(struct compare_work *w, uint32_t node, uint32_t entry)
{
	w->node_samples[w->node_first[node]++] = entry;
}

/* List the samples of each node. */
static int list_samples(struct compare_work *w, struct err *err)
{
	size_t nodes = w->nodes->v.count;
	uint32_t *seen = mem_zalloc(nodes + 1, sizeof(*seen));
	size_t samples = w->p->samples.count;
	struct growth_meter meter = { 0 };
	int rc = 0;

	w->node_first = mem_zalloc(nodes + 2, sizeof(*w->node_first));
	for (size_t i = 0; i < samples && !rc; i++) {
		each_node(w, i, seen, count_sample);
		rc = limits_meter(w->limits, &meter,
				  pprof_stack(w->p, i)->count + 1, 0, err);
	}
	for (size_t n = 0; n < nodes; n++)
		w->node_first[n + 1] += w->node_first[n];
	if (!rc)
		rc = limits_spend(w->limits,
				  (w->node_first[nodes] + 3 * nodes) *
					  sizeof(uint32_t),
				  err);
	if (!rc) {
		w->node_samples = mem_zalloc(w->node_first[nodes] + 1,
					     sizeof(*w->node_samples));
		memset(seen, 0, nodes * sizeof(*seen));
		for (size_t i = 0; i < samples && !rc; i++) {
			each_node(w, i, seen, place_sample);
			rc = limits_meter(w->limits, &meter,
					  pprof_stack(w->p, i)->count + 1, 0,
					  err);
		}
		/* Each begin has moved to its end, the begin of the next. */
		memmove(w->node_first + 1, w->node_first,
			nodes * sizeof(*w->node_first));
		w->node_first[0] = 0;
	}
	mem_free(seen);
	return rc;
}

/* Add the cells of a sample to the values of a row. */
static void add_cells(struct compare_work *w, size_t id,
		      struct compare_values *to)
{
	const struct cell *v = w->c->buckets.v.v;

	w->cells_read += w->bucket_first[id + 1] - w->bucket_first[id];
	w->cells_read += w->instance_first[id + 1] - w->instance_first[id];

	for (uint32_t i = w->bucket_first[id]; i < w->bucket_first[id + 1];
	     i++) {
		uint32_t side = v[i].column & 1;

		to->buckets[side][w->joined[side][v[i].column / 2]] +=
			(double)v[i].value;
	}
	v = w->c->instances.v.v;
	for (uint32_t i = w->instance_first[id]; i < w->instance_first[id + 1];
	     i++)
		to->instances[v[i].column & 1][v[i].column / 2] +=
			(double)v[i].value;
}

static void values_init(const struct compare_work *w, struct compare_values *v)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		v->buckets[s] =
			mem_zalloc(w->bucket_count[s] + 1, sizeof(double));
		v->instances[s] =
			mem_zalloc(w->instance_count + 1, sizeof(double));
	}
}

static void values_clear(const struct compare_work *w, struct compare_values *v)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		memset(v->buckets[s], 0, w->bucket_count[s] * sizeof(double));
		memset(v->instances[s], 0, w->instance_count * sizeof(double));
	}
}

static void values_fini(struct compare_values *v)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		mem_free(v->buckets[s]);
		mem_free(v->instances[s]);
	}
}

/*
 * Add up the values of samples. Those of which COMPARE_LEAF says it are the row's
 * own, too.
 */
static void add_entries(struct compare_work *w, const uint32_t *entries,
			size_t count)
{
	values_clear(w, &w->flat);
	values_clear(w, &w->cum);
	for (size_t i = 0; i < count; i++) {
		size_t id = sample_id(w->p, entries[i] & ~COMPARE_LEAF);

		add_cells(w, id, &w->cum);
		if (entries[i] & COMPARE_LEAF)
			add_cells(w, id, &w->flat);
	}
}

/* Add up the values of a function. */
static void add_node(struct compare_work *w, size_t node)
{
	add_entries(w, w->node_samples + w->node_first[node],
		    w->node_first[node + 1] - w->node_first[node]);
}

/* Add up the values of a group. */
static void add_group_samples(struct compare_work *w, size_t group)
{
	struct pprof_run run = w->c->groups->of[group];

	add_entries(w, w->c->groups->samples + run.first, run.count);
}

/* Add up the values of all samples: what shares are parts of. */
static void add_total(struct compare_work *w)
{
	values_clear(w, &w->total);
	for (size_t i = 0; i < w->p->samples.count; i++)
		add_cells(w, sample_id(w->p, i), &w->total);
}

/*
 * Join 2^shift buckets to one, which begins at a multiple of its length. Buckets
 * at the ends of the range may be cut off, and weigh less then.
 */
static void join_buckets(struct compare_work *w, unsigned int shift)
{
	struct estimate_frame *f = &w->frame;

	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		int64_t first = w->c->first[s];
		size_t n = w->bucket_count[s];

		for (size_t i = 0; i < n; i++)
			w->joined[s][i] =
				(uint32_t)(((first + (int64_t)i) >> shift) -
					   (first >> shift));
		f->buckets[s].count = n ? w->joined[s][n - 1] + 1 : 0;
		memset(w->divisors[s], 0, n * sizeof(double));
		for (size_t i = 0; i < n; i++)
			w->divisors[s][w->joined[s][i]] +=
				w->c->divisors[s].buckets.v[i];
	}
	add_total(w);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		bool share = w->c->by == COMPARE_SHARE;

		f->buckets[s].v = share ? w->total.buckets[s] : w->divisors[s];
		f->instances[s] = (struct estimate_column){
			share ? w->total.instances[s] : w->instance_divisors[s],
			w->instance_count,
		};
	}
	estimate_begin(f);
}

/* A function and its weight on both sides. */
struct compare_weight {
	double weight;
	uint32_t node;
};

static int compare_weights(const void *a, const void *b)
{
	const struct compare_weight *x = a;
	const struct compare_weight *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/*
 * List the functions by whose spread the width of buckets is chosen: the heaviest
 * ones, but for those that are nearly everything. Returns their number.
 */
static size_t list_heaviest(const struct compare_work *w,
			    struct compare_weight out[WIDTH_ROWS])
{
	size_t nodes = w->nodes->v.count;
	struct compare_weight *v = mem_zalloc(nodes + 1, sizeof(*v));
	size_t count = 0;
	double total = 0;

	for (size_t i = 0; i < w->p->samples.count; i++)
		total += w->sample_sum[i];
	for (size_t n = 0; n < nodes; n++) {
		double sum = 0;

		for (uint32_t i = w->node_first[n]; i < w->node_first[n + 1];
		     i++)
			sum += w->sample_sum[w->node_samples[i] &
					     ~COMPARE_LEAF];
		if (sum > 0 && sum < WIDTH_SHARE * total)
			v[count++] =
				(struct compare_weight){ sum, (uint32_t)n };
	}
	if (count)
		qsort(v, count, sizeof(*v), compare_weights);
	count = count < WIDTH_ROWS ? count : WIDTH_ROWS;
	memcpy(out, v, count * sizeof(*v));
	mem_free(v);
	return count;
}

/* The spread of a function between the buckets as they are now. */
static double node_spread(struct compare_work *w, uint32_t node)
{
	add_node(w, node);
	return estimate_spread(&w->frame,
			       (const double *const *)w->cum.buckets);
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
static double widen_buckets(struct compare_work *w,
			    const struct compare_weight *v, size_t n,
			    unsigned int shift)
{
	double before[WIDTH_ROWS];
	double ratios[WIDTH_ROWS];
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		before[i] = node_spread(w, v[i].node);
	join_buckets(w, shift);
	for (size_t i = 0; i < n; i++) {
		if (before[i] > 0)
			ratios[count++] = node_spread(w, v[i].node) / before[i];
	}
	if (!count)
		return 1;
	qsort(ratios, count, sizeof(*ratios), compare_doubles);
	return count % 2 ? ratios[count / 2] :
			   (ratios[count / 2 - 1] + ratios[count / 2]) / 2;
}

/* The number of buckets of the side that has fewer. */
static double fewest_buckets(const struct compare_work *w)
{
	return fmin(w->frame.count[ESTIMATE_BASE],
		    w->frame.count[ESTIMATE_NEW]);
}

/*
 * Choose one width for the whole comparison: as long as the variance grows with
 * the width, neighbouring buckets are not independent.
 */
static int choose_width(struct compare_work *w, struct err *err)
{
	struct compare_weight heaviest[WIDTH_ROWS];
	struct compare_result *out = w->out;
	unsigned int shift = 0;
	size_t n;
	int rc = 0;

	join_buckets(w, 0);
	out->few_buckets = fewest_buckets(w) <
			   (w->c->runs ? BUCKETS_RUNS : BUCKETS_FIRST);
	n = w->c->runs ? 0 : list_heaviest(w, heaviest);
	while (n && shift < JOINED_MAX && !rc) {
		if (widen_buckets(w, heaviest, n, shift + 1) < WIDTH_GROWTH) {
			join_buckets(w, shift);
			break;
		}
		if (fewest_buckets(w) < BUCKETS_JOINED) {
			out->bursty = true;
			join_buckets(w, shift);
			break;
		}
		shift++;
		rc = limits_spend(w->limits, 0, err);
	}
	if (!w->c->runs && fewest_buckets(w) < BUCKETS_JOINED)
		out->few_buckets = true;
	out->joined = (size_t)1 << shift;
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		out->buckets[s] = (size_t)w->frame.count[s];
		for (size_t i = 0; i < w->instance_count; i++)
			out->instances[s] += w->frame.instances[s].v[i] > 0;
	}
	return rc;
}

/* In how many buckets of a side a row has a value. */
static size_t filled_buckets(const struct compare_work *w, const double *v,
			     int side)
{
	size_t n = 0;

	for (size_t i = 0; i < w->frame.buckets[side].count; i++)
		n += v[i] != 0;
	return n;
}

/* Whether a value is more than a few samples, so that it can be tested. */
static bool is_testable(const struct compare_work *w,
			const struct compare_values *v, struct compare_value *x)
{
	double a = x->e.ratio[ESTIMATE_BASE] * w->frame.sum[ESTIMATE_BASE];
	double b = x->e.ratio[ESTIMATE_NEW] * w->frame.sum[ESTIMATE_NEW];
	int side = fabs(a) > fabs(b) ? ESTIMATE_BASE : ESTIMATE_NEW;

	if (w->frame.period > 0) {
		x->samples = (a + b) / w->frame.period;
		return x->samples >= w->c->min_samples;
	}
	return filled_buckets(w, v->buckets[side], side) >= BUCKETS_TESTED;
}

/* Estimate one value; p_all is that of the value alone until all are known. */
static void estimate_value(struct compare_work *w,
			   const struct compare_values *v,
			   struct compare_value *x)
{
	const double *const *buckets = (const double *const *)v->buckets;
	bool test;

	*x = (struct compare_value){
		.e = estimate_ratios(&w->frame, buckets),
		.visible = (double)NAN,
	};
	test = is_testable(w, v, x);
	if (test)
		estimate_row(&w->frame, &x->e, buckets,
			     (const double *const *)v->instances);
	/* Buckets of which one weighs nearly all tell nothing of the spread. */
	test = test && x->e.degrees >= 1;
	x->p_all = test ? x->e.p : 2;
	w->out->tested += test;
	w->out->few += !test;
}

static bool is_empty(const struct compare_value *x)
{
	return x->e.ratio[ESTIMATE_BASE] == 0 && x->e.ratio[ESTIMATE_NEW] == 0;
}

/* Groups have no own value. */
static const struct compare_value value_untested = { .p_all = 2,
						     .visible = (double)NAN };

/* Estimate all functions, or all groups. */
static int estimate_nodes(struct compare_work *w, struct err *err)
{
	size_t count = w->c->groups ? w->c->groups->count : w->nodes->v.count;
	struct growth_meter meter = { 0 };
	int rc = 0;

	for (size_t n = 0; n < count && !rc; n++) {
		struct compare_row row = { .node = (uint32_t)n };

		if (w->c->groups)
			add_group_samples(w, n);
		else
			add_node(w, n);
		estimate_value(w, &w->cum, &row.cum);
		if (w->c->groups)
			row.flat = value_untested;
		else
			estimate_value(w, &w->flat, &row.flat);
		if (is_empty(&row.cum) && is_empty(&row.flat))
			w->out->few -= (row.cum.p_all > 1) +
				       (!w->c->groups && row.flat.p_all > 1);
		else
			*vec_add(&w->out->rows) = row;
		rc = limits_meter(w->limits, &meter, w->cells_read + 16,
				  vec_memory(&w->out->rows), err);
		w->cells_read = 0;
	}
	estimate_value(w, &w->total, &w->out->total);
	w->out->tested -= w->out->total.p_all <= 1;
	w->out->few -= w->out->total.p_all > 1;
	return rc;
}

/* Judge a value, once it is corrected for all. */
static void judge_value(const struct compare_work *w, struct compare_value *x,
			size_t tests)
{
	if (x->p_all > 1)
		return;
	x->visible = estimate_visible(&x->e, w->c->alpha, tests);
	x->sure = x->p_all <= w->c->alpha && !w->out->few_buckets &&
		  !w->c->is_state;
}

/* Correct the probabilities for the number of tests, and judge all values. */
static void judge_all(struct compare_work *w)
{
	struct compare_result *out = w->out;
	double *p = mem_zalloc(2 * out->rows.count + 1, sizeof(*p));

	for (size_t i = 0; i < out->rows.count; i++) {
		p[2 * i] = out->rows.v[i].flat.p_all;
		p[2 * i + 1] = out->rows.v[i].cum.p_all;
	}
	significance_holm(p, 2 * out->rows.count);
	for (size_t i = 0; i < out->rows.count; i++) {
		out->rows.v[i].flat.p_all = p[2 * i];
		out->rows.v[i].cum.p_all = p[2 * i + 1];
		judge_value(w, &out->rows.v[i].flat, out->tested);
		judge_value(w, &out->rows.v[i].cum, out->tested);
	}
	/* The total is a question of its own. */
	judge_value(w, &out->total, 1);
	mem_free(p);
}

/* Difference in standard errors. */
static double row_score(const struct compare_row *r)
{
	double se = sqrt(r->cum.e.variance);

	return se > 0 ? fabs(r->cum.e.delta) / se : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct compare_row *x = a;
	const struct compare_row *y = b;
	bool sure_x = x->cum.sure || x->flat.sure;
	bool sure_y = y->cum.sure || y->flat.sure;
	double by_x = sure_x ? fabs(x->cum.e.delta) : row_score(x);
	double by_y = sure_y ? fabs(y->cum.e.delta) : row_score(y);

	if (sure_x != sure_y)
		return sure_x ? -1 : 1;
	if (by_x != by_y)
		return by_x > by_y ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Prepare the cells, the lists of samples and the scratch memory. */
static int work_init(struct compare_work *w, struct err *err)
{
	struct compare *c = w->c;
	size_t samples = w->p->samples.count;
	size_t columns = 0;
	int rc;

	w->ids = cells_samples(&c->buckets);
	for (size_t i = 0; i < samples; i++)
		w->ids = sample_id(w->p, i) >= w->ids ? sample_id(w->p, i) + 1 :
							w->ids;
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		struct compare_divisors *d = &c->divisors[s];

		w->bucket_count[s] = d->buckets.count;
		w->instance_count = d->instances.count > w->instance_count ?
					    d->instances.count :
					    w->instance_count;
		columns += d->buckets.count + d->instances.count;
	}
	/* Sorting may need another copy of the cells. */
	rc = limits_spend(w->limits,
			  (c->buckets.v.count + c->instances.v.count) *
					  sizeof(struct cell) +
				  w->ids * 2 * sizeof(uint32_t) +
				  samples * sizeof(double) +
				  columns * 12 * sizeof(double),
			  err);
	if (rc)
		return rc;
	w->bucket_first = cells_sort(&c->buckets, w->ids);
	w->instance_first = cells_sort(&c->instances, w->ids);
	w->sample_sum = mem_zalloc(samples + 1, sizeof(double));
	for (size_t i = 0; i < samples; i++) {
		size_t id = sample_id(w->p, i);

		for (uint32_t k = w->bucket_first[id];
		     k < w->bucket_first[id + 1]; k++)
			w->sample_sum[i] += (double)c->buckets.v.v[k].value;
	}
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		struct compare_divisors *d = &c->divisors[s];

		w->joined[s] =
			mem_zalloc(w->bucket_count[s] + 1, sizeof(**w->joined));
		w->divisors[s] =
			mem_zalloc(w->bucket_count[s] + 1, sizeof(double));
		w->instance_divisors[s] =
			mem_zalloc(w->instance_count + 1, sizeof(double));
		if (d->instances.count)
			memcpy(w->instance_divisors[s], d->instances.v,
			       d->instances.count * sizeof(double));
	}
	values_init(w, &w->total);
	values_init(w, &w->flat);
	values_init(w, &w->cum);
	return list_samples(w, err);
}

static void work_fini(struct compare_work *w)
{
	mem_free(w->bucket_first);
	mem_free(w->instance_first);
	mem_free(w->node_first);
	mem_free(w->node_samples);
	mem_free(w->sample_sum);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		mem_free(w->joined[s]);
		mem_free(w->divisors[s]);
		mem_free(w->instance_divisors[s]);
	}
	values_fini(&w->total);
	values_fini(&w->flat);
	values_fini(&w->cum);
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
			size_t id = sample_id(p, i);

			sums[s][i] = id < ids ? of[s][id] : 0;
		}
		mem_free(of[s]);
	}
}

int compare_run(struct compare *c, const struct pprof *p,
		const struct nodes *nodes, const struct limits *limits,
		struct compare_result *out, struct err *err)
{
	struct compare_work w = {
		.c = c,
		.p = p,
		.nodes = nodes,
		.limits = limits,
		.out = out,
		.frame = { .paired = is_paired(c),
			   .same_instances = c->same_instances,
			   .is_share = c->by == COMPARE_SHARE,
			   .period = c->period },
	};
	int rc;

	*out = (struct compare_result){ 0 };
	rc = work_init(&w, err);
	if (!rc)
		rc = choose_width(&w, err);
	if (!rc)
		rc = estimate_nodes(&w, err);
	if (!rc) {
		judge_all(&w);
		if (out->rows.count && !c->groups)
			qsort(out->rows.v, out->rows.count,
			      sizeof(*out->rows.v), compare_rows);
	}
	if (rc)
		compare_result_fini(out);
	work_fini(&w);
	return rc;
}
