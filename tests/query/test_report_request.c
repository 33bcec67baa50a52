/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the report that a request asks for, and of the search for a function
 * by name.
 */
#include "query/merge/function_search.h"
#include "query/merge/report_request.h"
#include "tests/query/store.h"

TestSuite(report_request, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* Parse "name=value&name=value"; the text must outlive q. */
static int parse_form(struct report_request *q, char *form, struct err *err)
{
	struct query_param v[8];
	struct params p = { .v = v };
	char *next;

	for (char *at = form; at && *at; at = next) {
		char *value = strchr(at, '=');

		next = strchr(at, '&');
		if (next)
			*next++ = 0;
		*value++ = 0;
		v[p.count++] =
			(struct query_param){ str_of(at), str_of(value) };
	}
	return report_request_parse(q, &p, err);
}

Test(report_request, a_request_says_how_it_is_answered)
{
	static const struct {
		const char *form;
		const char *name;
		/* stored, single, text, one_type, filtered */
		bool want[5];
	} cases[] = {
		{ "", "proto", { true, false, false, false, false } },
		{ "report=", "proto", { true, false, false, false, false } },
		{ "report=proto&tagfocus=a",
		  "proto",
		  { false, false, false, false, true } },
		{ "report=proto&nodecount=5",
		  "proto",
		  { true, false, false, false, false } },
		{ "report=proto&group_by=job",
		  "proto",
		  { false, false, false, false, true } },
		{ "report=raw", "raw", { true, true, false, false, false } },
		{ "report=raw&focus=a",
		  "raw",
		  { true, true, false, false, true } },
		{ "report=meta", "meta", { true, true, false, false, false } },
		{ "report=pgo", "pgo", { false, false, false, false, false } },
		{ "report=top", "top", { false, false, false, true, false } },
		{ "report=top&format=text",
		  "top",
		  { false, false, true, true, false } },
		{ "report=top&format=json",
		  "top",
		  { false, false, false, true, false } },
		{ "report=top&mean=1",
		  "top",
		  { false, false, false, false, false } },
		{ "report=top&mean=no",
		  "top",
		  { false, false, false, true, false } },
		{ "report=traces",
		  "traces",
		  { false, false, false, false, false } },
		{ "report=flamegraph&hide=x&prune_from=y",
		  "flamegraph",
		  { false, false, false, true, true } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep) char *form = mem_strdup(cases[i].form);
		struct report_request q;
		struct err err = { .msg = "" };
		int rc = parse_form(&q, form, &err);

		cr_assert(!rc, "%s: %s", cases[i].form, err.msg);
		cr_expect(str_is(q.name, cases[i].name), "%s", cases[i].form);
		cr_expect(q.stored == cases[i].want[0], "%s: stored",
			  cases[i].form);
		cr_expect(q.single == cases[i].want[1], "%s: single",
			  cases[i].form);
		cr_expect(q.text == cases[i].want[2], "%s: text",
			  cases[i].form);
		cr_expect(q.one_type == cases[i].want[3], "%s: one type",
			  cases[i].form);
		cr_expect(q.filtered == cases[i].want[4], "%s: filtered",
			  cases[i].form);
		cr_expect(!q.type == (str_is(q.name, "proto") ||
				      str_is(q.name, "pgo") || q.single));
	}
}

Test(report_request, mistakes_are_named)
{
	static const struct {
		const char *form;
		const char *says;
	} cases[] = {
		{ "report=TOP", "TOP" },
		{ "report=topx", "topx" },
		{ "report=top&granularity=function", "granularity" },
		{ "report=top&sort=name", "sort" },
		{ "report=top&nodecount=-2", "nodecount" },
		{ "report=top&nodecount=1.5", "nodecount" },
		{ "report=top&nodecount=9223372036854775808", "nodecount" },
		{ "report=top&nodefraction=", "nodefraction" },
		{ "report=top&nodefraction=nan", "nodefraction" },
		{ "report=top&divide_by=inf", "divide_by" },
		{ "report=top&divide_by=1e400", "divide_by" },
		{ "report=top&edgefraction=0.1x", "edgefraction" },
		{ "report=top&trim=maybe", "trim" },
		{ "report=flamegraph&max_nodes=many", "max_nodes" },
		{ "report=top&diff=diff", "diff" },
		{ "report=proto&trim=2", "trim" },
		{ "group_by=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "group_by" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep) char *form = mem_strdup(cases[i].form);
		struct report_request q;
		struct err err = { .msg = "" };

		cr_expect(parse_form(&q, form, &err) == ERR_INVALID, "%s",
			  cases[i].form);
		cr_expect(strstr(err.msg, cases[i].says), "%s: %s",
			  cases[i].form, err.msg);
	}
}

Test(report_request, options_have_the_values_that_were_given)
{
	char form[] = "report=top&sample_index=1&nodecount=0&nodefraction=0.25&"
		      "divide_by=1000&granularity=lines&sort=cum&trim=0";
	char later[] = "report=flamegraph&max_nodes=-1&unit=MB&noinlines=&"
		       "drop_negative=t&relative_percentages=yes&symbol=^f$";
	struct report_request q;
	struct err err = { .msg = "" };

	cr_assert(!parse_form(&q, form, &err), "%s", err.msg);
	cr_expect(check_str(q.options.sample_index, "1"));
	cr_assert(q.options.node_count == 0);
	cr_expect(q.options.max_nodes == -1);
	cr_expect(q.options.node_fraction == 0.25);
	cr_expect(q.options.edge_fraction == 0.001);
	cr_assert(q.options.divide_by == 1000);
	cr_expect(q.options.cum);
	cr_assert(!q.options.trim);
	cr_expect(!q.options.noinlines);
	cr_expect(q.options.granularity == GRANULARITY_LINES);
	cr_assert(!parse_form(&q, later, &err), "%s", err.msg);
	cr_assert(q.options.noinlines);
	cr_expect(q.options.drop_negative);
	cr_assert(q.options.relative);
	cr_assert(q.options.trim);
	cr_expect(!q.options.cum);
	cr_expect(check_str(q.options.unit, "MB"));
	cr_expect(check_str(q.options.symbol, "^f$"));
	cr_expect(q.options.node_count == -1);
}

Test(report_request, labels_of_series_become_frames_unless_others_are_named)
{
	static const struct {
		const char *form;
		const char *tagroot;
	} cases[] = {
		{ "group_by=job,pod", "job,pod" },
		{ "group_by=job&tagroot=zone", "zone" },
		{ "group_by=job&tagroot=", "job" },
		{ "group_by=", "" },
		/* At most 16 labels are allowed. */
		{ "group_by=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p",
		  "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep) char *form = mem_strdup(cases[i].form);
		struct report_request q;
		struct err err = { .msg = "" };

		cr_assert(!parse_form(&q, form, &err), "%s", err.msg);
		cr_expect(check_str(q.options.tagroot, cases[i].tagroot));
	}
}

Test(report_request, a_diff_is_drawn_with_both_sides_and_listed_without)
{
	static const struct {
		const char *form;
		bool label_base;
		enum normalize normalize;
	} cases[] = {
		{ "report=flamegraph", true, NORMALIZE_NONE },
		{ "report=speedscope", true, NORMALIZE_NONE },
		{ "report=speedscope&diff=", true, NORMALIZE_NONE },
		{ "report=tree", false, NORMALIZE_NONE },
		{ "report=proto", false, NORMALIZE_NONE },
		{ "report=tree&diff=diff_base", true, NORMALIZE_NONE },
		{ "report=speedscope&diff=base&normalize=true", false,
		  NORMALIZE_TOTAL },
		{ "normalize=rate", false, NORMALIZE_RATE },
		{ "normalize=auto", false, NORMALIZE_AUTO },
		{ "normalize=false", false, NORMALIZE_NONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep) char *form = mem_strdup(cases[i].form);
		struct report_request q;
		struct err err = { .msg = "" };

		cr_assert(!parse_form(&q, form, &err), "%s", err.msg);
		cr_expect(q.label_base == cases[i].label_base, "%s",
			  cases[i].form);
		cr_expect(q.normalize == cases[i].normalize, "%s",
			  cases[i].form);
	}
}

/* A search, and the memory, work and querier that it uses. */
struct finder {
	struct budget memory;
	struct query_work work;
	struct function_search search;
	struct querier *q;
};

static void finder_open(struct finder *f, struct store *s, const char *pattern)
{
	struct err err = { .msg = "" };

	*f = (struct finder){ .memory = { .name = "query.memory",
					  .max = MEMORY } };
	f->work = (struct query_work){ .memory = &f->memory,
				       .deadline_ns = INT64_MAX };
	cr_assert(!function_search_init(&f->search, str_of(pattern),
					(size_t)MEMORY, &f->work, &err),
		  "%s", err.msg);
	querier_open(s->db, NULL, &f->q);
	cr_assert(!querier_select(f->q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
}

static void finder_close(struct finder *f)
{
	querier_close(f->q);
	function_search_fini(&f->search);
	query_release(&f->work);
	cr_expect(!atomic_load(&f->memory.used));
}

/*
 * Searches the profiles of minutes 0 to 7. The result has two letters for each
 * minute: "a" or "." for series a, then "b" or "." for series b. A "." means
 * that the profile does not have the function.
 */
static void finder_scan(struct finder *f, char out[17])
{
	for (size_t i = 0; i < 16; i++) {
		struct err err = { .msg = "" };
		bool found = true;
		int rc = function_search_look(&f->search, f->q, i % 2,
					      store_at((int64_t)(i / 2)),
					      &found, &err);

		cr_expect(!rc, "%s", err.msg);
		out[i] = found ? (char)('a' + i % 2) : '.';
	}
	out[16] = 0;
}

/*
 * Makes a database with two series. Series a has f in all profiles, and g at
 * odd minutes. Series b has h from minute 4.
 */
static struct store *functions(void)
{
	struct store *s = store_open();

	for (int i = 0; i < 8; i++) {
		store_put(s, "cpu job=a", "cpu",
			  &(struct made)ROW(store_at(i),
					    i % 2 ? "main>pkg.f=1 pkg.g>x=2" :
						    "main>pkg.f=1"));
		store_put(s, "cpu job=b", "cpu",
			  &(struct made)ROW(store_at(i),
					    i < 4 ? "main=3" : "main>h=1"));
	}
	return s;
}

Test(report_request, functions_are_found_wherever_a_profile_is_stored)
{
	static const struct {
		const char *pattern;
		const char *want;
	} cases[] = {
		{ "main", "abababababababab" },
		{ "pkg", "a.a.a.a.a.a.a.a." },
		{ "^pkg.g$", "..a...a...a...a." },
		{ "^x$", "..a...a...a...a." },
		{ "h", ".........b.b.b.b" },
		{ "h|g", "a.a.a.a.abababab" },
		{ "nothing", "................" },
		{ "", "abababababababab" },
	};
	static const char *const where[] = { "WAL", "head", "block" };
	struct store *s = functions();

	for (size_t w = 0; w < ARRAY_SIZE(where); w++) {
		if (w == 1)
			cr_expect(!tsdb_flush(s->db, NULL));
		if (w == 2)
			cr_expect(!tsdb_maintain(s->db, true, NULL));
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct finder f;
			char got[17];

			finder_open(&f, s, cases[i].pattern);
			finder_scan(&f, got);
			cr_expect(!strcmp(got, cases[i].want), "%s, %s: %s",
				  where[w], cases[i].pattern, got);
			cr_expect(!f.search.visit.unread);
			finder_close(&f);
		}
	}
	store_close(s);
}

/*
 * Shows that a search can leave and enter the columns of two stripes again and
 * again, without fetching a profile.
 */
Test(report_request, searches_change_between_columns_of_two_series)
{
	struct store *s = store_open();
	struct finder f;

	for (int64_t i = 0; i < 100; i++) {
		for (int k = 0; k < 2; k++) {
			struct buf text = { 0 };
			struct made p = { .ms = store_at(0) + i * 15000 };

			for (int n = 0; n < 20; n++)
				buf_printf(&text, "%sjob%d.main>job%d.f%d=%d",
					   n ? " " : "", k, k, n,
					   (int)(i % 7) * n + n);
			p.stacks = buf_cstr(&text);
			store_put(s, k ? "cpu job=b" : "cpu job=a", "cpu", &p);
			buf_fini(&text);
		}
	}
	cr_expect(!tsdb_maintain(s->db, true, NULL));
	finder_open(&f, s, "job1");
	for (size_t i = 0; i < 200; i++) {
		struct err err = { .msg = "" };
		bool found;

		cr_assert(!function_search_look(&f.search, f.q, i % 2,
						store_at(0) + (int64_t)(i / 2) *
								      15000,
						&found, &err),
			  "%s", err.msg);
		cr_expect(found == (i % 2 == 1), "%zu", i);
	}
	cr_expect(!f.search.visit.fetched.raw.len, "a profile was fetched");
	finder_close(&f);
	store_close(s);
}

Test(report_request, what_cannot_be_read_has_no_function_and_is_counted)
{
	struct store *s = store_open();
	struct finder f;
	struct err err;
	bool found = true;

	store_put(s, "cpu job=a", "cpu",
		  &(struct made)BAD(store_at(1), "main=1"));
	store_put(s, "cpu job=a", "cpu",
		  &(struct made)ROW(store_at(2), "main=1"));
	finder_open(&f, s, "main");
	cr_expect(!function_search_look(&f.search, f.q, 0, store_at(1), &found,
					&err));
	cr_assert(!found);
	cr_expect(f.search.visit.unread == 1);
	/* A profile that is not there, or was removed, counts as unread. */
	cr_expect(!function_search_look(&f.search, f.q, 0, store_at(3), &found,
					&err));
	cr_assert(!found);
	cr_expect(f.search.visit.unread == 2);
	cr_expect(!function_search_look(&f.search, f.q, 0, store_at(2), &found,
					&err));
	cr_assert(found);
	cr_expect(f.search.visit.unread == 2);
	finder_close(&f);
	store_close(s);
}

Test(report_request, a_search_keeps_to_memory_and_time)
{
	_Atomic int64_t stop = 0;
	struct store *s = functions();
	struct finder f;
	struct err err = { .msg = "" };
	bool found = true;

	finder_open(&f, s, "main");
	f.memory.max = 1;
	cr_expect(function_search_look(&f.search, f.q, 0, store_at(0), &found,
				       &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "query.memory"), "%s", err.msg);
	f.memory.max = MEMORY;
	f.work.deadline_ns = 1;
	cr_expect(function_search_look(&f.search, f.q, 0, store_at(0), &found,
				       &err) == ERR_TIMEOUT);
	cr_expect(!found);
	f.work.stop_ns = &stop;
	cr_expect(function_search_look(&f.search, f.q, 0, store_at(0), &found,
				       &err) == ERR_CLOSED);
	finder_close(&f);
	store_close(s);
}

/* A search that gave up would not find everything, so it is an error. */
Test(report_request, a_pattern_that_takes_too_many_steps_is_an_error)
{
	struct store *s = store_open();
	struct buf stack = { 0 };
	struct finder f;
	struct err err = { .msg = "" };
	bool found = true;

	buf_str(&stack, "main>");
	for (int i = 0; i < 2500; i++)
		buf_byte(&stack, 'a');
	buf_str(&stack, "=1");
	store_put(s, "cpu job=a", "cpu",
		  &(struct made)ROW(store_at(0), buf_cstr(&stack)));
	for (int flushed = 0; flushed < 2; flushed++) {
		finder_open(&f, s, "(a|aa|aaa)+[bc]");
		cr_expect(function_search_look(&f.search, f.q, 0, store_at(0),
					       &found, &err) == ERR_INVALID);
		cr_expect(strstr(err.msg, "too many steps"), "%s", err.msg);
		finder_close(&f);
		cr_expect(!tsdb_flush(s->db, NULL));
	}
	buf_fini(&stack);
	store_close(s);
}

Test(report_request, patterns_that_are_no_expressions_are_refused)
{
	static const char *const bad[] = { "(", "[z-a]", "a{2000}", "\\",
					   "*", "(?=a)", "\\1" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct query_work work = { .deadline_ns = INT64_MAX };
		struct function_search f;
		struct err err = { .msg = "" };

		cr_expect(function_search_init(&f, str_of(bad[i]), 1000, &work,
					       &err) == ERR_INVALID,
			  "%s", bad[i]);
		cr_expect(strstr(err.msg, "function"), "%s", err.msg);
	}
}
