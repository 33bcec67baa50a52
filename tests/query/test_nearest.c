/* SPDX-License-Identifier: Apache-2.0 */
/* One profile by its time, and what is said when there is none. */
#include "query/select/absence.h"
#include "query/select/query_spec.h"
#include "query/select/string_set.h"
#include "tests/query/store.h"

TestSuite(nearest, .timeout = 60);

#define MINUTE 60000LL

/* A querier of a store, with a selection. */
struct look {
	struct selector selector;
	struct query_work work;
	struct querier *q;
};

static void look_open(struct look *l, struct store *s, const char *selector)
{
	struct err err = { .msg = "" };

	*l = (struct look){ .work = { .deadline_ns = INT64_MAX } };
	cr_assert(!selector_parse(str_of(selector), &l->selector, &err), "%s",
		  err.msg);
	querier_open(s->db, NULL, &l->q);
	cr_assert(!querier_select(l->q, l->selector.matchers, l->selector.count,
				  INT64_MIN, INT64_MAX, NULL));
}

static void look_close(struct look *l)
{
	querier_close(l->q);
	selector_fini(&l->selector);
}

/*
 * Makes a store with the series a, b and c. Series a and b have profiles at
 * minute 20, 10 seconds apart.
 */
static struct store *two_series(void)
{
	static const int64_t a[] = { 10, 20, 22 };
	struct store *s = store_open();

	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		store_put(s, "cpu job=a", "cpu",
			  &(struct made)ROW(store_at(a[i]), "f=1"));
	store_put(s, "cpu job=b", "cpu",
		  &(struct made)ROW(store_at(20) + 10000, "f=1"));
	store_put(s, "cpu job=c", "cpu",
		  &(struct made)ROW(store_at(10), "f=1"));
	return s;
}

struct near_case {
	const char *name;
	enum match match;
	int64_t ms;       /* after minute 0 */
	const char *want; /* "series minute", or NULL */
};

/*
 * Parses a request for the profile at a time. So the search window is the one
 * that query_spec_parse() sets.
 */
static void parse_spec(struct query_spec *spec, enum match match, int64_t ms)
{
	static const char *const names[] = {
		[MATCH_NEAREST] = "nearest",
		[MATCH_AFTER] = "after",
		[MATCH_EXACT] = "exact",
		[MATCH_BEFORE] = "before",
	};
	char time[32];
	struct query_param v[] = {
		{ str_of("query"), str_of("cpu") },
		{ str_of("time"), str_of(time) },
		{ str_of("match"), str_of(names[match]) },
	};
	const struct params p = { .v = v, .count = ARRAY_SIZE(v) };
	struct err err = { .msg = "" };

	snprintf(time, sizeof(time), "%lld", (long long)(store_at(0) + ms));
	v[1].value = str_of(time);
	cr_assert(!query_spec_parse(spec, &p, "", &err), "%s", err.msg);
}

/* Explain why a selector matches nothing. */
static int explained(struct look *l, const struct selector *s, const char *when,
		     struct err *err)
{
	const struct query_spec spec = { .selector = *s };

	return query_explain_absence(l->q, &l->work, &spec, when, err);
}

Test(nearest, a_profile_is_found_by_distance_direction_and_label_order)
{
	static const struct near_case cases[] = {
		{ "its own time", MATCH_NEAREST, 20 * MINUTE, "a 20.0" },
		{ "nearer to the second series", MATCH_NEAREST,
		  20 * MINUTE + 6000, "b 20.10" },
		{ "as near to both series: the first", MATCH_NEAREST,
		  20 * MINUTE + 5000, "a 20.0" },
		{ "as near to two of a series: the earlier", MATCH_NEAREST,
		  21 * MINUTE, "b 20.10" },
		{ "two series at the same time: the first", MATCH_NEAREST,
		  10 * MINUTE, "a 10.0" },
		{ "five minutes away", MATCH_NEAREST, 5 * MINUTE, "a 10.0" },
		{ "a millisecond more", MATCH_NEAREST, 5 * MINUTE - 1, NULL },
		{ "five minutes back", MATCH_NEAREST, 27 * MINUTE, "a 22.0" },
		{ "a millisecond more back", MATCH_NEAREST, 27 * MINUTE + 1,
		  NULL },
		{ "after, at the time itself", MATCH_AFTER, 20 * MINUTE,
		  "a 20.0" },
		{ "after, though one before is nearer", MATCH_AFTER,
		  20 * MINUTE + 11000, "a 22.0" },
		{ "after, at most five minutes", MATCH_AFTER, 15 * MINUTE,
		  "a 20.0" },
		{ "after, beyond the last", MATCH_AFTER, 22 * MINUTE + 1,
		  NULL },
		{ "before, at the time itself", MATCH_BEFORE, 20 * MINUTE,
		  "a 20.0" },
		{ "before, though one after is nearer", MATCH_BEFORE,
		  22 * MINUTE - 1, "b 20.10" },
		{ "before, at most five minutes", MATCH_BEFORE, 15 * MINUTE + 1,
		  NULL },
		{ "exact", MATCH_EXACT, 20 * MINUTE + 10000, "b 20.10" },
		{ "exact, a millisecond off", MATCH_EXACT, 20 * MINUTE + 1,
		  NULL },
	};
	struct store *s = two_series();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct near_case *c = &cases[i];
		struct look l;
		struct query_spec spec;
		struct err err = { .msg = "" };
		char got[32] = "";
		size_t series = 0;
		int64_t ms = 0;
		int rc;

		parse_spec(&spec, c->match, c->ms);
		look_open(&l, s, "cpu");
		rc = query_nearest(&spec, &l.work, l.q, &series, &ms, &err);
		if (!rc)
			snprintf(got, sizeof(got), "%.*s %d.%d",
				 STR_ARG(labels_get(querier_labels(l.q, series),
						    str_of("job"))),
				 (int)((ms - store_at(0)) / MINUTE),
				 (int)((ms - store_at(0)) % MINUTE / 1000));
		cr_expect(rc == (c->want ? 0 : ERR_NOTFOUND), "%s: %d %s",
			  c->name, rc, err.msg);
		cr_expect(!strcmp(got, c->want ? c->want : ""), "%s: %s",
			  c->name, got);
		look_close(&l);
		query_spec_fini(&spec);
	}
	store_close(s);
}

Test(nearest, a_search_ends_at_the_deadline_and_when_everprof_stops)
{
	_Atomic int64_t stop = 0;
	struct store *s = two_series();
	struct query_spec spec = { .match = MATCH_NEAREST,
				   .time = store_at(20),
				   .from = store_at(15),
				   .to = store_at(25) };
	struct look l;
	struct err err;
	size_t series;
	int64_t ms;

	look_open(&l, s, "cpu");
	l.work.deadline_ns = 1;
	cr_expect(query_nearest(&spec, &l.work, l.q, &series, &ms, &err) ==
		  ERR_TIMEOUT);
	l.work.stop_ns = &stop;
	cr_expect(query_nearest(&spec, &l.work, l.q, &series, &ms, &err) ==
		  ERR_CLOSED);
	look_close(&l);
	store_close(s);
}

Test(nearest, damage_is_told_instead_of_not_found)
{
	struct store *s = two_series();
	struct query_spec spec = { .match = MATCH_NEAREST,
				   .time = store_at(20),
				   .from = store_at(15),
				   .to = store_at(25) };
	struct look l;
	struct err err = { .msg = "" };
	size_t series;
	int64_t ms;

	cr_assert(!tsdb_maintain(s->db, true, NULL));
	store_damage_chunks(s);
	store_reopen(s);
	look_open(&l, s, "cpu");
	cr_expect(querier_count(l.q) == 3);
	cr_expect(query_nearest(&spec, &l.work, l.q, &series, &ms, &err) ==
			  ERR_CORRUPT,
		  "%s", err.msg);
	cr_expect(strstr(err.msg, "chunks/000001"), "%s", err.msg);
	look_close(&l);
	store_close(s);
}

Test(nearest, modes_and_ranges_are_told_apart)
{
	static const struct {
		const char *name;
		const char *form; /* name=value, separated by blanks */
		int want;
		const char *says; /* part of the error's message */
	} cases[] = {
		{ "a time wins over a range", "query=cpu time=5 from=1 to=9", 1,
		  NULL },
		{ "a range without a mode", "query=cpu from=1 to=9", 2, NULL },
		{ "an empty mode", "query=cpu mode= from=1 to=9", 2, NULL },
		{ "one end alone is no range", "query=cpu from=1", ERR_INVALID,
		  "\"time\"" },
		{ "start and end alone are no range", "query=cpu start=1 end=9",
		  ERR_INVALID, "\"time\"" },
		{ "a merge without an end", "query=cpu mode=merge from=1",
		  ERR_INVALID, "\"to\"" },
		{ "a merge that ends first", "query=cpu mode=merge from=9 to=1",
		  ERR_INVALID, "" },
		{ "a diff within a side", "query=cpu mode=diff time=1",
		  ERR_INVALID, "\"diff\"" },
		{ "no query", "time=1", ERR_INVALID, "\"query\"" },
		{ "an empty query", "query= time=1", ERR_INVALID, "\"query\"" },
		{ "a selector of everything", "query={a=\"\"} time=1",
		  ERR_INVALID, "1:" },
		{ "a match that is none", "query=cpu time=1 match=Nearest",
		  ERR_INVALID, "\"Nearest\"" },
		{ "a match is not asked for a range",
		  "query=cpu from=1 to=2 match=x", 2, NULL },
		{ "seconds are no time of a profile", "query=cpu time=1.5x",
		  ERR_INVALID, "\"time\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep) char *text = mem_strdup(cases[i].form);
		struct query_param v[6];
		struct params p = { .v = v };
		struct query_spec spec;
		struct err err = { .msg = "" };
		int rc;

		for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
			char *value = strchr(at, '=');

			*value = 0;
			v[p.count++] =
				(struct query_param){ str_of(at),
						      str_of(value + 1) };
		}
		rc = query_spec_parse(&spec, &p, "", &err);
		if (cases[i].want > 0) {
			cr_assert(!rc, "%s: %s", cases[i].name, err.msg);
			cr_expect(spec.merged == (cases[i].want == 2), "%s: %s",
				  cases[i].name, err.msg);
		} else {
			cr_assert(rc == cases[i].want, "%s: %d %s",
				  cases[i].name, rc, err.msg);
			cr_expect(strstr(err.msg, cases[i].says), "%s: %d %s",
				  cases[i].name, rc, err.msg);
		}
		query_spec_fini(&spec);
	}
}

Test(nearest, a_request_for_a_range_takes_no_single_profile)
{
	static const struct {
		struct query_param v[4];
		const char *says; /* part of the error's message; NULL: none */
	} cases[] = {
		{ { { { "from", 4 }, { "1", 1 } },
		    { { "to", 2 }, { "9", 1 } } },
		  NULL },
		{ { { { "start", 5 }, { "1", 1 } },
		    { { "end", 3 }, { "9", 1 } } },
		  NULL },
		{ { { { "from", 4 }, { "1", 1 } } }, "\"to\"" },
		{ { { { "from", 4 }, { "1", 1 } },
		    { { "to", 2 }, { "9", 1 } },
		    { { "mode", 4 }, { "single", 6 } } },
		  "this request takes \"from\" and \"to\"" },
		{ { { { "from", 4 }, { "1", 1 } },
		    { { "to", 2 }, { "9", 1 } },
		    { { "time", 4 }, { "5", 1 } } },
		  "this request takes \"from\" and \"to\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct query_param v[5] = { { str_of("query"),
					      str_of("cpu") } };
		struct params p = { .v = v, .count = 1 };
		struct query_spec spec;
		struct err err = { .msg = "" };
		int rc;

		for (size_t k = 0; k < 4 && cases[i].v[k].name.len; k++)
			v[p.count++] = cases[i].v[k];
		rc = query_spec_parse_range(&spec, &p, &err);
		cr_expect(!rc == !cases[i].says, "%zu: %s", i, err.msg);
		cr_expect(!cases[i].says || strstr(err.msg, cases[i].says),
			  "%zu: %s", i, err.msg);
		cr_expect(spec.merged);
		query_spec_fini(&spec);
	}
}

Test(nearest, what_a_selector_does_not_find_is_explained)
{
	static const struct {
		const char *selector;
		const char *says;
		const char * not ; /* text that the message must not have */
	} cases[] = {
		{ "heap", "cpu", "job" },
		{ "cpu{job=\"x\"}", "job=\"x\"", "pod" },
		/*
		 * A series without a job would match, so the message does not
		 * blame job.
		 */
		{ "cpu{job!~\"[abc]\"}", "WHEN", "job" },
		{ "cpu{job!~\"[abc]|\"}", "job!~\"[abc]|\"", NULL },
		{ "cpu{job=~\"x|y\"}", "job=~\"x|y\"", NULL },
		{ "cpu{zone=\"a\"}", "\"zone\"", "zone=" },
		{ "cpu{zone!=\"\"}", "\"zone\"", "zone!" },
		/*
		 * The message names the first label that no series has, and no
		 * other.
		 */
		{ "cpu{job=\"a\",zone=\"b\",pod=\"c\"}", "\"zone\"",
		  "\"pod\"" },
		/* Both jobs exist, but no series has two jobs. */
		{ "cpu{job=\"a\",job=\"b\"}", "WHEN", ":" },
		{ "cpu{job=\"a\",zone=\"\",job=\"c\"}", "WHEN", "zone" },
	};
	struct store *s = two_series();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct look l;
		struct err err = { .msg = "" };

		look_open(&l, s, cases[i].selector);
		cr_expect(!querier_count(l.q), "%s", cases[i].selector);
		cr_expect(explained(&l, &l.selector, "WHEN", &err) ==
			  ERR_NOTFOUND);
		cr_expect(strstr(err.msg, "WHEN"), "%s", err.msg);
		cr_expect(strstr(err.msg, cases[i].says), "%s: %s",
			  cases[i].selector, err.msg);
		cr_expect(!cases[i].not || !strstr(err.msg, cases[i].not ),
			  "%s: %s", cases[i].selector, err.msg);
		look_close(&l);
	}
	store_close(s);
}

Test(nearest, types_are_listed_in_order_and_not_without_end)
{
	static const size_t counts[] = { 0, 1, 12, 13, 30 };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct store *s = store_open();
		struct err err = { .msg = "" };
		struct look l;

		for (size_t k = counts[i]; k-- > 0;) {
			char labels[32];

			snprintf(labels, sizeof(labels), "type_%02zu job=a", k);
			store_put(s, labels, "cpu",
				  &(struct made)ROW(store_at(1), "f=1"));
		}
		look_open(&l, s, "heap");
		cr_expect(explained(&l, &l.selector, "now", &err) ==
			  ERR_NOTFOUND);
		cr_expect(counts[i] == 0 || strstr(err.msg, "type_"), "%s",
			  err.msg);
		cr_expect(counts[i] || !strstr(err.msg, "type_"), "%s",
			  err.msg);
		cr_expect(!strstr(err.msg, "…") == (counts[i] <= 12), "%s",
			  err.msg);
		if (counts[i] == 12)
			cr_expect(strstr(err.msg, "type_00, type_01, type_02"),
				  "%s", err.msg);
		cr_expect(!strstr(err.msg, "type_12"), "%s", err.msg);
		look_close(&l);
		store_close(s);
	}
}

Test(nearest, after_the_deadline_no_matcher_is_blamed)
{
	struct store *s = two_series();
	struct err err = { .msg = "" };
	struct look l;

	look_open(&l, s, "cpu{job=\"x\"}");
	l.work.deadline_ns = 1;
	cr_expect(explained(&l, &l.selector, "now", &err) == ERR_NOTFOUND);
	cr_expect(!strstr(err.msg, "job"), "%s", err.msg);
	look_close(&l);
	store_close(s);
}

Test(nearest, an_explanation_keeps_the_selection)
{
	struct store *s = two_series();
	struct err err = { .msg = "" };
	struct selector other;
	struct look l;

	look_open(&l, s, "cpu{job=~\"a|b\"}");
	cr_assert(!selector_parse(str_of("cpu{job=\"x\"}"), &other, NULL));
	cr_expect(explained(&l, &other, "now", &err) == ERR_NOTFOUND);
	cr_assert(querier_count(l.q) == 2);
	cr_expect(
		str_is(labels_get(querier_labels(l.q, 1), str_of("job")), "b"));
	selector_fini(&other);
	look_close(&l);
	store_close(s);
}

Test(nearest, a_set_of_many_texts_has_each_once)
{
	struct string_set set = { 0 };
	size_t before = string_set_memory(&set);
	char text[32];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "text %d", i);
			cr_expect(string_set_add(&set, str_of(text)) == !round);
		}
	}
	/* The set has copies, as `text` above has been overwritten. */
	cr_assert(set.count == 5000);
	cr_expect(check_str(set.v[0].text, "text 0"));
	cr_expect(check_str(set.v[4999].text, "text 4999"));
	cr_expect(string_set_memory(&set) >= before + 5000 * strlen("text 0"));
	string_set_sort(&set);
	for (size_t i = 1; i < set.count; i++)
		cr_expect(str_cmp(set.v[i - 1].text, set.v[i].text) < 0);
	string_set_fini(&set);
}

Test(nearest, texts_of_a_set_may_be_empty_and_hold_any_byte)
{
	static const struct str texts[] = {
		{ "a\0b", 3 }, { "a\0c", 3 }, { "a", 1 },
		{ NULL, 0 },   { "", 0 },
	};
	static const bool is_new[] = { true, true, true, true, false };
	struct string_set set = { 0 };

	string_set_sort(&set); /* an empty set may be sorted */
	cr_expect(!set.count);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		cr_expect(string_set_add(&set, texts[i]) == is_new[i], "%zu",
			  i);
	string_set_sort(&set);
	cr_assert(set.count == 4);
	cr_assert(!set.v[0].text.len);
	cr_expect(set.v[1].text.len == 1);
	cr_assert(str_eq(set.v[2].text, texts[0]));
	cr_expect(str_eq(set.v[3].text, texts[1]));
	string_set_fini(&set);
}
