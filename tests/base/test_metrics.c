/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as Prometheus reads them: families, children, escaping, histograms.
 */
#include <pthread.h>

#include "base/metrics.h"
#include "tests/check.h"

TestSuite(metrics, .timeout = 30);

#define LABELS(...) (&(const struct metric_labels){ __VA_ARGS__ })

/* Whether the exposition is exactly this text. */
static bool exposes(struct metrics *m, const char *want)
{
	struct buf out = { 0 };
	bool ok;

	metrics_write(m, &out);
	ok = check_str(str_from(buf_bytes(&out)), want);
	buf_fini(&out);
	return ok;
}

/* Whether the exposition has this text somewhere. */
static bool has_text(struct metrics *m, const char *want)
{
	struct buf out = { 0 };
	bool ok;

	metrics_write(m, &out);
	ok = strstr(buf_cstr(&out), want) != NULL;
	if (!ok)
		fprintf(stderr, "no %s in\n%s", want, buf_cstr(&out));
	buf_fini(&out);
	return ok;
}

Test(metrics, an_empty_registry_writes_nothing)
{
	struct metrics *m = metrics_new();

	cr_expect(exposes(m, ""));
	metrics_free(m);
	metrics_free(NULL);
}

Test(metrics, families_are_sorted_by_name_and_have_one_head)
{
	struct metrics *m = metrics_new();

	metric_set(metrics_gauge(m, "b", "B.", NULL), -5);
	metric_add(
		metrics_counter(m, "c_total", "C.", LABELS({ "x" }, { "1" })),
		2);
	metrics_counter(m, "a_total", "A.", NULL);
	metric_add(metrics_counter(m, "c_total", "C.",
				   LABELS({ "x", "y" }, { "1", "2" })),
		   3);
	metric_add(metrics_counter(m, "c_total", "C.", NULL), 4);
	cr_expect(exposes(m, "# HELP a_total A.\n"
			     "# TYPE a_total counter\n"
			     "a_total 0\n"
			     "# HELP b B.\n"
			     "# TYPE b gauge\n"
			     "b -5\n"
			     "# HELP c_total C.\n"
			     "# TYPE c_total counter\n"
			     "c_total{x=\"1\"} 2\n"
			     "c_total{x=\"1\",y=\"2\"} 3\n"
			     "c_total 4\n"));
	metrics_free(m);
}

Test(metrics, the_same_labels_are_the_same_child)
{
	struct metrics *m = metrics_new();
	char value[] = "one";
	struct metric *a =
		metrics_counter(m, "n", "N.", LABELS({ "x" }, { value }));
	struct metric *b;

	value[0] = 'O'; /* the value was copied */
	b = metrics_counter(m, "n", "other", LABELS({ "x" }, { "one" }));
	cr_expect(a == b);
	cr_expect(metrics_counter(m, "n", "N.", LABELS({ "x" }, { "two" })) !=
		  a);
	cr_expect(metrics_counter(m, "n", "N.", LABELS({ "y" }, { "one" })) !=
		  a);
	cr_expect(metrics_counter(m, "n", "N.", NULL) != a);
	cr_expect(metrics_counter(m, "n", "N.",
				  LABELS({ "x", "y" }, { "one", "" })) != a);
	cr_expect(metrics_counter(m, "n", "N.", NULL) ==
		  metrics_counter(m, "n", "N.", LABELS({ NULL }, { NULL })));
	metric_add(a, 5);
	metric_add(a, -2);
	cr_expect(metric_get(b) == 3);
	metric_set(b, INT64_MIN);
	cr_expect(has_text(m, "# HELP n N.\n"), "the first help counts");
	cr_expect(has_text(m, "n{x=\"one\"} -9223372036854775808\n"));
	metrics_free(m);
}

Test(metrics, label_values_are_escaped)
{
	static const struct {
		const char *value;
		const char *want;
	} cases[] = {
		{ "", "{x=\"\"} " },
		{ "a\\b", "{x=\"a\\\\b\"} " },
		{ "\"q\"", "{x=\"\\\"q\\\"\"} " },
		{ "two\nlines", "{x=\"two\\nlines\"} " },
		{ "\\n", "{x=\"\\\\n\"} " },
		{ "a{b}=,\tc", "{x=\"a{b}=,\tc\"} " },
		{ "caf\xc3\xa9", "{x=\"caf\xc3\xa9\"} " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct metrics *m = metrics_new();

		metrics_gauge(m, "n", "N.",
			      LABELS({ "x" }, { cases[i].value }));
		cr_expect(has_text(m, cases[i].want));
		metrics_free(m);
	}
}

Test(metrics, scaled_values_are_shown_in_their_unit)
{
	struct metrics *m = metrics_new();
	struct metric *ns = metrics_counter(m, "cpu_seconds_total", "C.", NULL);
	struct metric *raw = metrics_counter(m, "raw_total", "R.", NULL);

	metrics_scale(m, "cpu_seconds_total", 1e-9);
	metrics_scale(m, "no_such_family", 5);
	cr_expect(has_text(m, "\ncpu_seconds_total 0\n"));
	metric_add(ns, 1500000000);
	metric_add(raw, 1500000000);
	cr_expect(has_text(m, "\ncpu_seconds_total 1.5\n"));
	cr_expect(has_text(m, "\nraw_total 1500000000\n"));
	metric_add(ns, 1);
	cr_expect(has_text(m, "\ncpu_seconds_total 1.5\n"), "nine digits");
	metrics_free(m);
}

#define MS 1000000LL

Test(metrics, an_observation_counts_in_every_bucket_above_it)
{
	static const struct {
		int64_t ns;
		const char *below; /* the last bucket that does not count it */
		const char *above; /* the first one that does */
	} cases[] = {
		{ 0, NULL, "0.001" },
		{ 1 * MS, NULL, "0.001" },
		{ 1 * MS + 1, "0.001", "0.002" },
		{ 3 * MS, "0.002", "0.005" },
		{ 25 * MS, "0.01", "0.025" },
		{ 999 * MS, "0.5", "1" },
		{ 2500 * MS, "1", "2.5" },
		{ 60000 * MS, "30", "60" },
		{ 60000 * MS + 1, "60", "+Inf" },
		{ INT64_MAX, "60", "+Inf" },
		{ -5, NULL, "0.001" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct metrics *m = metrics_new();
		char want[64];

		histogram_observe(metrics_histogram(m, "h", "H.", NULL),
				  cases[i].ns);
		snprintf(want, sizeof(want), "h_bucket{le=\"%s\"} 1\n",
			 cases[i].above);
		cr_expect(has_text(m, want));
		snprintf(want, sizeof(want), "h_bucket{le=\"%s\"} 0\n",
			 cases[i].below ? cases[i].below : "");
		cr_expect(!cases[i].below || has_text(m, want));
		cr_expect(has_text(m, "h_bucket{le=\"+Inf\"} 1\n"));
		cr_expect(has_text(m, "h_count 1\n"));
		metrics_free(m);
	}
}

Test(metrics, a_histogram_is_cumulative_and_ends_with_sum_and_count)
{
	struct metrics *m = metrics_new();
	struct histogram *h =
		metrics_histogram(m, "h", "H.", LABELS({ "x" }, { "1" }));

	cr_expect(metrics_histogram(m, "h", "H.", LABELS({ "x" }, { "1" })) ==
		  h);
	histogram_observe(h, 1500 * MS);
	histogram_observe(h, 4 * MS);
	histogram_observe(h, 4 * MS);
	histogram_observe(h, 120000 * MS);
	histogram_observe(metrics_histogram(m, "h", "H.", NULL), 40000 * MS);
	cr_expect(exposes(m, "# HELP h H.\n"
			     "# TYPE h histogram\n"
			     "h_bucket{x=\"1\",le=\"0.001\"} 0\n"
			     "h_bucket{x=\"1\",le=\"0.002\"} 0\n"
			     "h_bucket{x=\"1\",le=\"0.005\"} 2\n"
			     "h_bucket{x=\"1\",le=\"0.01\"} 2\n"
			     "h_bucket{x=\"1\",le=\"0.025\"} 2\n"
			     "h_bucket{x=\"1\",le=\"0.05\"} 2\n"
			     "h_bucket{x=\"1\",le=\"0.1\"} 2\n"
			     "h_bucket{x=\"1\",le=\"0.25\"} 2\n"
			     "h_bucket{x=\"1\",le=\"0.5\"} 2\n"
			     "h_bucket{x=\"1\",le=\"1\"} 2\n"
			     "h_bucket{x=\"1\",le=\"2.5\"} 3\n"
			     "h_bucket{x=\"1\",le=\"5\"} 3\n"
			     "h_bucket{x=\"1\",le=\"10\"} 3\n"
			     "h_bucket{x=\"1\",le=\"30\"} 3\n"
			     "h_bucket{x=\"1\",le=\"60\"} 3\n"
			     "h_bucket{x=\"1\",le=\"+Inf\"} 4\n"
			     "h_sum{x=\"1\"} 121.508\n"
			     "h_count{x=\"1\"} 4\n"
			     "h_bucket{le=\"0.001\"} 0\n"
			     "h_bucket{le=\"0.002\"} 0\n"
			     "h_bucket{le=\"0.005\"} 0\n"
			     "h_bucket{le=\"0.01\"} 0\n"
			     "h_bucket{le=\"0.025\"} 0\n"
			     "h_bucket{le=\"0.05\"} 0\n"
			     "h_bucket{le=\"0.1\"} 0\n"
			     "h_bucket{le=\"0.25\"} 0\n"
			     "h_bucket{le=\"0.5\"} 0\n"
			     "h_bucket{le=\"1\"} 0\n"
			     "h_bucket{le=\"2.5\"} 0\n"
			     "h_bucket{le=\"5\"} 0\n"
			     "h_bucket{le=\"10\"} 0\n"
			     "h_bucket{le=\"30\"} 0\n"
			     "h_bucket{le=\"60\"} 1\n"
			     "h_bucket{le=\"+Inf\"} 1\n"
			     "h_sum 40\n"
			     "h_count 1\n"));
	metrics_free(m);
}

/* Counts and observes 1000 times. Several threads run this at the same time. */
static void *count_many(void *registry)
{
	struct metrics *m = registry;

	for (int i = 0; i < 1000; i++) {
		metric_add(metrics_counter(m, "n_total", "N.", NULL), 1);
		histogram_observe(metrics_histogram(m, "h", "H.", NULL), MS);
	}
	return NULL;
}

Test(metrics, threads_lose_no_counts)
{
	struct metrics *m = metrics_new();
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		cr_assert(!pthread_create(&threads[i], NULL, count_many, m));
	for (int i = 0; i < 20; i++)
		cr_expect(has_text(m, ""));
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	cr_expect(has_text(m, "\nn_total 4000\n"));
	cr_expect(has_text(m, "\nh_count 4000\n"));
	cr_expect(has_text(m, "\nh_sum 4\n"));
	metrics_free(m);
}
