/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles on demand, and what the scraper counts: the targets by health, and
 * the bytes and the time that profile types take.
 */
#include "model/regex.h"
#include "scrape/run/scraper.h"
#include "scrape/run/type_cost.h"
#include "tests/scrape/fetches.h"

TestSuite(on_demand, .timeout = 60);

#define START 1700000000000LL

/* A caller who wants a profile, in a thread of its own. */
struct wish {
	struct stage *t;
	struct matcher matcher; /* selects an instance */
	int64_t seconds;
	int64_t deadline_ns;
	pthread_t thread;
	int rc;
	struct labels *labels;
	int64_t ms;
	struct err err;
};

static void *run_wish(void *arg)
{
	struct wish *w = arg;
	const struct scrape_now_options o = { .matchers = &w->matcher,
					      .count = w->matcher.name.len != 0,
					      .seconds = w->seconds,
					      .deadline_ns = w->deadline_ns };

	w->rc = scrape_now(w->t->s, &o, &w->labels, &w->ms, &w->err);
	return NULL;
}

/*
 * Makes a wish for a profile of this instance; NULL: of any. Its deadline is in
 * an hour.
 */
static struct wish wish_for(struct stage *t, const char *instance,
			    int64_t seconds)
{
	struct wish w = { .t = t,
			  .seconds = seconds,
			  .deadline_ns = clock_mono_ns() + 3600000000000LL };

	if (instance)
		w.matcher = (struct matcher){ .op = MATCH_EQ,
					      .name = str_of("instance"),
					      .value = str_of(instance) };
	return w;
}

static void start_wish(struct wish *w)
{
	cr_assert(!pthread_create(&w->thread, NULL, run_wish, w));
}

static int end_wish(struct wish *w)
{
	pthread_join(w->thread, NULL);
	return w->rc;
}

static void wait_for_asking(struct stage *t, unsigned n)
{
	unsigned now = 0;

	for (int i = 0; i < 20000 && now != n; i++) {
		mutex_lock(&t->s->mu);
		now = t->s->asking;
		mutex_unlock(&t->s->mu);
		usleep(1000);
	}
	cr_assert(now == n, "%u, not %u", now, n);
}

Test(on_demand, a_wish_must_mean_exactly_one_target)
{
	static const struct {
		const char *instance;
		int rc;
		const char *says;
	} cases[] = {
		{ "none:1", ERR_NOTFOUND, "0 targets" },
		{ NULL, ERR_INVALID, "2 targets" },
		/*
		 * Profile lists do not count, nor do targets that a limit
		 * refuses or that relabelling drops.
		 */
		{ "index:1", ERR_NOTFOUND, "0 targets" },
		{ "over:1", ERR_NOTFOUND, "0 targets" },
		{ "dropped:1", ERR_NOTFOUND, "0 targets" },
	};
	struct stage t;

	stage_begin(&t, START);
	stage_apply(
		&t,
		HEAP_JOB("app",
			 "  relabel_configs: [{source_labels: "
			 "[__address__], regex: 'dropped:1', action: "
			 "drop}]\n",
			 "['a:1', 'b:1', 'dropped:1']")
			HEAP_JOB(
				"limit", "  target_limit: 1\n",
				"['over:1', 'over:2']") "- job_name: i\n"
							"  profiling_config: {pprof_config: auto}\n"
							"  static_configs: [{targets: ['index:1']}]\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wish w = wish_for(&t, cases[i].instance, -1);

		start_wish(&w);
		cr_expect(end_wish(&w) == cases[i].rc, "%s: %s",
			  cases[i].instance, w.err.msg);
		cr_expect(strstr(w.err.msg, cases[i].says) != NULL, "%s",
			  w.err.msg);
	}
	cr_expect(count_begun() == 0);
	stage_end(&t);
}

Test(on_demand, a_profile_that_is_stored_is_named_by_labels_and_time)
{
	struct stage t;
	struct wish w;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "  scrape_timeout: 4s\n",
				 "['a:1', 'b:1']"));
	w = wish_for(&t, "b:1", 7);
	start_wish(&w);
	cr_assert(has_begun(1));
	cr_assert(begun_at(0).ask);
	cr_expect(begun_at(0).due_ms == START, "now");
	cr_expect(check_str(str_of(begun_at(0).ask->url),
			    "http://b:1/debug/pprof/heap?seconds=7"));
	cr_expect(begun_at(0).ask->timeout_ms == 11000);
	on_demand_end(t.s, begun_at(0).ask, 0, NULL, START + 5);
	cr_assert(end_wish(&w) == 0);
	cr_expect(w.ms == START + 5);
	cr_expect(check_str(labels_get(w.labels, str_of("instance")), "b:1"));
	labels_unref(w.labels);
	wait_for_asking(&t, 0);
	stage_end(&t);
}

Test(on_demand, the_error_of_a_scrape_is_told_as_what_it_means_to_the_caller)
{
	static const struct {
		int code;
		int rc;
	} cases[] = {
		/*
		 * An invalid answer is the fault of the target. The caller gets
		 * ERR_AGAIN, because ERR_INVALID would blame the request.
		 */
		{ ERR_INVALID, ERR_AGAIN }, { ERR_TIMEOUT, ERR_TIMEOUT },
		{ ERR_TOOBIG, ERR_TOOBIG }, { ERR_NOSPACE, ERR_NOSPACE },
		{ ERR_DENIED, ERR_DENIED },
	};
	struct stage t;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wish w = wish_for(&t, "a:1", -1);
		struct err err;

		start_wish(&w);
		cr_assert(has_begun(i + 1));
		cr_expect(check_str(str_of(begun_at(i).ask->url),
				    "http://a:1/debug/pprof/heap"));
		err_set(&err, cases[i].code, "as the test says");
		on_demand_end(t.s, begun_at(i).ask, cases[i].code, &err, 0);
		cr_expect(end_wish(&w) == cases[i].rc, "case %zu: %d", i, w.rc);
		cr_assert(strstr(w.err.msg, "as the test says"));
		cr_expect(!w.labels);
		end_scrape(t.s, begun_at(i).target);
	}
	stage_end(&t);
}

Test(on_demand, a_caller_that_gives_up_leaves_its_scrape_alone)
{
	struct stage t;
	struct wish w;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	w = wish_for(&t, "a:1", -1);
	w.deadline_ns = clock_mono_ns();
	start_wish(&w);
	cr_assert(end_wish(&w) == ERR_TIMEOUT);
	cr_expect(!w.labels);
	cr_assert(has_begun(1));
	wait_for_asking(&t, 1);
	/* The sanitizers see whether the request was freed too early. */
	on_demand_end(t.s, begun_at(0).ask, 0, NULL, START);
	wait_for_asking(&t, 0);
	stage_end(&t);
}

Test(on_demand, requests_pass_those_whose_target_is_busy)
{
	struct scraper s = { 0 };
	struct target t[3] = { 0 };
	struct scrape_request *r[4];
	/* The targets of the requests, in order of arrival. */
	static const int of[] = { 0, 0, 1, 2 };

	mutex_init(&s.mu);
	for (int i = 0; i < 3; i++) {
		static char url[] = "http://h/";

		atomic_init(&t[i].refs, 100);
		t[i].spec.url = url;
	}
	for (int i = 3; i >= 0; i--) {
		r[i] = scrape_request_new(&t[of[i]], -1);
		r[i]->next = s.asked;
		s.asked = scrape_request_ref(r[i]);
	}
	t[2].running = true;
	cr_assert(on_demand_take(&s) == r[0]);
	cr_expect(t[0].running);
	cr_assert(on_demand_take(&s) == r[2]);
	cr_expect(t[1].running);
	cr_expect(!on_demand_take(&s), "all of them are busy");
	t[0].running = false;
	t[2].running = false;
	cr_expect(on_demand_take(&s) == r[1]);
	cr_assert(on_demand_take(&s) == r[3]);
	cr_expect(t[2].running);
	cr_assert(!s.asked);
	cr_expect(!on_demand_take(&s));
	for (int i = 0; i < 4; i++) {
		scrape_request_unref(r[i]);
		scrape_request_unref(r[i]);
	}
	mutex_destroy(&s.mu);
}

Test(on_demand, four_callers_may_wait_and_a_stop_ends_them)
{
	struct stage t;
	struct wish w[4];
	struct wish fifth;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	for (int i = 0; i < 4; i++) {
		w[i] = wish_for(&t, "a:1", -1);
		start_wish(&w[i]);
	}
	wait_for_asking(&t, 4);
	fifth = wish_for(&t, "a:1", -1);
	start_wish(&fifth);
	cr_expect(end_wish(&fifth) == ERR_LIMIT, "%s", fifth.err.msg);
	cr_expect(strstr(fifth.err.msg, "4") != NULL);
	/*
	 * One request has begun. It keeps the target busy, so the other three
	 * have not begun.
	 */
	cr_assert(has_begun(1));
	on_demand_end(t.s, begun_at(0).ask, 0, NULL, START);
	wait_for_asking(&t, 3);
	scrape_stop(t.s);
	cr_assert(t.s->asking == 0);
	cr_expect(!t.s->asked);
	for (int i = 0; i < 4; i++) {
		end_wish(&w[i]);
		labels_unref(w[i].labels);
	}
	cr_expect((!w[0].rc) + (!w[1].rc) + (!w[2].rc) + (!w[3].rc) == 1);
	for (int i = 0; i < 4; i++)
		cr_expect(!w[i].rc || w[i].rc == ERR_CLOSED, "%d", w[i].rc);
	stage_end(&t);
}

/* The gauge of targets. */

static int64_t targets_of(struct stage *t, const char *job, const char *health)
{
	return metric_get(
		metrics_gauge(t->metrics, "everprof_targets", "",
			      &(struct metric_labels){ { "job", "health" },
						       { job, health } }));
}

static bool has_targets(struct stage *t, const char *job, int64_t unknown,
			int64_t up, int64_t down)
{
	return targets_of(t, job, "unknown") == unknown &&
	       targets_of(t, job, "up") == up &&
	       targets_of(t, job, "down") == down;
}

Test(on_demand, targets_are_counted_by_job_and_health)
{
	struct stage t;

	scrape_update_metrics(NULL);
	stage_begin(&t, START);
	scrape_update_metrics(t.s);
	stage_apply(&t, HEAP_JOB("a", "", "['a:1', 'a:2', 'a:3']") HEAP_JOB(
				"b", "", "['b:1']") HEAP_JOB("none", "", "[]")
				HEAP_JOB("over", "  target_limit: 1\n",
					 "['c:1', 'c:2']"));
	scrape_update_metrics(t.s);
	cr_expect(has_targets(&t, "a", 3, 0, 0));
	cr_expect(has_targets(&t, "b", 1, 0, 0));
	cr_expect(has_targets(&t, "none", 0, 0, 0));
	cr_expect(has_targets(&t, "over", 0, 0, 2), "refused ones are down");
	mutex_lock(&t.s->mu);
	t.s->pools[0]->set->v[0].target->health = TARGET_UP;
	t.s->pools[0]->set->v[1].target->health = TARGET_DOWN;
	mutex_unlock(&t.s->mu);
	cr_expect(has_targets(&t, "a", 3, 0, 0), "not before the update");
	scrape_update_metrics(t.s);
	cr_expect(has_targets(&t, "a", 1, 1, 1));
	/* A job that a reload removed has no targets. It may come back. */
	stage_apply(&t, HEAP_JOB("b", "", "['b:1', 'b:2']"));
	scrape_update_metrics(t.s);
	cr_expect(has_targets(&t, "a", 0, 0, 0));
	cr_expect(has_targets(&t, "over", 0, 0, 0));
	cr_expect(has_targets(&t, "b", 2, 0, 0));
	stage_apply(&t, HEAP_JOB("a", "", "['a:1']"));
	scrape_update_metrics(t.s);
	cr_assert(has_targets(&t, "a", 1, 0, 0));
	cr_expect(has_targets(&t, "b", 0, 0, 0));
	stage_end(&t);
}

Test(on_demand, healths_have_names)
{
	cr_expect(check_str(str_of(target_health_name(TARGET_UNKNOWN)),
			    "unknown"));
	cr_expect(check_str(str_of(target_health_name(TARGET_UP)), "up"));
	cr_expect(check_str(str_of(target_health_name(TARGET_DOWN)), "down"));
}

/* The bytes and the time that profile types take. */

/* Counts one scrape of a target of this type. */
static void add_cost(struct scraper *s, const char *type, bool is_index,
		     size_t bytes, int64_t took_ns)
{
	struct labels_builder b = { 0 };
	struct target t = { .spec = { .is_index = is_index } };

	labels_set(&b, str_of(LABEL_NAME), str_of(type));
	cr_assert(!labels_build(&b, &t.spec.labels, NULL));
	type_cost_add(s, &t, bytes, took_ns);
	labels_unref(t.spec.labels);
	labels_builder_fini(&b);
}

static int64_t bytes_of_type(struct metrics *m, const char *type)
{
	return metric_get(metrics_counter(
		m, "everprof_target_scraped_bytes_total", "",
		&(struct metric_labels){ { "type" }, { type } }));
}

Test(on_demand, costs_are_added_up_by_type)
{
	struct scraper s = { .o = { .metrics = metrics_new() } };
	struct buf text = { 0 };

	type_cost_init(&s);
	add_cost(&s, "heap", false, 100, 1500000000);
	add_cost(&s, "heap", false, 20, 500000000);
	add_cost(&s, "profile", false, 7, 10000000000);
	add_cost(&s, "heap", false, 0, 0);
	/* A profile list is not a profile type. It is counted as "other". */
	add_cost(&s, "index", true, 3, 1);
	metrics_write(s.o.metrics, &text);
	cr_expect(strstr(buf_cstr(&text),
			 "everprof_target_scraped_bytes_total{type=\"heap\"} "
			 "120\n") != NULL);
	cr_expect(strstr(buf_cstr(&text),
			 "everprof_target_scrape_seconds_total{type=\"heap\"} "
			 "2\n") != NULL,
		  "%s", buf_cstr(&text));
	cr_expect(strstr(buf_cstr(&text),
			 "everprof_target_scrape_seconds_total{type="
			 "\"profile\"} 10\n") != NULL);
	cr_expect(!strstr(buf_cstr(&text), "type=\"index\""));
	cr_expect(bytes_of_type(s.o.metrics, "other") == 3);
	buf_fini(&text);
	type_cost_free(&s);
	metrics_free(s.o.metrics);
}

Test(on_demand, types_without_end_take_no_memory)
{
	struct scraper s = { .o = { .metrics = metrics_new() } };
	char type[20];

	type_cost_init(&s);
	for (int i = 0; i < 100; i++) {
		snprintf(type, sizeof(type), "t%d", i);
		add_cost(&s, type, false, 1, 1);
	}
	/* 31 types have their own counters, beside "other". */
	cr_expect(s.costs.count == 32);
	cr_expect(bytes_of_type(s.o.metrics, "other") == 69);
	/* The types that were first keep their own counters. */
	add_cost(&s, "t30", false, 5, 1);
	cr_expect(bytes_of_type(s.o.metrics, "t30") == 6);
	add_cost(&s, "t31", false, 5, 1);
	cr_expect(bytes_of_type(s.o.metrics, "other") == 74);
	add_cost(&s, "other", false, 1, 1);
	cr_expect(bytes_of_type(s.o.metrics, "other") == 75);
	type_cost_free(&s);
	metrics_free(s.o.metrics);
}

/* Limits that end the second time that they are asked. */
static int refuse_second(void *ctx, size_t bytes UNUSED, struct err *err)
{
	return (*(int *)ctx)++ ?
		       err_set(err, ERR_CLOSED, "the client has gone") :
		       0;
}

Test(on_demand, the_wait_for_the_profile_asks_its_limits)
{
	struct stage t;
	int asked = 0;
	struct scrape_now_options o = { .seconds = -1,
					.deadline_ns = clock_mono_ns() +
						       3600000000000LL,
					.limits = { refuse_second, &asked } };
	struct labels *labels = NULL;
	int64_t ms;
	struct err err;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	cr_expect(scrape_now(t.s, &o, &labels, &ms, &err) == ERR_CLOSED, "%s",
		  err.msg);
	cr_assert(asked == 2);
	cr_expect(!labels);
	cr_assert(has_begun(1));
	on_demand_end(t.s, begun_at(0).ask, 0, NULL, START);
	stage_end(&t);
}

/* Limits that permit nothing. */
static int refuse_all(void *ctx UNUSED, size_t bytes UNUSED, struct err *err)
{
	return err_set(err, ERR_TIMEOUT, "late");
}

Test(on_demand, the_search_for_the_target_asks_its_limits)
{
	struct stage t;
	struct matcher m = { .op = MATCH_RE, .name = str_of("instance") };
	struct scrape_now_options o = { .matchers = &m,
					.count = 1,
					.limits = { refuse_all, NULL } };
	struct labels *labels = NULL;
	int64_t ms;
	struct err err;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1', 'b:1']"));
	cr_assert(!regex_new(str_of("x.*y"), &m.regex, NULL));
	cr_expect(scrape_now(t.s, &o, &labels, &ms, &err) == ERR_TIMEOUT, "%s",
		  err.msg);
	o.limits = (struct limits){ 0 };
	cr_expect(scrape_now(t.s, &o, &labels, &ms, &err) == ERR_NOTFOUND);
	regex_free(m.regex);
	stage_end(&t);
}
