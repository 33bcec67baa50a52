/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries as a whole: the profiles of a selector are merged into one, or two
 * such sides are compared.
 */
#include "query/merge/query_merge.h"
#include "query/select/bounded_decode.h"
#include "query/select/query_spec.h"
#include "tests/query/store.h"

TestSuite(query_merge, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* One side of a query. */
struct side {
	struct query_merge_options o;
	struct budget memory;
	struct buf output;
	struct query_work work;
	struct query_merge merge;
	struct query_spec spec;
	struct err err;
};

static void side_open(struct side *x, struct store *s, const char *selector)
{
	*x = (struct side){ .o = x->o,
			    .memory = { .name = "query.memory", .max = MEMORY },
			    .err = { .msg = "" } };
	x->work = (struct query_work){ .memory = &x->memory,
				       .deadline_ns = INT64_MAX,
				       .output = &x->output };
	cr_assert(
		!selector_parse(str_of(selector), &x->spec.selector, &x->err));
	query_merge_init(&x->merge, s->db, &x->work, &x->o);
}

/* Ends a side, and checks that it has given back all memory. */
static void side_close(struct side *x)
{
	query_merge_fini(&x->merge);
	query_spec_fini(&x->spec);
	query_release(&x->work);
	buf_fini(&x->output);
	cr_expect(!atomic_load(&x->memory.used), "%lld bytes are kept",
		  (long long)atomic_load(&x->memory.used));
}

static int side_range(struct side *x, int64_t from, int64_t to)
{
	x->spec.merged = true;
	x->spec.from = store_at(from);
	x->spec.to = store_at(to);
	return query_merge_run(&x->merge, &x->spec, &x->err);
}

/* Select the one profile at a time. */
static void side_at(struct side *x, int64_t ms)
{
	x->spec.match = MATCH_EXACT;
	x->spec.merged = false;
	x->spec.time = ms;
	x->spec.from = ms;
	x->spec.to = ms;
}

static void side_expect(struct side *x, const char *want)
{
	struct pprof *p = NULL;
	char *got;

	cr_assert(!query_merge_finish(&x->merge, &p, &x->err), "%s",
		  x->err.msg);
	got = store_tell(p);
	cr_expect(!strcmp(got, want), "\"%s\", want \"%s\"", got, want);
	mem_free(got);
}

/*
 * Makes a database with the jobs a and b. Only b has a profile at minute 4,
 * which is damaged.
 */
static struct store *two_jobs(void)
{
	static const struct made rows[] = { ROW(1, "f=1 main>g=1"),
					    ROW(2, "f=2"), ROW(3, "f=4"),
					    BAD(4, "f=8"), ROW(30, "f=16") };
	struct store *s = store_open();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made p = rows[i];

		p.ms = store_at(p.ms);
		store_put(s, "cpu job=b pod=x", "cpu", &p);
		if (!p.damaged)
			store_put(s, "cpu job=a pod=x", "cpu", &p);
	}
	store_put(s, "heap job=a", "alloc_space",
		  &(struct made)ROW(store_at(1), "f=1"));
	return s;
}

/* Profiles in the WAL are decoded, those in head blocks are columns. */
Test(query_merge, merges_know_whether_they_are_of_several_builds)
{
	struct store *s = store_open();

	for (int i = 0; i < 12; i++)
		store_put(s, i % 2 ? "cpu job=a" : "cpu job=b", "cpu",
			  &(struct made)BUILT(store_at(i), "f=1",
					      i % 2 ? "b1" : "b2"));
	for (int i = 0; i < 2; i++) {
		static const char *const selectors[] = { "cpu{job=\"a\"}",
							 "cpu" };

		for (size_t k = 0; k < 2; k++) {
			struct pprof *p = NULL;
			struct side x = { 0 };

			side_open(&x, s, selectors[k]);
			cr_assert(!side_range(&x, 0, 60));
			cr_assert(!query_merge_finish(&x.merge, &p, &x.err));
			cr_assert(!p->several_programs, "%s", selectors[k]);
			cr_expect(p->several_builds == (k > 0), "%s",
				  selectors[k]);
			side_close(&x);
		}
		cr_assert(!tsdb_flush(s->db, NULL));
	}
	store_close(s);
}

Test(query_merge, ranges_become_one_profile)
{
	static const struct {
		const char *selector;
		int64_t from;
		int64_t to;
		const char *want;
		size_t series;
		size_t profiles;
		size_t damaged;
	} cases[] = {
		{ "cpu{job=\"a\"}", 1, 3, "f=7 main>g=1", 1, 3, 0 },
		{ "cpu", 1, 3, "f=14 main>g=2", 2, 6, 0 },
		{ "cpu", 0, 60, "f=46 main>g=2", 2, 8, 1 },
		{ "cpu{job=\"b\"}", 4, 30, "f=16", 1, 1, 1 },
		{ "cpu{job=~\"a|b\",pod=\"x\"}", 30, 30, "f=32", 2, 2, 0 },
	};
	struct store *s = two_jobs();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct side x = { .o = { .aggregate = AGGREGATE_AUTO } };
		int rc;

		side_open(&x, s, cases[i].selector);
		rc = side_range(&x, cases[i].from, cases[i].to);
		cr_expect(!rc, "%zu: %s", i, x.err.msg);
		cr_expect(x.merge.series == cases[i].series, "%zu: %zu series",
			  i, x.merge.series);
		cr_expect(x.merge.profiles == cases[i].profiles,
			  "%zu: %zu profiles", i, x.merge.profiles);
		cr_expect(x.merge.damaged == cases[i].damaged, "%zu: %zu lost",
			  i, x.merge.damaged);
		cr_assert(!x.merge.decoder);
		cr_expect(!x.merge.labels);
		side_expect(&x, cases[i].want);
		side_close(&x);
	}
	store_close(s);
}

Test(query_merge, chunks_that_cannot_be_listed_are_told_too)
{
	struct store *s = store_open();
	struct side x = { .o = { .aggregate = AGGREGATE_SUM } };
	struct arena arena = { 0 };
	const char *told[2];

	store_put(s, "cpu job=a", "cpu", &(struct made)ROW(store_at(1), "f=1"));
	cr_assert(!tsdb_maintain(s->db, true, NULL));
	store_damage_chunks(s);
	store_reopen(s);
	side_open(&x, s, "cpu");
	cr_expect(side_range(&x, 0, 60) == ERR_CORRUPT, "%s", x.err.msg);
	cr_expect(strstr(x.err.msg, "chunks/000001"), "%s", x.err.msg);
	side_close(&x);
	/* If there is another profile, there is an answer with a warning. */
	store_put(s, "cpu job=a", "cpu", &(struct made)ROW(store_at(2), "f=2"));
	side_open(&x, s, "cpu");
	cr_assert(!side_range(&x, 0, 60), "%s", x.err.msg);
	cr_assert(x.merge.profiles == 1);
	cr_expect(x.merge.damaged);
	cr_assert(query_merge_warnings(&x.merge, &arena, told, 2) == 1);
	cr_expect(strstr(told[0], "chunks/000001"), "%s", told[0]);
	side_expect(&x, "f=2");
	arena_fini(&arena);
	side_close(&x);
	store_close(s);
}

Test(query_merge, what_no_profile_answers_is_an_error)
{
	static const struct {
		const char *name;
		const char *selector;
		int64_t from;
		int64_t to;
		int64_t memory;
		const char *sample_index; /* NULL: all types */
		int want;
		const char *says;
	} cases[] = {
		{ "no such series", "cpu{job=\"c\"}", 0, 60, MEMORY, NULL,
		  ERR_NOTFOUND, "job=\"c\"" },
		{ "no profile in the range", "cpu", 31, 60, MEMORY, NULL,
		  ERR_NOTFOUND, "no profile" },
		{ "nothing that can be read", "cpu{job=\"b\"}", 4, 4, MEMORY,
		  NULL, ERR_CORRUPT, "" },
		{ "one counter alone", "heap", 0, 60, MEMORY, NULL,
		  ERR_NOTFOUND, "aggregate=sum" },
		{ "an unknown type", "cpu", 0, 60, MEMORY, "wall", ERR_INVALID,
		  "wall" },
		{ "no memory", "cpu", 0, 60, 100, NULL, ERR_LIMIT,
		  "query.memory" },
	};
	struct store *s = two_jobs();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct side x = {
			.o = { .one_type = cases[i].sample_index != NULL,
			       .sample_index = str_of(cases[i].sample_index) }
		};
		int rc;

		side_open(&x, s, cases[i].selector);
		x.memory.max = cases[i].memory;
		rc = side_range(&x, cases[i].from, cases[i].to);
		cr_expect(rc == cases[i].want, "%s: %d %s", cases[i].name, rc,
			  x.err.msg);
		cr_expect(strstr(x.err.msg, cases[i].says), "%s: %s",
			  cases[i].name, x.err.msg);
		side_close(&x);
	}
	store_close(s);
}

/* Of Go, Python and a heap, as those of a service. */
static void put_many_types(struct store *s)
{
	static const struct {
		const char *series;
		const char *types;
		const char *stacks;
	} made[] = {
		{ "cpu job=go", "samples cpu", "f=1,10 main>g=2,20" },
		{ "cpu job=python", "cpu", "f=5" },
		{ "heap job=go", "alloc_space inuse_space", "f=7,8" },
		{ "wall job=python", "cpu wall", "h=3,4" },
	};

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
			struct made p = ROW(store_at(1 + 2 * k), NULL);

			p.stacks = made[i].stacks;
			store_put(s, made[i].series, made[i].types, &p);
		}
	}
}

Test(query_merge, a_type_is_merged_of_all_profiles_that_have_it)
{
	static const struct {
		const char *selector;
		const char *sample_index;
		const char *want; /* NULL: an error */
		const char *says; /* the error, or the warning */
	} cases[] = {
		{ "{job=~\".+\"}", "cpu", "f=30 h=6 main>g=40",
		  "2 profiles lack" },
		{ "cpu", "samples", "f=2 main>g=4", "2 profiles lack" },
		{ "cpu", "cpu", "f=30 main>g=40", NULL },
		{ "heap", "inuse_space", "f=8", NULL },
		{ "{job=~\".+\"}", "nothing", NULL, "nothing" },
		{ "{job=~\".+\"}", "", NULL, "different sample types" },
		{ "{job=~\".+\"}", "0", NULL, "different sample types" },
	};
	struct store *s = store_open();

	put_many_types(s);
	for (int stored = 0; stored < 2; stored++) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct arena arena = { 0 };
			struct side x = {
				.o = { .one_type = true,
				       .sample_index =
					       str_of(cases[i].sample_index) }
			};
			const char *warning = NULL;
			size_t n;
			int rc;

			side_open(&x, s, cases[i].selector);
			rc = side_range(&x, 0, 60);
			cr_assert(rc == (cases[i].want ? 0 : ERR_INVALID),
				  "case %zu: %d %s", i, rc, x.err.msg);
			n = query_merge_warnings(&x.merge, &arena, &warning, 1);
			if (!cases[i].want)
				cr_expect(strstr(x.err.msg, cases[i].says),
					  "case %zu: %s", i, x.err.msg);
			else
				side_expect(&x, cases[i].want);
			if (cases[i].want && cases[i].says)
				cr_expect(n && strstr(warning, cases[i].says),
					  "case %zu: %s", i, warning);
			if (cases[i].want && !cases[i].says)
				cr_expect(!n, "case %zu: %s", i, warning);
			side_close(&x);
			arena_fini(&arena);
		}
		cr_assert(!tsdb_flush(s->db, NULL));
	}
	store_close(s);
}

Test(query_merge, sides_with_other_types_can_be_compared_by_one)
{
	static const char *const selectors[] = { "cpu{job=\"python\"}",
						 "cpu{job=\"go\"}" };
	const struct merge_diff_options how = { .label_base = false };
	struct store *s = store_open();
	struct merge *both = merge_new();
	struct pprof *p = NULL;
	struct side x[2] = { 0 };
	char *got;

	put_many_types(s);
	for (int i = 0; i < 2; i++) {
		x[i].o.one_type = true;
		x[i].o.sample_index = str_of("cpu");
		side_open(&x[i], s, selectors[i]);
	}
	cr_assert(!side_range(&x[0], 0, 60));
	/* A profile that is alone has the other types no more than many have. */
	side_at(&x[1], store_at(1));
	cr_assert(!query_merge_run(&x[1].merge, &x[1].spec, &x[1].err), "%s",
		  x[1].err.msg);
	cr_assert(!query_merge_finish(&x[1].merge, &p, &x[1].err));
	cr_assert(!query_merge_subtract(&x[0].merge, both, &how, &p, &x[0].err),
		  "%s", x[0].err.msg);
	got = store_tell(p);
	cr_expect(!strcmp(got, "main>g=20"), "%s", got);
	mem_free(got);
	side_close(&x[0]);
	side_close(&x[1]);
	merge_free(both);
	store_close(s);
}

Test(query_merge, time_that_ran_out_is_an_error_before_the_first_profile)
{
	_Atomic int64_t stop = 0;
	struct store *s = two_jobs();
	struct side x = { .merge = { .late = false } };

	side_open(&x, s, "cpu");
	x.work.deadline_ns = 1;
	cr_expect(side_range(&x, 0, 60) == ERR_TIMEOUT);
	x.work.stop_ns = &stop;
	side_close(&x);
	side_open(&x, s, "cpu");
	x.work.stop_ns = &stop;
	cr_expect(side_range(&x, 0, 60) == ERR_CLOSED);
	side_close(&x);
	store_close(s);
}

Test(query_merge, a_single_profile_keeps_its_labels_and_time)
{
	struct store *s = two_jobs();
	struct side x = { .o = { .group_by = str_of("job") } };

	side_open(&x, s, "cpu");
	x.spec.match = MATCH_NEAREST;
	x.spec.merged = false;
	x.spec.time = store_at(2) + 7;
	x.spec.from = store_at(0);
	x.spec.to = store_at(4);
	cr_assert(!query_merge_run(&x.merge, &x.spec, &x.err), "%s", x.err.msg);
	cr_assert(x.merge.ms == store_at(2));
	cr_expect(x.merge.profiles == 1);
	cr_expect(x.merge.series == 1);
	cr_expect(check_str(labels_get(x.merge.labels, str_of("job")), "a"));
	side_expect(&x, "f{job:a}=2");
	side_close(&x);

	/* A single profile of a counter is shown as it is. */
	side_open(&x, s, "heap");
	side_at(&x, store_at(1));
	cr_assert(!query_merge_run(&x.merge, &x.spec, &x.err));
	side_expect(&x, "f{job:a}=1");
	side_close(&x);
	store_close(s);
}

Test(query_merge, a_single_profile_that_is_damaged_or_missing_is_an_error)
{
	struct store *s = two_jobs();
	struct side x = { .merge = { .late = false } };

	side_open(&x, s, "cpu{job=\"b\"}");
	side_at(&x, store_at(4));
	cr_expect(query_merge_run(&x.merge, &x.spec, &x.err) == ERR_CORRUPT);
	cr_expect(x.err.msg[0]);
	side_close(&x);
	side_open(&x, s, "cpu{job=\"b\"}");
	side_at(&x, store_at(50));
	cr_expect(query_merge_run(&x.merge, &x.spec, &x.err) == ERR_NOTFOUND);
	side_close(&x);
	store_close(s);
}

Test(query_merge, a_difference_is_the_second_side_less_the_first)
{
	static const struct {
		const char *name;
		struct merge_diff_options o;
		const char *want;
	} cases[] = {
		{ "as it is", { .label_base = false }, "f=12 main>g=-1" },
		{ "with the base kept apart",
		  { .label_base = true },
		  "f=16 f{pprof::base:true}=-4 main>g{pprof::base:true}=-1" },
		/*
		 * The totals of source and base are 16 and 5, so the source is
		 * scaled to 5.
		 */
		{ "scaled to the base",
		  { .normalize = true },
		  "f=1 main>g=-1" },
	};
	struct store *s = store_open();

	store_put(s, "cpu job=a", "cpu",
		  &(struct made)ROW(store_at(1), "f=4 main>g=1"));
	store_put(s, "cpu job=a", "cpu",
		  &(struct made)ROW(store_at(9), "f=16"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct side a = { .o = { .aggregate = AGGREGATE_SUM } };
		struct side b = a;
		struct merge *both = merge_new();
		struct pprof *p = NULL;
		char *got;

		side_open(&a, s, "cpu");
		side_open(&b, s, "cpu");
		cr_assert(!side_range(&a, 1, 1));
		cr_assert(!side_range(&b, 9, 9));
		cr_assert(!query_merge_finish(&b.merge, &p, &b.err));
		cr_assert(!query_merge_subtract(&a.merge, both, &cases[i].o, &p,
						&a.err),
			  "%s", a.err.msg);
		got = store_tell(p);
		cr_expect(!strcmp(got, cases[i].want), "%s: %s", cases[i].name,
			  got);
		mem_free(got);
		merge_free(both);
		side_close(&a);
		side_close(&b);
	}
	store_close(s);
}

Test(query_merge, sides_with_other_types_have_no_difference)
{
	const struct merge_diff_options o = { .normalize = false };
	struct store *s = two_jobs();
	struct side a = { .o = { .aggregate = AGGREGATE_SUM } };
	struct side b = a;
	struct merge *both = merge_new();
	struct pprof *p = NULL;

	side_open(&a, s, "heap");
	side_open(&b, s, "cpu");
	cr_assert(!side_range(&a, 0, 60));
	cr_assert(!side_range(&b, 0, 60));
	cr_assert(!query_merge_finish(&b.merge, &p, &b.err));
	cr_expect(query_merge_subtract(&a.merge, both, &o, &p, &a.err) ==
		  ERR_INVALID);
	cr_expect(strstr(a.err.msg, "alloc_space"), "%s", a.err.msg);
	merge_free(both);
	side_close(&a);
	side_close(&b);
	store_close(s);
}

/*
 * At its end, a merge that subtracts makes a copy, which takes memory. A merge
 * that only adds up needs no copy.
 */
Test(query_merge, the_end_of_a_merge_takes_memory_too)
{
	static const struct {
		enum aggregate how;
		int want;
	} cases[] = { { AGGREGATE_AUTO, ERR_LIMIT }, { AGGREGATE_SUM, 0 } };
	struct store *s = two_jobs();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct side x = { .o = { .aggregate = cases[i].how } };
		struct pprof *p = NULL;

		side_open(&x, s, "cpu{job=\"a\"}");
		cr_assert(!side_range(&x, 0, 60));
		x.memory.max = atomic_load(&x.memory.used);
		cr_expect(query_merge_finish(&x.merge, &p, &x.err) ==
			  cases[i].want);
		side_close(&x);
	}
	store_close(s);
}

Test(query_merge, what_reading_needed_is_given_back_before_the_report)
{
	struct store *s = two_jobs();
	struct side x = { .o = { .aggregate = AGGREGATE_SUM } };
	int64_t kept;

	side_open(&x, s, "cpu");
	cr_assert(!side_range(&x, 0, 60));
	kept = atomic_load(&x.memory.used);
	cr_expect(kept >= (int64_t)merge_memory(x.merge.merge));
	cr_assert(kept == x.merge.taken);
	cr_expect(kept == x.work.taken);
	cr_expect(!x.merge.fetched.raw.cap);
	side_close(&x);
	store_close(s);
}

Test(query_merge, a_report_asks_for_memory_time_and_room_for_its_output)
{
	struct store *s = two_jobs();
	struct side x = { .o = { .aggregate = AGGREGATE_SUM } };
	struct limits limits;
	int64_t before;

	side_open(&x, s, "cpu");
	cr_assert(!side_range(&x, 0, 60));
	limits = query_merge_limits(&x.merge);
	before = atomic_load(&x.memory.used);
	cr_expect(!limits.spend(limits.ctx, 1000, &x.err));
	cr_expect(atomic_load(&x.memory.used) == before + 1000);
	cr_expect(!limits.spend(limits.ctx, 0, &x.err));
	cr_expect(atomic_load(&x.memory.used) == before + 1000);
	buf_printf(&x.output, "%5000d", 1);
	cr_expect(!limits.spend(limits.ctx, 0, &x.err));
	cr_expect(atomic_load(&x.memory.used) ==
		  before + 1000 + (int64_t)x.output.cap);
	cr_expect(limits.spend(limits.ctx, (size_t)MEMORY, &x.err) ==
		  ERR_LIMIT);
	x.work.deadline_ns = 1;
	cr_expect(limits.spend(limits.ctx, 0, &x.err) == ERR_TIMEOUT);
	side_close(&x);
	store_close(s);
}

Test(query_merge, warnings_say_what_an_answer_lacks)
{
	static const struct {
		bool late;
		size_t damaged;
		size_t max;
		size_t want;
	} cases[] = {
		{ false, 0, 4, 0 }, { true, 0, 4, 1 }, { false, 3, 4, 1 },
		{ true, 3, 4, 2 },  { true, 3, 1, 1 }, { true, 3, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct query_merge g = {
			.late = cases[i].late,
			.late_why = { .msg = "the deadline passed" },
			.profiles = 17,
			.damaged = cases[i].damaged,
			.damage = { .msg = "file 5 is damaged" },
		};
		struct arena arena = { 0 };
		const char *out[4] = { NULL };
		size_t n = query_merge_warnings(&g, &arena, out, cases[i].max);

		cr_assert(n == cases[i].want, "%zu: %zu", i, n);
		if (cases[i].late && n) {
			cr_assert(strstr(out[0], "17"), "%s", out[0]);
			cr_expect(strstr(out[0], "the deadline passed"), "%s",
				  out[0]);
		}
		if (cases[i].damaged && n == (cases[i].late ? 2 : 1)) {
			cr_assert(strstr(out[n - 1], "3 "), "%s", out[n - 1]);
			cr_expect(strstr(out[n - 1], "file 5 is damaged"), "%s",
				  out[n - 1]);
		}
		arena_fini(&arena);
	}
}

/*
 * Makes a profile of many locations. A location has six bytes, and takes
 * several times as much in memory.
 */
static void many_locations(struct buf *out, uint64_t count)
{
	struct buf m = { 0 };

	profile_number(&m, 1, 1);
	profile_bytes(out, 1, &m);
	for (uint64_t i = 1; i <= count; i++) {
		profile_number(&m, 1, i);
		profile_bytes(out, 4, &m);
	}
	profile_text(out, "");
	profile_text(out, "cpu");
	buf_fini(&m);
}

Test(query_merge, decoding_takes_what_it_needs_and_gives_it_back)
{
	static const struct {
		const char *name;
		uint64_t locations;
		int64_t memory;
		int want;
	} cases[] = {
		{ "a small profile", 10, 64 * KIB, 0 },
		{ "less than the least", 10, 64 * KIB - 1, ERR_LIMIT },
		{ "more than six times its bytes, with room", 20000, MEMORY,
		  0 },
		{ "more than there is", 20000, 128 * KIB, ERR_LIMIT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct budget memory = { .name = "query.memory",
					 .max = cases[i].memory };
		struct decoder *d = decoder_new((size_t)MEMORY);
		struct buf raw = { 0 };
		struct pprof *p = NULL;
		struct err err = { .msg = "" };
		int rc;

		many_locations(&raw, cases[i].locations);
		rc = bounded_decode(d, &memory, buf_bytes(&raw), &p, &err);
		cr_expect(rc == cases[i].want, "%s: %d %s", cases[i].name, rc,
			  err.msg);
		cr_expect(rc || p->locations.count == cases[i].locations);
		cr_expect(!rc || strstr(err.msg, "query.memory"), "%s: %s",
			  cases[i].name, err.msg);
		cr_expect(!atomic_load(&memory.used), "%s", cases[i].name);
		decoder_free(d);
		buf_fini(&raw);
	}
}

Test(query_merge, bytes_that_are_no_profile_are_refused_once)
{
	struct budget memory = { .name = "query.memory", .max = MEMORY };
	struct decoder *d = decoder_new((size_t)MEMORY);
	struct pprof *p = NULL;
	struct err err = { .msg = "" };
	const struct bytes bad = { (const uint8_t *)"\x0a\xff\xff", 3 };

	cr_expect(bounded_decode(d, &memory, bad, &p, &err) == ERR_INVALID);
	cr_expect(!atomic_load(&memory.used));
	decoder_free(d);
}
