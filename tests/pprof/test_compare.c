/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons with error bars, of made data: what did not change is not called a
 * change, what changed by more than the spread is, and small cases are as computed
 * by hand.
 */
#include "pprof/compare/compare.h"

#include <math.h>
#include <stdlib.h>

#include "pprof/compare/compare_json.h"
#include "tests/pprof/sketch.h"

TestSuite(compare, .timeout = 300);

static const struct limits all_permitted;

/* So many changes are made to see how many of them are seen. */
#define CHANGES 200

/* A reproducible source of chance (xorshift64*), one for each test. */
struct chance {
	uint64_t state;
};

static double chance_next(struct chance *c)
{
	c->state ^= c->state >> 12;
	c->state ^= c->state << 25;
	c->state ^= c->state >> 27;
	return (double)(c->state * 0x2545f4914f6cdd1du >> 11) * 0x1p-53;
}

/*
 * A number of hits: of Poisson's distribution, or, if it is large, a rounded one of
 * the normal distribution with the variance of n trials.
 */
static int64_t chance_hits(struct chance *c, int64_t n, double p)
{
	double mean = (double)n * p;
	double wide = sqrt(mean * (1 - p));
	int64_t hits = 0;

	if (mean > 20) {
		double radius = sqrt(-2 * log(1 - chance_next(c)));
		double v =
			mean + wide * radius * cos(2 * M_PI * chance_next(c));

		return v > 0 ? (int64_t)llround(v) : 0;
	}
	for (double left = exp(-mean), sum = left, u = chance_next(c);
	     u > sum && hits < n; sum += left) {
		hits++;
		left *= mean / (double)hits;
	}
	return hits;
}

/* Functions f0, f1, …, each called by one of a few others, and their nodes. */
struct program {
	struct sketch s;
	struct nodes nodes;
	size_t functions;
	double *share; /* of each function */
};

static struct program program_init(size_t functions)
{
	struct program g = { .functions = functions };
	struct buf lines = { 0 };
	double sum = 0;

	g.share = mem_zalloc(functions, sizeof(double));
	for (size_t i = 0; i < functions; i++) {
		buf_printf(&lines, "main;group%zu;f%zu %zu\n", i % 7, i, i + 1);
		g.share[i] = 1 / (double)(i + 5);
		sum += g.share[i];
	}
	for (size_t i = 0; i < functions; i++)
		g.share[i] /= sum;
	g.s = sketch_init("samples/count", buf_cstr(&lines));
	nodes_init(&g.nodes, g.s.p, GRANULARITY_FUNCTIONS, false);
	buf_fini(&lines);
	return g;
}

static void program_fini(struct program *g)
{
	nodes_fini(&g->nodes);
	sketch_fini(&g->s);
	mem_free(g->share);
}

static struct compare compare_of_samples(void)
{
	return (struct compare){ .period = 1,
				 .alpha = 0.01,
				 .min_samples = 10 };
}

/* Add a value to a bucket and an instance of a side. */
static void put(struct compare *c, int side, uint32_t sample, uint32_t bucket,
		uint32_t instance, int64_t v)
{
	uint32_t b = bucket * 2 + (uint32_t)side;
	uint32_t i = instance * 2 + (uint32_t)side;

	*compare_divisor(c, false, b) += 0;
	*compare_divisor(c, true, i) += 0;
	if (!v)
		return;
	cells_add(&c->buckets, sample, b, v);
	cells_add(&c->instances, sample, i, v);
}

/*
 * Fill a bucket of a side with about `samples` samples. `scale` is by how much
 * function `changed` is heavier than its share says.
 */
static void fill_bucket(struct compare *c, const struct program *g,
			struct chance *luck, int side, uint32_t bucket,
			int64_t samples, size_t changed, double scale)
{
	for (size_t f = 0; f < g->functions; f++) {
		double p = g->share[f] * (f == changed ? scale : 1);

		put(c, side, (uint32_t)f, bucket, 0,
		    chance_hits(luck, samples, p < 1 ? p : 1));
	}
}

/* Fill a side with `buckets` such buckets. */
static void fill_side(struct compare *c, const struct program *g,
		      struct chance *luck, int side, uint32_t buckets,
		      int64_t samples, size_t changed, double scale)
{
	for (uint32_t b = 0; b < buckets; b++)
		fill_bucket(c, g, luck, side, b, samples, changed, scale);
}

static struct compare_result run(struct compare *c, const struct program *g)
{
	struct compare_result r;
	struct err err;

	cr_assert(!compare_run(c, g->s.p, &g->nodes, &all_permitted, &r, &err));
	return r;
}

static const struct compare_row *row_of(const struct compare_result *r,
					const struct program *g,
					const char *name)
{
	for (size_t i = 0; i < r->rows.count; i++) {
		if (str_is(g->nodes.v.v[r->rows.v[i].node].text, name))
			return &r->rows.v[i];
	}
	cr_assert(false, "no row %s", name);
	return NULL;
}

static size_t sure_rows(const struct compare_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->rows.count; i++)
		n += r->rows.v[i].flat.sure || r->rows.v[i].cum.sure;
	return n;
}

Test(compare, a_steady_load_does_not_differ_from_itself)
{
	struct program g = program_init(200);
	struct chance luck = { 7 };
	size_t flagged = 0;

	for (int i = 0; i < 72; i++) {
		struct compare c = compare_of_samples();
		struct compare_result r;

		fill_side(&c, &g, &luck, 0, 24, 300, SIZE_MAX, 1);
		fill_side(&c, &g, &luck, 1, 24, 300, SIZE_MAX, 1);
		r = run(&c, &g);
		cr_expect(r.tested > 50);
		cr_expect(!r.few_buckets);
		flagged += sure_rows(&r) > 0;
		compare_result_fini(&r);
		compare_fini(&c);
	}
	cr_expect(flagged <= 1, "%zu of 72 have a change", flagged);
	program_fini(&g);
}

/*
 * Change function `f` of 24 buckets by so much that it is `sigma` counting errors,
 * and return whether that is seen; *visible is the relative change that is said to
 * be visible.
 */
static bool is_seen(const struct program *g, struct chance *luck, size_t f,
		    double change, double *visible)
{
	struct compare c = compare_of_samples();
	struct compare_result r;
	const struct compare_row *row;
	char name[32];
	bool seen;

	snprintf(name, sizeof(name), "f%zu", f);
	fill_side(&c, g, luck, 0, 24, 300, SIZE_MAX, 1);
	fill_side(&c, g, luck, 1, 24, 300, f, 1 + change);
	r = run(&c, g);
	row = row_of(&r, g, name);
	seen = row->flat.sure;
	*visible = row->flat.visible / row->flat.e.ratio[ESTIMATE_BASE];
	cr_expect(!seen || row->flat.e.delta > 0);
	compare_result_fini(&r);
	compare_fini(&c);
	return seen;
}

Test(compare, changes_are_seen_that_are_large_enough)
{
	struct program g = program_init(200);
	struct chance luck = { 11 };
	size_t by_sigma = 0;
	size_t by_promise = 0;
	double visible;

	for (size_t i = 0; i < CHANGES; i++) {
		size_t f = i % 20;
		double n = g.share[f] * 24 * 300;

		by_sigma += is_seen(&g, &luck, f, 8.5 / sqrt(n / 2), &visible);
		(void)is_seen(&g, &luck, f, 0, &visible);
		by_promise += is_seen(&g, &luck, f, visible, &visible);
	}
	cr_expect(by_sigma >= CHANGES * 19 / 20,
		  "%zu of %d changes of 8.5 sigma", by_sigma, CHANGES);
	cr_expect(by_promise >= CHANGES * 19 / 20,
		  "%zu of %d changes that are visible", by_promise, CHANGES);
	program_fini(&g);
}

Test(compare, a_burst_in_one_bucket_is_no_change)
{
	struct program g = program_init(50);
	struct chance luck = { 13 };

	for (int i = 0; i < 10; i++) {
		struct compare c = compare_of_samples();
		struct compare_result r;

		fill_side(&c, &g, &luck, 0, 24, 300, SIZE_MAX, 1);
		fill_side(&c, &g, &luck, 1, 24, 300, SIZE_MAX, 1);
		put(&c, 1, 3, 9, 0, 400);
		r = run(&c, &g);
		cr_expect(!row_of(&r, &g, "f3")->flat.sure);
		compare_result_fini(&r);
		compare_fini(&c);
	}
	program_fini(&g);
}

/* The load of a bucket, which changes slowly. */
static double slow_load(uint32_t bucket)
{
	return 1 + 0.8 * sin(bucket / 8.0);
}

Test(compare, neighbours_that_are_alike_are_joined)
{
	struct program g = program_init(20);
	struct chance luck = { 17 };
	struct compare c = compare_of_samples();
	struct compare_result r;

	for (uint32_t b = 0; b < 128; b++) {
		for (uint32_t f = 0; f < 20; f++) {
			double p = g.share[f] * (f % 2 ? slow_load(b) : 1);

			put(&c, b % 2, f, b / 2, 0,
			    chance_hits(&luck, 1000, p < 1 ? p : 1));
		}
	}
	r = run(&c, &g);
	cr_expect(r.joined > 1, "%zu", r.joined);
	cr_expect(r.bursty || r.buckets[0] >= 15);
	cr_expect(!sure_rows(&r));
	compare_result_fini(&r);
	compare_fini(&c);
	program_fini(&g);
}

Test(compare, few_buckets_few_samples_and_states_are_not_judged)
{
	struct program g = program_init(10);
	struct chance luck = { 19 };

	for (int kind = 0; kind < 4; kind++) {
		struct compare c = compare_of_samples();
		uint32_t buckets = kind == 1 ? 19 : 24;
		struct compare_result r;

		c.is_state = kind == 2;
		c.min_samples = kind == 3 ? 1e9 : 10;
		fill_side(&c, &g, &luck, 0, buckets, 1000, SIZE_MAX, 1);
		fill_side(&c, &g, &luck, 1, buckets, 1000, 0, 3);
		r = run(&c, &g);
		cr_expect(row_of(&r, &g, "f0")->flat.sure == (kind == 0));
		cr_expect(r.few_buckets == (kind == 1));
		cr_expect((r.tested == 0) == (kind == 3));
		cr_expect(isnan(row_of(&r, &g, "f0")->flat.visible) ==
			  (kind == 3));
		compare_result_fini(&r);
		compare_fini(&c);
	}
	program_fini(&g);
}

Test(compare, five_runs_of_a_benchmark_are_enough)
{
	struct program g = program_init(3);

	for (uint32_t runs = 4; runs <= 5; runs++) {
		struct chance luck = { 23 };
		struct compare c = compare_of_samples();
		struct compare_result r;

		c.runs = true;
		fill_side(&c, &g, &luck, 0, runs, 10000, SIZE_MAX, 1);
		fill_side(&c, &g, &luck, 1, runs, 10000, 0, 1.5);
		r = run(&c, &g);
		cr_expect(r.few_buckets == (runs == 4));
		cr_expect(row_of(&r, &g, "f0")->flat.sure == (runs == 5));
		compare_result_fini(&r);
		compare_fini(&c);
	}
	program_fini(&g);
}

/*
 * Base: 2 of 10 and 4 of 10 are f0; new: 6 of 20, three times the same. So the
 * ratios are 0.3 and 0.3; the base deviates by -1/20 and 1/20, and its variance is
 * 2/1 * 2/400 = 0.01.
 */
Test(compare, ratios_and_variances_are_as_computed_by_hand)
{
	struct program g = program_init(2);
	struct compare c = compare_of_samples();
	struct compare_result r;
	const struct compare_value *v;

	c.period = 1e-12;
	put(&c, 0, 0, 0, 0, 2);
	put(&c, 0, 1, 0, 0, 8);
	put(&c, 0, 0, 1, 0, 4);
	put(&c, 0, 1, 1, 0, 6);
	for (uint32_t b = 0; b < 3; b++) {
		put(&c, 1, 0, b, 0, 6);
		put(&c, 1, 1, b, 0, 14);
	}
	r = run(&c, &g);
	v = &row_of(&r, &g, "f0")->cum;
	cr_expect(fabs(v->e.ratio[0] - 0.3) < 1e-12);
	cr_expect(fabs(v->e.ratio[1] - 0.3) < 1e-12);
	cr_expect(fabs(v->e.variance - 0.01) < 1e-12, "%g", v->e.variance);
	cr_expect(fabs(v->e.degrees - 1) < 1e-12, "%g", v->e.degrees);
	v = &row_of(&r, &g, "main")->cum;
	cr_assert(v->e.ratio[0] == 1);
	cr_expect(v->e.delta == 0);
	cr_expect(row_of(&r, &g, "main")->flat.e.ratio[1] == 0);
	compare_result_fini(&r);
	compare_fini(&c);
	program_fini(&g);
}

Test(compare, rates_are_divided_by_what_was_covered)
{
	struct program g = program_init(1);
	struct compare c = compare_of_samples();
	struct compare_result r;

	c.by = COMPARE_RATE;
	for (uint32_t b = 0; b < 24; b++) {
		put(&c, 0, 0, b, 0, 100);
		*compare_divisor(&c, false, b * 2) = 10;
		put(&c, 1, 0, b, 0, 300);
		*compare_divisor(&c, false, b * 2 + 1) = 20;
	}
	*compare_divisor(&c, true, 0) = 240;
	*compare_divisor(&c, true, 1) = 480;
	r = run(&c, &g);
	cr_expect(fabs(r.total.e.ratio[0] - 10) < 1e-12);
	cr_expect(fabs(r.total.e.ratio[1] - 15) < 1e-12);
	cr_expect(r.total.sure);
	cr_expect(row_of(&r, &g, "f0")->flat.sure);
	cr_assert(r.total.e.instances == 1);
	cr_expect(r.total.e.agree == 1);
	compare_result_fini(&r);
	compare_fini(&c);
	program_fini(&g);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Two sets of equal programs at the same time, whose load changes all the time for
 * both: small probabilities are not more frequent than they say (the one-sided test
 * of Kolmogorov and Smirnov, at 1 %).
 */
Test(compare, equal_programs_at_the_same_time_differ_by_chance_alone)
{
	enum {
		RUNS = 200
	};
	struct program g = program_init(20);
	struct chance luck = { 29 };
	double p[RUNS];
	size_t below_half = 0;

	for (int i = 0; i < RUNS; i++) {
		struct compare c = compare_of_samples();
		struct compare_result r;

		c.paired = true;
		for (uint32_t b = 0; b < 48; b++) {
			uint32_t f = b / 2 % 20;
			double burst = 1 + 2 * chance_next(&luck);

			for (int side = 0; side < 2; side++) {
				fill_bucket(&c, &g, &luck, side, b, 300, f,
					    burst);
			}
		}
		r = run(&c, &g);
		p[i] = row_of(&r, &g, "f0")->flat.e.p;
		below_half += p[i] < 0.5;
		compare_result_fini(&r);
		compare_fini(&c);
	}
	qsort(p, RUNS, sizeof(*p), compare_doubles);
	for (int i = 0; i < RUNS; i++)
		cr_expect((i + 1.0) / RUNS - p[i] < 1.52 / sqrt(RUNS),
			  "%d of %d are at most %g", i + 1, RUNS, p[i]);
	/* They are not always large, either. */
	cr_expect(below_half > RUNS / 5, "%zu", below_half);
	program_fini(&g);
}

/* Each machine has a share of f0 of its own, which has nothing to do with time. */
Test(compare, machines_that_differ_are_no_change_of_the_program)
{
	static const int64_t ways[2][4] = { { 100, 140, 90, 130 },
					    { 180, 110, 150, 190 } };
	struct program g = program_init(2);

	for (int same = 0; same < 2; same++) {
		struct compare c = compare_of_samples();
		struct compare_result r;

		for (uint32_t k = 0; k < 2 * 24 * 4; k++) {
			uint32_t m = k / 2 % 4;
			uint32_t i = same ? m : m + k % 2 * 4;

			put(&c, k % 2, 0, k / 8, i, ways[k % 2][m]);
			put(&c, k % 2, 1, k / 8, i, 1000 - ways[k % 2][m]);
		}
		r = run(&c, &g);
		cr_expect(r.same_instances == same);
		cr_expect(row_of(&r, &g, "f0")->flat.sure == same);
		cr_expect(row_of(&r, &g, "f0")->flat.e.agree == (same ? 3 : 0));
		compare_result_fini(&r);
		compare_fini(&c);
	}
	program_fini(&g);
}

/*
 * A second machine that has just started is no other side, however different its
 * first profile is; one that has a tenth of the samples is.
 */
Test(compare, a_machine_with_one_profile_is_no_other_instance)
{
	struct program g = program_init(2);

	for (int few = 0; few < 2; few++) {
		struct compare c = compare_of_samples();
		struct chance luck = { 31 };
		struct compare_result r;

		for (uint32_t b = 0; b < 24; b++) {
			int64_t base = chance_hits(&luck, 1000, 0.1);
			int64_t new = chance_hits(&luck, 1000, 0.2);

			put(&c, 0, 0, b, 0, base);
			put(&c, 0, 1, b, 0, 1000 - base);
			put(&c, 1, 0, b, 0, new);
			put(&c, 1, 1, b, 0, 1000 - new);
			if (b && few)
				continue;
			put(&c, 0, 1, b, 1, 100);
		}
		r = run(&c, &g);
		cr_expect(r.instances[0] == 2);
		cr_expect(r.instances[1] == 1);
		cr_expect(r.same_instances == few);
		cr_expect(row_of(&r, &g, "f0")->flat.sure == few);
		compare_result_fini(&r);
		compare_fini(&c);
	}
	program_fini(&g);
}

Test(compare, shocks_that_hit_both_sides_at_once_cancel)
{
	struct program g = program_init(2);
	struct chance luck = { 29 };

	for (int paired = 0; paired < 2; paired++) {
		struct compare c = compare_of_samples();
		struct compare_result r;

		c.paired = paired;
		for (uint32_t b = 0; b < 24; b++) {
			int64_t shock = (int64_t)(4000 * chance_next(&luck));

			put(&c, 0, 0, b, 0, 2000 + shock);
			put(&c, 0, 1, b, 0, 8000 - shock);
			put(&c, 1, 0, b, 0, 2500 + shock);
			put(&c, 1, 1, b, 0, 7500 - shock);
		}
		r = run(&c, &g);
		cr_expect(row_of(&r, &g, "f0")->flat.sure == paired);
		compare_result_fini(&r);
		compare_fini(&c);
	}
	program_fini(&g);
}

Test(compare, samples_that_a_filter_removed_do_not_count)
{
	struct program g = program_init(3);
	struct compare c = compare_of_samples();
	bool stacks[] = { true, false, true };
	struct compare_result r;

	for (uint32_t b = 0; b < 24; b++) {
		for (uint32_t f = 0; f < 3; f++) {
			put(&c, 0, f, b, 0, 10);
			put(&c, 1, f, b, 0, f == 1 ? 1000 : 10);
		}
	}
	nodes_fini(&g.nodes);
	pprof_keep(g.s.p, stacks, NULL);
	nodes_init(&g.nodes, g.s.p, GRANULARITY_FUNCTIONS, false);
	r = run(&c, &g);
	cr_expect(row_of(&r, &g, "f2")->flat.e.ratio[1] == 0.5);
	cr_expect(!sure_rows(&r));
	compare_result_fini(&r);
	compare_fini(&c);
	program_fini(&g);
}

/* Whether a group of samples is estimated as a function's own values are. */
static bool is_like(const struct compare_row *group,
		    const struct compare_row *function)
{
	const struct compare_value *x = &group->cum;
	const struct compare_value *y = &function->flat;

	return x->e.delta == y->e.delta && x->e.variance == y->e.variance &&
	       x->e.p == y->e.p && x->samples == y->samples;
}

Test(compare, groups_of_samples_are_compared_like_functions)
{
	struct program g = program_init(8);
	struct chance luck = { 31 };
	struct compare c = compare_of_samples();
	struct pprof_run of[9];
	uint32_t samples[8];
	int64_t base[8];
	int64_t now[8];
	int64_t *sums[] = { base, now };
	struct compare_groups groups = { 9, of, samples };
	struct compare_result functions;
	struct compare_result r;
	int64_t total = 0;

	fill_side(&c, &g, &luck, 0, 24, 300, SIZE_MAX, 1);
	fill_side(&c, &g, &luck, 1, 24, 300, 2, 2);
	compare_sums(&c, g.s.p, sums);
	for (size_t i = 0; i < c.buckets.v.count; i++)
		total += c.buckets.v.v[i].value;
	for (uint32_t i = 0; i < 8; i++) {
		of[i] = (struct pprof_run){ i, 1 };
		samples[i] = i;
		total -= base[i] + now[i];
	}
	cr_assert(!total);
	cr_assert(base[0] > base[7]);
	cr_expect(now[2] > base[2]);
	/* The last group has all samples. */
	of[8] = (struct pprof_run){ 0, 8 };
	functions = run(&c, &g);
	c.groups = &groups;
	r = run(&c, &g);
	cr_assert(r.rows.count == 9);
	cr_assert(r.joined == functions.joined);
	for (size_t i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%zu", i);
		cr_expect(r.rows.v[i].node == i);
		cr_expect(is_like(&r.rows.v[i], row_of(&functions, &g, name)));
		cr_expect(r.rows.v[i].cum.sure || i != 2);
	}
	cr_assert(r.rows.v[8].cum.e.delta == 0);
	cr_expect(!r.rows.v[8].cum.sure);
	compare_result_fini(&functions);
	compare_result_fini(&r);
	compare_fini(&c);
	program_fini(&g);
}

/* Limits that refuse the n-th question. */
static int refuse(void *ctx, size_t bytes, struct err *err)
{
	int *left = ctx;

	(void)bytes;
	return --*left ? 0 : err_set(err, ERR_LIMIT, "enough");
}

Test(compare, limits_end_it_at_any_point)
{
	struct program g = program_init(2000);
	struct chance luck = { 31 };
	int refused = 0;

	for (int at = 1; at < 100; at++) {
		int left = at;
		struct limits limits = { .spend = refuse, .ctx = &left };
		struct compare c = compare_of_samples();
		struct compare_result r;
		struct err err;
		int rc;

		fill_side(&c, &g, &luck, 0, 2, 20, SIZE_MAX, 1);
		fill_side(&c, &g, &luck, 1, 2, 20, SIZE_MAX, 1);
		rc = compare_run(&c, g.s.p, &g.nodes, &limits, &r, &err);
		compare_fini(&c);
		if (!rc) {
			compare_result_fini(&r);
			break;
		}
		cr_expect(rc == ERR_LIMIT);
		refused++;
	}
	cr_assert(refused > 2, "%d", refused);
	cr_expect(refused < 99, "%d", refused);
	program_fini(&g);
}
