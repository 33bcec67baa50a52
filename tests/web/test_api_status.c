/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the status of server and targets, and of profiles taken on demand.
 */
#include <limits.h>

#include "tests/web/site.h"
#include "web/api/api.h"
#include "web/pages/page.h"
#include "web/web.h"

TestSuite(api_status, .timeout = 60);

#define DATA(json) "{\"status\":\"success\",\"data\":" json "}"

static void write_config(void *ctx, struct buf *out)
{
	buf_str(out, ctx);
}

Test(api_status, the_configuration_is_a_text_in_json)
{
	static char yaml[] = "a: \"b\"\n\t- \\x\n";
	struct site *f = site_start();

	f->web.o.lifecycle.config = write_config;
	f->web.o.lifecycle.ctx = yaml;
	call_check(f, api_status_config, "", 200,
		   DATA("{\"yaml\":\"a: \\\"b\\\"\\n\\t- \\\\x\\n\"}"));
	yaml[0] = 0;
	call_check(f, api_status_config, "", 200, DATA("{\"yaml\":\"\"}"));
	site_stop(f);
}

Test(api_status, flags_are_listed_as_they_are)
{
	static const struct web_flag flags[] = {
		{ "web.rate-limit", "1000" },
		{ "storage.path", "a \"b\"" },
		{ "web.config.file", "" },
	};
	struct site *f = site_start();

	call_check(f, api_status_flags, "", 200, DATA("{}"));
	f->web.o.flags = flags;
	f->web.o.flag_count = ARRAY_SIZE(flags);
	call_check(f, api_status_flags, "", 200,
		   DATA("{\"web.rate-limit\":\"1000\",\"storage.path\":\"a "
			"\\\"b\\\"\",\"web.config.file\":\"\"}"));
	site_stop(f);
}

Test(api_status, the_build_has_its_version)
{
	struct site *f = site_start();

	call_check(f, api_status_buildinfo, "", 200,
		   "{\"status\":\"success\",\"data\":{\"version\":\"1.2.3\","
		   "\"revision\":\"abc\",\"compiler\":\"...");
	site_stop(f);
}

/* A configuration that was loaded, and whose last reload failed. */
static void broken_state(void *ctx UNUSED, struct web_config_state *out)
{
	out->loaded_ms = SITE_T0;
	(void)snprintf(out->error, sizeof(out->error), "line 3: no \"job\"");
}

Test(api_status, the_runtime_says_that_a_reload_failed)
{
	struct site *f = site_start();
	struct call c = { 0 };

	call_begin(f, &c, api_status_runtimeinfo, "");
	cr_expect(call_has(&c, "\"reloadConfigSuccess\":true"));
	cr_expect(call_has(&c, "\"reloadConfigError\":\"\""));
	call_end(&c);
	f->web.o.lifecycle.state = broken_state;
	call_begin(f, &c, api_status_runtimeinfo, "");
	cr_expect(call_has(&c, "\"reloadConfigSuccess\":false"));
	cr_expect(call_has(&c, "\"reloadConfigError\":\"line 3: no \\\"job"),
		  "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"lastConfigTime\":\"2023-11-14T22:13:20"));
	call_end(&c);
	site_stop(f);
}

Test(api_status, the_runtime_has_its_times)
{
	struct site *f = site_start();
	struct call c = { 0 };
	char cwd[PATH_MAX];

	f->web.started_ms = SITE_T0;
	f->web.o.retention_ms = 15LL * 24 * 3600 * 1000;
	call_begin(f, &c, api_status_runtimeinfo, "");
	cr_expect(call_has(&c, "\"startTime\":\"2023-11-14T22:13:20"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"serverTime\":\"2023-11-14T22:23:20"));
	cr_expect(call_has(&c, "\"storageRetention\":\"15d\"") ||
			  call_has(&c, "\"storageRetention\":\"2w1d\""),
		  "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"openQueriers\":0"));
	cr_assert(getcwd(cwd, sizeof(cwd)));
	cr_expect(call_has(&c, cwd));
	call_end(&c);
	f->web.started_ms = 0;
	call_begin(f, &c, api_status_runtimeinfo, "");
	cr_expect(call_has(&c, "\"startTime\":\"0001-01-01T00:00:00Z\""),
		  "as in Prometheus");
	call_end(&c);
	site_stop(f);
}

/* Returns the number behind a key of the JSON body, or -1 if there is none. */
static long long number_of(struct call *c, const char *key)
{
	CLEANUP(mem_freep) char *quoted = mem_printf("\"%s\":", key);
	const char *at = strstr(buf_cstr(&c->a.body), quoted);

	return at ? atoll(at + strlen(quoted)) : -1;
}

#define WINDOW_MS (2 * 3600 * 1000LL)

Test(api_status, storage_is_counted_in_heads_and_blocks)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_status_tsdb, "");
	cr_expect(c.a.status == 200);
	cr_expect(number_of(&c, "numSeries") == 3);
	cr_expect(number_of(&c, "numRanges") == 1);
	cr_expect(number_of(&c, "numUnflushedProfiles") == 5);
	/* The times are those of the head's window of two hours. */
	cr_expect(number_of(&c, "minTime") == SITE_T0 - SITE_T0 % WINDOW_MS);
	cr_expect(number_of(&c, "maxTime") ==
		  number_of(&c, "minTime") + WINDOW_MS);
	cr_expect(number_of(&c, "numBlocks") == 0);
	cr_expect(number_of(&c, "wal") > 0);
	call_end(&c);
	cr_assert(!tsdb_maintain(f->db, true, NULL));
	call_begin(f, &c, api_status_tsdb, "");
	cr_expect(number_of(&c, "numSeries") == 0);
	cr_expect(number_of(&c, "numUnflushedProfiles") == 0);
	cr_expect(number_of(&c, "numBlocks") == 1);
	cr_expect(number_of(&c, "numSamples") == 5);
	cr_expect(number_of(&c, "blocks") > 0);
	call_end(&c);
	site_stop(f);
}

Test(api_status, series_are_counted_by_type_label_and_value)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_status_tsdb, "limit=2");
	cr_expect(call_has(&c, "\"seriesCountByMetricName\":["
			       "{\"name\":\"cpu\",\"value\":2},"
			       "{\"name\":\"heap\",\"value\":1}]"),
		  "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"labelValueCountByLabelName\":["
			       "{\"name\":\"__name__\",\"value\":2},"
			       "{\"name\":\"job\",\"value\":2}]"));
	cr_expect(call_has(&c, "\"seriesCountByLabelValuePair\":["
			       "{\"name\":\"__name__=cpu\",\"value\":2},"
			       "{\"name\":\"job=app\",\"value\":2}]"));
	call_end(&c);
	call_begin(f, &c, api_status_tsdb, "limit=0");
	cr_expect(call_has(&c, "\"seriesCountByMetricName\":[]"));
	call_end(&c);
	call_check(f, api_status_tsdb, "limit=x", 400, NULL);
	f->web.memory.max = 100;
	call_check(f, api_status_tsdb, "", 429, NULL);
	site_stop(f);
}

/* A configuration: one target that is active, two that are dropped. */
#define OFF "{enabled: false}"
static const char jobs[] =
	"- job_name: app\n"
	"  scrape_interval: 12h\n"
	"  profiling_config:\n"
	"    pprof_config: {allocs: " OFF ", block: " OFF ", goroutine: " OFF
	", mutex: " OFF ", threadcreate: " OFF ", process_cpu: " OFF "}\n"
	"  static_configs:\n"
	"  - targets: ['127.0.0.1:1', '<b>&:2', 'gone:3']\n"
	"    labels: {env: '<i>'}\n"
	"  relabel_configs:\n"
	"  - {source_labels: [__address__], regex: '127.*', action: keep}\n";

/* The scraper's configuration, which lives as long as the site. */
struct targets {
	struct site *f;
	struct yaml y;
	struct scrape_configs configs;
};

/* Starts a site with the targets of a configuration. */
static void targets_start_with(struct targets *t, const char *config)
{
	struct scrape_common d = { .interval_ms = 15000, .timeout_ms = 5000 };

	*t = (struct targets){ .f = site_start() };
	yaml_parse(&t->y, "s.yml", bytes_of(str_of(config)));
	scrape_configs_decode(&t->y, t->y.root, &d, &t->configs);
	cr_assert(!t->y.error_count, "%s", buf_cstr(&t->y.errors));
	scrape_apply(t->f->scraper, &t->configs);
}

static void targets_start(struct targets *t)
{
	targets_start_with(t, jobs);
}

static void targets_stop(struct targets *t)
{
	site_stop(t->f);
	scrape_configs_fini(&t->configs);
	yaml_fini(&t->y);
}

Test(api_status, targets_are_active_or_dropped)
{
	static const struct {
		const char *query;
		bool active;
		bool dropped;
	} cases[] = {
		{ "", true, true },
		{ "state=any", true, true },
		{ "state=active", true, false },
		{ "state=dropped", false, true },
		{ "state=", true, true },
	};
	struct targets t;

	targets_start(&t);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };

		call_begin(t.f, &c, api_targets, cases[i].query);
		cr_expect(c.a.status == 200);
		cr_expect(call_has(&c, "\"activeTargets\":[]") !=
				  cases[i].active,
			  "%s: %s", cases[i].query, buf_cstr(&c.a.body));
		cr_expect(call_has(&c, "\"droppedTargets\":[]") !=
				  cases[i].dropped,
			  "%s", cases[i].query);
		cr_expect(call_has(&c, "\"droppedTargetCounts\":{}") !=
				  cases[i].dropped,
			  "%s", cases[i].query);
		call_end(&c);
	}
	targets_stop(&t);
}

Test(api_status, a_target_has_its_labels_url_and_schedule)
{
	static const char *const parts[] = {
		"\"scrapePool\":\"app\"",
		"\"instance\":\"127.0.0.1:1\"",
		"\"env\":\"<i>\"",
		"\"__address__\":\"127.0.0.1:1\"",
		"\"scrapeInterval\":\"12h\"",
		"\"health\":\"unknown\"",
		"\"lastScrape\":\"0001-01-01T00:00:00Z\"",
		"\"lastError\":\"\"",
		"\"__address__\":\"gone:3\"",
		"\"reason\":\"",
		"\"__address__\":\"<b>&:2\"",
		"\"droppedTargetCounts\":{\"app\":",
	};
	struct targets t;
	struct call c = { 0 };

	targets_start(&t);
	call_begin(t.f, &c, api_targets, "");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		cr_expect(call_has(&c, parts[i]), "%s in %s", parts[i],
			  buf_cstr(&c.a.body));
	call_end(&c);
	targets_stop(&t);
}

/* Two service discoveries, of which the second fails. */
static void show_discoveries(void *ctx UNUSED,
			     void (*fn)(void *arg,
					const struct web_discovery *d),
			     void *arg)
{
	static const struct web_discovery v[] = {
		{ .job = { "app", 3 },
		  .name = "dns",
		  .line = 4,
		  .is_waiting = true },
		{ .name = "cri",
		  .line = 9,
		  .targets = 2,
		  .source = "/run/x",
		  .error = "<refused>",
		  .failed_ms = 1000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		fn(arg, &v[i]);
}

Test(api_status, service_discoveries_are_shown_with_their_failures)
{
	struct site *f = site_start();
	struct call c = { 0 };

	f->web.o.discoveries.each = show_discoveries;
	call_begin(f, &c, api_targets, "");
	cr_expect(call_has(
		&c, "\"discoveries\":["
		    "{\"scrapePool\":\"app\",\"discovery\":\"dns_sd_configs\","
		    "\"configLine\":4,\"targets\":0,\"health\":\"unknown\","
		    "\"source\":\"\",\"lastError\":\"\","
		    "\"lastErrorTime\":\"0001-01-01T00:00:00Z\"},"
		    "{\"scrapePool\":\"\",\"discovery\":\"cri_sd_configs\","
		    "\"configLine\":9,\"targets\":2,\"health\":\"down\","
		    "\"source\":\"/run/x\",\"lastError\":\"<refused>\","
		    "\"lastErrorTime\":\"1970-01-01T00:00:01"));
	call_end(&c);
	call_begin(f, &c, page_targets, "");
	cr_expect(call_has(&c, "Failing service discoveries"));
	cr_expect(call_has(&c, "section ebpf<td>cri_sd_configs, line 9"));
	cr_assert(call_has(&c, "&lt;refused&gt;"));
	cr_expect(!call_has(&c, "dns_sd"));
	call_end(&c);
	site_stop(f);
}

Test(api_status, memory_for_lists_of_targets_is_taken_as_they_grow)
{
	static const handler_fn fns[] = { api_targets, page_targets };
	struct buf config = { 0 };
	struct targets t;

	buf_str(&config, "- job_name: app\n"
			 "  scrape_interval: 12h\n"
			 "  static_configs:\n"
			 "  - targets:\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(&config, "    - 'gone:%d'\n", i);
	buf_str(&config,
		"  relabel_configs:\n"
		"  - {source_labels: [__address__], regex: 'a', action: keep}\n");
	targets_start_with(&t, buf_cstr(&config));
	/* Other queries use nearly all memory. */
	cr_assert(!budget_take(&t.f->web.memory, SITE_MEMORY - 4 * KIB, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		struct call c = { 0 };

		call_begin(t.f, &c, fns[i], "");
		cr_expect(c.a.status == 429, "%zu: %d", i, c.a.status);
		call_end(&c);
	}
	budget_give(&t.f->web.memory, SITE_MEMORY - 4 * KIB);
	targets_stop(&t);
	buf_fini(&config);
}

/* Fills what a collector is like, of which `ctx` has the error. */
static bool collector_like(void *ctx, struct web_collector_state *out)
{
	*out = (struct web_collector_state){ .node = "n1",
					     .sampling = !*(const char *)ctx,
					     .frequency = 19,
					     .interval_ms = 10000,
					     .processes = 7,
					     .series = 3,
					     .profiles = 5,
					     .profiles_failed = 1 };
	(void)snprintf(out->error, sizeof(out->error), "%s", (const char *)ctx);
	return true;
}

Test(api_status, the_collector_of_the_machine_is_listed)
{
	struct site *f = site_start();
	struct call c = { 0 };
	char failure[] = "";
	char denied[] = "CAP_BPF is missing";

	f->web.o.collector = (struct web_collector){ failure, collector_like };
	call_begin(f, &c, api_targets, "");
	cr_expect(call_has(&c, "\"collectors\":[{\"node\":\"n1\","
			       "\"health\":\"up\",\"lastError\":\"\","
			       "\"samplingFrequency\":19,"
			       "\"interval\":\"10s\",\"processes\":7,"
			       "\"series\":3,\"profiles\":5,"
			       "\"profilesFailed\":1}]"));
	call_end(&c);
	f->web.o.collector.ctx = denied;
	call_begin(f, &c, api_targets, "");
	cr_expect(call_has(&c, "\"health\":\"down\","
			       "\"lastError\":\"CAP_BPF is missing\""));
	call_end(&c);
	site_stop(f);
}

Test(api_status, without_targets_the_lists_are_empty)
{
	struct site *f = site_start();
	struct call c = { 0 };

	call_check(f, api_targets, "", 200,
		   DATA("{\"activeTargets\":[],\"droppedTargets\":[],"
			"\"droppedTargetCounts\":{},\"discoveries\":[],"
			"\"collectors\":[]}"));
	call_begin(f, &c, page_targets, "");
	cr_assert(c.a.status == 200);
	cr_expect(call_has(&c, "<table>"));
	cr_expect(!call_has(&c, "Dropped"));
	call_end(&c);
	site_stop(f);
}

Test(api_status, the_page_of_targets_shows_text_as_text)
{
	struct targets t;
	struct call c = { 0 };

	targets_start(&t);
	call_begin(t.f, &c, page_targets, "");
	cr_expect(c.a.status == 200);
	cr_expect(call_has(&c, "<td class=unknown>unknown<td>never"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "env=&lt;i&gt;"));
	cr_expect(call_has(&c, "&lt;b&gt;&amp;:2"));
	cr_assert(!call_has(&c, "<i>"));
	cr_expect(!call_has(&c, "<b>&"));
	cr_expect(call_has(&c, "<h2>Dropped targets: "));
	cr_expect(call_has(&c, "</html>"));
	call_end(&c);
	targets_stop(&t);
}

Test(api_status, a_profile_on_demand_needs_one_target_and_enough_time)
{
	static const struct call_mistake cases[] = {
		{ "", 400, "query" },
		{ "query=", 400, "query" },
		{ "query=cpu{", 400, "bad_data" },
		{ "query=heap&seconds=-1", 400, "seconds" },
		{ "query=heap&seconds=x", 400, "seconds" },
		{ "query=heap&seconds=3601", 400, "3600" },
		{ "query=heap&seconds=31", 400, "--query.timeout" },
		{ "query=heap&seconds=3600", 400, "--query.timeout" },
		{ "query=none", 404, "not_found" },
		{ "query=heap{job=\"gone\"}", 404, "not_found" },
	};
	struct targets t;

	targets_start(&t);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { .patience_ns = 30000000000 };

		call_begin(t.f, &c, api_targets_profile, cases[i].query);
		cr_expect(c.a.status == cases[i].status, "%s: %u %s",
			  cases[i].query, c.a.status, buf_cstr(&c.a.body));
		cr_expect(call_has(&c, cases[i].why), "%s: %s", cases[i].query,
			  buf_cstr(&c.a.body));
		call_end(&c);
	}
	targets_stop(&t);
}

Test(api_status, addresses_of_the_machine_itself_are_local)
{
	static const struct {
		const char *address;
		bool is_local;
	} cases[] = {
		{ "127.0.0.1:80", true },   { "127.1.2.3:80", true },
		{ "[::1]:80", true },       { "localhost:80", true },
		{ ":80", false },           { "0.0.0.0:80", false },
		{ "[::]:80", false },       { "[::10]:80", false },
		{ "10.127.0.1:80", false }, { "localhost.x:80", false },
		{ "1270.0.0.1:80", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(web_is_local(cases[i].address) == cases[i].is_local,
			  "%s", cases[i].address);
}

Test(api_status, an_address_is_checked_without_being_kept)
{
	struct err err = { .msg = "" };

	cr_expect(!web_check_addresses("127.0.0.1:0", NULL, &err), "%s",
		  err.msg);
	cr_expect(web_check_addresses("127.0.0.1", NULL, &err) == ERR_INVALID);
	cr_expect(web_check_addresses("127.0.0.1:70000", NULL, &err) ==
		  ERR_INVALID);
}
