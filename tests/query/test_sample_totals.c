/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals of the samples of a series, by labels of the samples: in the WAL, in a
 * head and in a block.
 */
#include "query/history/sample_totals.h"

#include "model/selector.h"
#include "pprof/profile/profile.h"
#include "query/history/timeline.h"
#include "tests/query/store.h"

TestSuite(sample_totals, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* What is asked of the series of a database. */
struct scene {
	struct store *store;
	struct budget memory;
	struct query_work work;
	struct str names[2];
	struct sample_totals_options o;
	struct sample_totals s;
	struct querier *q;
	struct err err;
};

static const struct value_type type = { { "alloc_space", 11 }, { "bytes", 5 } };

static void scene_open(struct scene *x, struct store *store)
{
	struct selector any;

	x->store = store;
	x->memory = (struct budget){ .name = "query.memory", .max = MEMORY };
	x->work = (struct query_work){ .memory = &x->memory,
				       .deadline_ns = INT64_MAX };
	x->o.work = &x->work;
	x->o.type = &type;
	x->o.names = x->names;
	x->err.msg[0] = 0;
	querier_open(store->db, NULL, &x->q);
	querier_sequential(x->q);
	cr_assert(!selector_parse(str_of("heap"), &any, NULL));
	cr_assert(!querier_select(x->q, any.matchers, any.count, INT64_MIN,
				  INT64_MAX, NULL));
	selector_fini(&any);
	sample_totals_init(&x->s, &x->o);
}

static void scene_close(struct scene *x)
{
	sample_totals_fini(&x->s);
	querier_close(x->q);
	query_release(&x->work);
	cr_expect(!atomic_load(&x->memory.used));
}

static int scene_read(struct scene *x, size_t series)
{
	struct totals_view t;

	cr_assert(
		!querier_totals(x->q, series, INT64_MIN, INT64_MAX, &t, NULL));
	return sample_totals_read(&x->s, x->q, series, &t, &x->err);
}

/* Compare two groups as "a,b: 1 2 3". */
static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Check the groups of a series, sorted by their values, separated by "; ". */
static void scene_expect(struct scene *x, size_t series, const char *want)
{
	char *texts[16];
	struct buf all = { 0 };
	size_t n;

	cr_assert(!scene_read(x, series), "%s", x->err.msg);
	n = x->s.present.count;
	cr_assert(n <= ARRAY_SIZE(texts));
	for (size_t i = 0; i < n; i++) {
		uint32_t group = x->s.present.v[i];
		struct totals_view v = sample_totals_view(&x->s, group);
		struct buf b = { 0 };

		for (size_t k = 0; k < x->o.name_count; k++)
			buf_printf(&b, "%s%.*s", k ? "," : "",
				   STR_ARG(x->s.groups.v[group].values[k]));
		buf_byte(&b, ':');
		for (size_t k = 0; k < v.count; k++)
			buf_printf(&b, " %lld%s",
				   (long long)v.totals[v.rows[k].first],
				   v.restarts[k] ? "!" : "");
		texts[i] = mem_strdup(buf_cstr(&b));
		buf_fini(&b);
	}
	if (n)
		qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&all, "%s%s", i ? "; " : "", texts[i]);
		mem_free(texts[i]);
	}
	cr_expect(!strcmp(all.len ? buf_cstr(&all) : "", want), "%s, want %s",
		  all.len ? buf_cstr(&all) : "", want);
	buf_fini(&all);
}

/* Profiles of two series, of which the second has the label k itself. */
static struct store *made(void)
{
	static const struct made rows[] = {
		ROW(1, "main>f@k:a=1,10 main>g@k:b@m:x=2,20 main>h=4,40"),
		ROW(2, "main>f@k:a=2,20 main>g@k:b@m:x=4,40"),
		ROW(3, "main>h=1,30 main>f@k:b=1,5 main>g@m:y=1,7"),
	};
	struct store *s = store_open();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made p = rows[i];

		p.ms = store_at(p.ms);
		store_put(s, "heap job=a", "alloc_objects alloc_space", &p);
		store_put(s, "heap job=b k=own", "alloc_objects alloc_space",
			  &p);
	}
	return s;
}

/* Do the same while the profiles are in the WAL, in a head, and in a block. */
static void everywhere(void (*check)(struct store *s))
{
	struct store *s = made();

	check(s);
	cr_assert(!tsdb_flush(s->db, NULL));
	check(s);
	cr_assert(!tsdb_maintain(s->db, true, NULL));
	check(s);
	store_close(s);
}

static void check_groups(struct store *store)
{
	struct scene x = { .names = { str_of("k"), str_of("m") } };

	x.o.name_count = 1;
	scene_open(&x, store);
	cr_assert(sample_totals_needed(&x.s, querier_labels(x.q, 0)));
	cr_assert(!sample_totals_needed(&x.s, querier_labels(x.q, 1)));
	/* The whole is 70, 60, 42: the program has restarted. */
	scene_expect(&x, 0, ": 40 0! 37!; a: 10 20! 0!; b: 20 40! 5!");
	scene_close(&x);
	x.o.name_count = 2;
	scene_open(&x, store);
	cr_assert(sample_totals_needed(&x.s, querier_labels(x.q, 1)));
	scene_expect(&x, 0,
		     ",: 40 0! 30!; ,y: 0 0! 7!; a,: 10 20! 0!; b,: 0 0! 5!; "
		     "b,x: 20 40! 0!");
	scene_expect(&x, 1, ",: 50 20! 35!; ,x: 20 40! 0!; ,y: 0 0! 7!");
	scene_expect(&x, 0,
		     ",: 40 0! 30!; ,y: 0 0! 7!; a,: 10 20! 0!; b,: 0 0! 5!; "
		     "b,x: 20 40! 0!");
	scene_close(&x);
}

Test(sample_totals, samples_are_grouped_by_labels_that_the_series_lacks)
{
	everywhere(check_groups);
}

static void check_matchers(struct store *store)
{
	const struct matcher is_b = { .op = MATCH_EQ,
				      .name = str_of("k"),
				      .value = str_of("b") };
	const struct matcher no_m = { .op = MATCH_EQ,
				      .name = str_of("m"),
				      .value = str_of("") };
	struct matcher both[] = { is_b, no_m };
	struct scene x = { .o = { .matchers = both, .matcher_count = 1 } };

	scene_open(&x, store);
	cr_assert(sample_totals_needed(&x.s, querier_labels(x.q, 0)));
	cr_assert(!sample_totals_needed(&x.s, querier_labels(x.q, 1)));
	scene_expect(&x, 0, ": 20 40! 5!");
	scene_close(&x);
	x.o.matcher_count = 2;
	scene_open(&x, store);
	scene_expect(&x, 0, ": 0 0! 5!");
	scene_expect(&x, 1, ": 50 20! 35!");
	scene_close(&x);
}

Test(sample_totals, samples_count_whose_labels_match)
{
	everywhere(check_matchers);
}

/* Keep the samples whose innermost function is f or h. */
static int keep_f(void *ctx UNUSED, struct pprof *p, struct err *err UNUSED)
{
	bool *keep = mem_zalloc(p->stacks.count + 1, sizeof(*keep));

	for (size_t i = 0; i < p->stacks.count; i++) {
		const struct pprof_location *l =
			&p->locations.v[p->frames.v[p->stacks.v[i].first]];
		uint32_t f = p->lines.v[l->lines.first].function;
		struct str name = pprof_str(p, p->functions.v[f].name);

		keep[i] = str_is(name, "f") || str_is(name, "h");
	}
	pprof_keep(p, keep, NULL);
	mem_free(keep);
	return 0;
}

static void check_filter(struct store *store)
{
	struct scene x = { .names = { str_of("k") } };

	x.o.name_count = 1;
	x.o.filter = keep_f;
	scene_open(&x, store);
	cr_assert(sample_totals_needed(&x.s, querier_labels(x.q, 1)));
	scene_expect(&x, 0, ": 40 0! 30!; a: 10 20! 0!; b: 0 0! 5!");
	scene_expect(&x, 1, ": 50 20! 35!");
	scene_close(&x);
}

Test(sample_totals, samples_that_a_filter_drops_do_not_count)
{
	everywhere(check_filter);
}

Test(sample_totals, a_damaged_profile_is_left_out_and_counted)
{
	static const struct made rows[] = { ROW(1, "f@k:a=1,10"),
					    BAD(2, "f@k:a=2,20"),
					    ROW(3, "f@k:a=3,30") };
	struct scene x = { .names = { str_of("k") } };
	struct store *s = store_open();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made p = rows[i];

		p.ms = store_at(p.ms);
		store_put(s, "heap job=a", "alloc_objects alloc_space", &p);
	}
	x.o.name_count = 1;
	scene_open(&x, s);
	scene_expect(&x, 0, "a: 10 30");
	cr_expect(x.s.damaged == 1 && x.s.damage.code == ERR_CORRUPT);
	scene_close(&x);
	store_close(s);
}

Test(sample_totals, memory_and_time_have_limits)
{
	struct scene x = { .names = { str_of("k") } };
	struct store *s = made();

	x.o.name_count = 1;
	scene_open(&x, s);
	x.work.deadline_ns = 1;
	cr_expect(scene_read(&x, 0) == ERR_TIMEOUT);
	x.work.deadline_ns = INT64_MAX;
	x.memory.max = 1;
	cr_expect(scene_read(&x, 0) == ERR_LIMIT);
	x.memory.max = MEMORY;
	scene_expect(&x, 0, ": 40 0! 37!; a: 10 20! 0!; b: 20 40! 5!");
	scene_close(&x);
	store_close(s);
}

/* The groups of a counter add up to the whole, also where one of them grows. */
Test(sample_totals, increases_of_groups_add_up_to_those_of_the_series)
{
	static const struct made rows[] = {
		ROW(1, "f@k:a=1,100 g@k:b=1,10"),
		ROW(2, "f@k:a=1,110 g@k:b=1,30"),
		/* It restarts, and one group has already more than before. */
		ROW(3, "f@k:a=1,5 g@k:b=1,40"),
		ROW(4, "f@k:a=1,10 g@k:b=1,40"),
	};
	struct timeline_options o = { .from = store_at(0),
				      .to = store_at(5),
				      .step_ms = 600000,
				      .group_by = str_of("k") };
	struct scene x = { .names = { str_of("k") } };
	struct store *s = store_open();
	struct totals_view whole;
	double sum = 0;
	struct timeline t;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made p = rows[i];

		p.ms = store_at(p.ms);
		store_put(s, "heap job=a", "alloc_objects alloc_space", &p);
	}
	x.o.name_count = 1;
	scene_open(&x, s);
	cr_assert(!scene_read(&x, 0));
	for (size_t i = 0; i < x.s.present.count; i++) {
		struct totals_view v =
			sample_totals_view(&x.s, x.s.present.v[i]);

		cr_assert(!timeline_init(&t, &o, &x.err));
		cr_assert(!timeline_add(&t, querier_labels(x.q, 0), &v, NULL,
					true, &x.err));
		cr_assert(t.groups.v[0].lines.count == 1);
		sum += timeline_line_value(&t, &t.groups.v[0].lines.v[0], 0);
		timeline_fini(&t);
	}
	cr_assert(!querier_totals(x.q, 0, INT64_MIN, INT64_MAX, &whole, NULL));
	cr_assert(!timeline_init(&t, &o, &x.err));
	cr_assert(!timeline_add(&t, querier_labels(x.q, 0), &whole, NULL, true,
				&x.err));
	/* 30, then 45 after the restart, then 5. */
	cr_expect(timeline_line_value(&t, &t.groups.v[0].lines.v[1], 0) == 80);
	cr_expect(sum == 80, "%f", sum);
	timeline_fini(&t);
	scene_close(&x);
	store_close(s);
}
