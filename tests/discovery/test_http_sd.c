/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP discovery: what is asked for, and what is made of each answer. The HTTP
 * client is a stand-in, so nothing goes over a network.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/http/http_sd.h"
#include "tests/check.h"

TestSuite(http_sd, .timeout = 20);

/* The request that the stand-in was given last. */
static struct {
	int started;
	int cancelled;
	char url[200];
	char accept[100];
	char interval[100];
	char user_agent[50];
	int64_t timeout_ms;
	size_t max_body;
	struct http_config *config;
	http_done_fn done;
	void *ctx;
} sent;

void transfer_start(struct http_client *c, const struct http_request *r)
{
	(void)c;
	sent.started++;
	snprintf(sent.url, sizeof(sent.url), "%s", r->url);
	snprintf(sent.user_agent, sizeof(sent.user_agent), "%s", r->user_agent);
	snprintf(sent.accept, sizeof(sent.accept), "%s", r->headers[0]);
	snprintf(sent.interval, sizeof(sent.interval), "%s", r->headers[1]);
	cr_assert(!r->headers[2]);
	cr_assert(!r->post);
	cr_expect(!r->sink);
	sent.timeout_ms = r->timeout_ms;
	sent.max_body = r->max_body;
	sent.config = r->config;
	sent.done = r->done;
	sent.ctx = r->ctx;
}

void http_cancel(struct http_client *c, const void *ctx)
{
	(void)c;
	cr_expect(ctx == sent.ctx || !sent.ctx);
	sent.cancelled++;
}

/* A provider, and a log that can be read. */
struct source {
	struct provider p;
	struct http_sd_config config;
	struct metrics *metrics;
	struct log log;
};

static void open_source(struct source *s, const char *url, int64_t refresh_ms)
{
	memset(&sent, 0, sizeof(sent));
	*s = (struct source){ .metrics = metrics_new() };
	s->log = (struct log){ .fd = memfd_create("log", 0),
			       .level = LOG_DEBUG };
	s->config = (struct http_sd_config){ .base.refresh_ms = refresh_ms,
					     .url = str_of(url) };
	http_options_init(&s->config.base.http);
	s->p.kind = &provider_http;
	s->p.config = &s->config.base;
	s->p.user_agent = "everprof/test";
	s->p.log = &s->log;
	s->p.failures = metrics_counter(s->metrics, "failures", "", NULL);
	s->p.data = provider_http.open(&s->p);
}

static void close_source(struct source *s)
{
	provider_http.close(&s->p);
	target_groups_list_fini(&s->p.found);
	metrics_free(s->metrics);
	close(s->log.fd);
}

/* Answers the request that is in flight. */
static void answer(long status, const char *type, const char *body)
{
	struct http_response r = { .status = status,
				   .content_type = type,
				   .location = "" };

	buf_str(&r.body, body);
	sent.done(sent.ctx, &r);
	buf_fini(&r.body);
}

static void fail(int code)
{
	struct http_response r = { .code = code,
				   .content_type = "",
				   .location = "" };

	err_set(&r.err, code, "it failed");
	sent.done(sent.ctx, &r);
}

/* Whether the provider reports these addresses, each followed by a space. */
static bool has_found(const struct source *s, const char *want)
{
	struct buf text = { 0 };
	bool ok;

	for (size_t i = 0; i < s->p.found.count; i++) {
		const struct target_groups *l = s->p.found.v[i];

		for (size_t k = 0; k < l->count; k++) {
			for (size_t t = 0; t < l->v[k].target_count; t++)
				buf_printf(
					&text, "%.*s ",
					STR_ARG(l->v[k].targets[t].v[0].value));
		}
	}
	ok = check_str(str_from(buf_bytes(&text)), want);
	buf_fini(&text);
	return ok;
}

static char *read_log(const struct source *s)
{
	char *text = mem_zalloc(10000, 1);

	cr_assert(pread(s->log.fd, text, 9999, 0) >= 0);
	return text;
}

#define JSON "application/json"

Test(http_sd, the_request_is_that_of_prometheus)
{
	static const struct {
		int64_t refresh_ms;
		const char *interval;
	} cases[] = {
		{ 60000, "X-Prometheus-Refresh-Interval-Seconds: 60" },
		{ 100, "X-Prometheus-Refresh-Interval-Seconds: 0.1" },
		{ 86400000, "X-Prometheus-Refresh-Interval-Seconds: 86400" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source s;

		open_source(&s, "http://u:p@h/x?token=t", cases[i].refresh_ms);
		provider_http.refresh(&s.p);
		cr_assert(sent.started == 1);
		cr_expect(
			check_str(str_of(sent.url), "http://u:p@h/x?token=t"));
		cr_expect(check_str(str_of(sent.accept),
				    "Accept: application/json"));
		cr_expect(check_str(str_of(sent.interval), cases[i].interval));
		cr_expect(check_str(str_of(sent.user_agent), "everprof/test"));
		cr_expect(sent.timeout_ms == cases[i].refresh_ms);
		cr_assert(sent.max_body == YAML_TEXT_MAX);
		cr_expect(sent.config);
		close_source(&s);
		cr_expect(sent.cancelled == 1);
	}
}

Test(http_sd, one_request_at_a_time)
{
	struct source s;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	provider_http.refresh(&s.p);
	cr_expect(sent.started == 1);
	answer(200, JSON, "[]");
	provider_http.refresh(&s.p);
	cr_expect(sent.started == 2);
	fail(ERR_TIMEOUT);
	provider_http.refresh(&s.p);
	cr_expect(sent.started == 3, "a failure ends it too");
	close_source(&s);
}

Test(http_sd, groups_are_taken_from_json)
{
	struct source s;
	const struct target_group *g;

	open_source(&s, "http://u:hidden@h/x?token=secret", 1000);
	provider_http.refresh(&s.p);
	answer(200, JSON,
	       "[{\"targets\": [\"a:1\", \"b:2\"], \"labels\": {\"k\": "
	       "\"v\"}}, {\"targets\": []}]");
	cr_assert(s.p.asked);
	cr_assert(s.p.changed);
	cr_expect(s.p.found.count == 1);
	cr_expect(has_found(&s, "a:1 b:2 "));
	g = &s.p.found.v[0]->v[0];
	cr_assert(g->labels.count == 2);
	cr_expect(check_str(g->labels.v[1].name, "__meta_url"));
	cr_expect(check_str(g->labels.v[1].value, "http://h/x?token=secret"));
	cr_expect(metric_get(s.p.failures) == 0);
	close_source(&s);
}

Test(http_sd, keys_are_read_as_go_reads_them)
{
	struct source s;
	const struct target_group *g;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	answer(200, JSON,
	       "[{\"Targets\": [\"a:1\"], \"LABELS\": {\"k\": \"1\", \"k\": "
	       "\"2\", \"__meta_url\": \"x\"}}, {\"targets\": null}]");
	cr_expect(has_found(&s, "a:1 "));
	g = &s.p.found.v[0]->v[0];
	cr_assert(g->labels.count == 2);
	cr_expect(check_str(g->labels.v[0].value, "2"), "the last one");
	/* A group cannot forge its source. */
	cr_expect(check_str(g->labels.v[1].name, "__meta_url"));
	cr_expect(check_str(g->labels.v[1].value, "http://h/"));
	/* A second list replaces the first one. */
	provider_http.refresh(&s.p);
	answer(200, JSON,
	       "[{\"targets\": [\"a:1\", \"b:1\", \"c:1\"], \"Targets\": "
	       "[\"d:1\"], \"labels\": {\"a\": \"1\", \"b\": \"2\", \"c\": "
	       "\"3\"}, \"Labels\": {\"k\": \"v\"}}]");
	cr_expect(has_found(&s, "d:1 "));
	g = &s.p.found.v[0]->v[0];
	cr_assert(g->labels.count == 2);
	cr_expect(check_str(g->labels.v[0].name, "k"));
	close_source(&s);
}

Test(http_sd, an_empty_list_takes_targets_away)
{
	struct source s;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	answer(200, JSON, "[{\"targets\": [\"a:1\"]}]");
	cr_expect(has_found(&s, "a:1 "));
	provider_http.refresh(&s.p);
	answer(200, JSON, "[]");
	cr_assert(has_found(&s, ""));
	cr_expect(metric_get(s.p.failures) == 0);
	provider_http.refresh(&s.p);
	answer(200, JSON, "[{\"targets\": [\"b:1\"]}]");
	cr_expect(has_found(&s, "b:1 "));
	/* Programs in Go write null for a list without elements. */
	provider_http.refresh(&s.p);
	answer(200, JSON, "null");
	cr_assert(has_found(&s, ""));
	cr_expect(metric_get(s.p.failures) == 0);
	close_source(&s);
}

Test(http_sd, the_same_body_is_no_news)
{
	static const char body[] = "[{\"targets\": [\"a:1\"]}]";
	struct source s;
	const struct target_groups *first;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	answer(200, JSON, body);
	first = s.p.found.v[0];
	s.p.changed = false;
	provider_http.refresh(&s.p);
	answer(200, JSON, body);
	cr_assert(!s.p.changed);
	cr_expect(s.p.found.v[0] == first);
	/* The same body after a failure is no change either. */
	provider_http.refresh(&s.p);
	answer(500, JSON, body);
	provider_http.refresh(&s.p);
	answer(200, JSON, body);
	cr_assert(!s.p.changed);
	cr_expect(s.p.found.v[0] == first);
	provider_http.refresh(&s.p);
	answer(200, JSON, "[{\"targets\": [\"a:2\"]}]");
	cr_assert(s.p.changed);
	cr_expect(has_found(&s, "a:2 "));
	close_source(&s);
}

Test(http_sd, content_types_are_those_of_json)
{
	static const struct {
		const char *type;
		bool good;
	} cases[] = {
		{ "application/json", true },
		{ "Application/JSON", true },
		{ "application/json; charset=utf-8", true },
		{ "application/json;charset=utf-8", true },
		{ "application/json ;charset=utf-8", true },
		{ "application/jsonx", false },
		{ "application/json+x", false },
		{ "application/js", false },
		{ "text/json", false },
		{ "text/plain", false },
		{ " application/json", false },
		{ "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct source s;

		open_source(&s, "http://h/", 1000);
		provider_http.refresh(&s.p);
		answer(200, cases[i].type, "[{\"targets\": [\"a:1\"]}]");
		cr_expect(has_found(&s, cases[i].good ? "a:1 " : ""), "\"%s\"",
			  cases[i].type);
		cr_expect(metric_get(s.p.failures) == !cases[i].good, "\"%s\"",
			  cases[i].type);
		close_source(&s);
	}
}

Test(http_sd, whatever_else_is_answered_changes_nothing)
{
	static const struct {
		long status;
		const char *body;
	} cases[] = {
		{ 204, "" },
		{ 302, "[]" },
		{ 404, "[]" },
		{ 503, "[]" },
		{ 200, "" },
		{ 200, "{}" },
		{ 200, "[" },
		{ 200, "[1]" },
		{ 200, "- targets: ['b:1']" },
		{ 200, "[{\"targets\": [1, 2]}] x" },
		{ 200, "[{\"targets\": \"b:1\"}]" },
		{ 200, "[{\"target\": [\"b:1\"]}]" },
		{ 200, "[{\"targets\": [\"b:1\"], \"labels\": "
		       "{\"__tenant__\": \"x\"}}]" },
		{ 200, "[{\"targets\": [\"b:\\u0000\"]}]" },
		{ 200, "\xff\xfe" },
	};
	struct source s;
	int64_t failures = 0;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	answer(200, JSON, "[{\"targets\": [\"a:1\"]}]");
	s.p.changed = false;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		provider_http.refresh(&s.p);
		answer(cases[i].status, JSON, cases[i].body);
		cr_assert(has_found(&s, "a:1 "), "%ld %s", cases[i].status,
			  cases[i].body);
		cr_expect(!s.p.changed, "%ld %s", cases[i].status,
			  cases[i].body);
		cr_expect(metric_get(s.p.failures) == ++failures, "%ld %s",
			  cases[i].status, cases[i].body);
	}
	close_source(&s);
}

Test(http_sd, a_first_failure_completes_the_job_without_it)
{
	struct source s;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	cr_assert(!s.p.asked);
	cr_expect(!s.p.changed);
	fail(ERR_TIMEOUT);
	cr_assert(s.p.asked);
	cr_assert(s.p.changed);
	cr_expect(!s.p.found.count);
	s.p.changed = false;
	provider_http.refresh(&s.p);
	fail(ERR_TIMEOUT);
	cr_expect(!s.p.changed, "later ones are no news");
	cr_expect(metric_get(s.p.failures) == 2);
	/* The first body counts as a change, whatever its hash is. */
	provider_http.refresh(&s.p);
	answer(200, JSON, "[]");
	cr_assert(s.p.changed);
	cr_expect(s.p.found.count == 1);
	close_source(&s);
}

Test(http_sd, a_request_that_is_withdrawn_is_no_failure)
{
	struct source s;

	open_source(&s, "http://h/", 1000);
	provider_http.refresh(&s.p);
	fail(ERR_CLOSED);
	cr_assert(metric_get(s.p.failures) == 0);
	cr_expect(!s.p.asked);
	close_source(&s);
}

Test(http_sd, logs_have_neither_passwords_nor_queries)
{
	struct source s;
	char *log;

	open_source(&s, "http://u:hidden@h.example/x?token=hidden", 1000);
	provider_http.refresh(&s.p);
	answer(200, JSON, "[{\"targets\": [\"a:1\"]}]");
	provider_http.refresh(&s.p);
	answer(200, JSON, "[");
	provider_http.refresh(&s.p);
	answer(500, JSON, "");
	log = read_log(&s);
	cr_expect(strstr(log, "http://h.example/x?…") != NULL, "%s", log);
	cr_expect(strstr(log, "targets=1") != NULL, "%s", log);
	cr_expect(!strstr(log, "hidden"), "%s", log);
	mem_free(log);
	close_source(&s);
}
