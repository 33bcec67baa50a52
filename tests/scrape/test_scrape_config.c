/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scrape_configs in YAML: what each key sets, its default, and mistakes, which
 * are reported with line and key.
 */
#include "base/mem.h"
#include "scrape/target/scrape_config.h"
#include "tests/check.h"

TestSuite(scrape_config, .timeout = 20);

/* Jobs as they were decoded. */
struct decoded {
	struct yaml y;
	struct scrape_configs c;
};

static const struct scrape_common no_globals = { .interval_ms = 60000 };

static void decode(struct decoded *d, const char *text,
		   const struct scrape_common *globals)
{
	d->c = (struct scrape_configs){ 0 };
	yaml_parse(&d->y, "/etc/everprof/e.yaml", bytes_of(str_of(text)));
	cr_assert(d->y.root, "%s: %s", text, buf_cstr(&d->y.errors));
	scrape_configs_decode(&d->y, d->y.root, globals, &d->c);
}

static void drop(struct decoded *d)
{
	scrape_configs_fini(&d->c);
	yaml_fini(&d->y);
}

/* Decodes a text without mistakes, and returns its only job. */
static const struct scrape_config *decode_job(struct decoded *d,
					      const char *text)
{
	decode(d, text, &no_globals);
	cr_assert(!d->y.error_count, "%s: %s", text, buf_cstr(&d->y.errors));
	cr_assert(d->c.count == 1);
	return &d->c.v[0];
}

static const struct profile_config *find_type(const struct scrape_config *c,
					      const char *name)
{
	for (size_t i = 0; i < c->profile_count; i++) {
		if (str_is(c->profiles[i].name, name))
			return &c->profiles[i];
	}
	return NULL;
}

Test(scrape_config, a_name_is_all_that_a_job_needs)
{
	static const char *const types[] = { "allocs",      "block",
					     "goroutine",   "heap",
					     "mutex",       "profile",
					     "threadcreate" };
	struct decoded d;
	const struct scrape_config *c = decode_job(&d, "- job_name: app");

	cr_expect(check_str(c->job_name, "app"));
	cr_expect(check_str(c->scheme, "http"));
	cr_expect(c->common.interval_ms == 60000);
	cr_expect(c->common.timeout_ms == 15000);
	cr_assert(!c->common.body_size_limit);
	cr_assert(!c->common.target_limit);
	cr_assert(!c->common.label_limit);
	cr_expect(!c->common.keep_dropped_targets);
	cr_assert(!c->path_prefix.len);
	cr_assert(!c->param_count);
	cr_expect(!c->statics);
	cr_assert(!c->discovery.count);
	cr_expect(!c->relabel.count);
	cr_assert(!c->auto_profiles);
	cr_expect(c->http.follow_redirects);
	cr_assert(c->profile_count == ARRAY_SIZE(types));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct profile_config *p = &c->profiles[i];
		char path[50];

		snprintf(path, sizeof(path), "/debug/pprof/%s", types[i]);
		cr_expect(check_str(p->name, types[i]));
		cr_expect(check_str(p->path, path));
		cr_assert(p->enabled);
		cr_expect(!p->interval_ms);
		cr_expect(p->seconds == (str_is(p->name, "profile") ? 10 : 0));
	}
	cr_expect(!d.y.warnings.len, "%s", buf_cstr(&d.y.warnings));
	drop(&d);
}

Test(scrape_config, each_key_sets_its_member)
{
	struct decoded d;
	const struct scrape_config *c = decode_job(
		&d, "- job_name: app\n"
		    "  scrape_interval: 30s\n"
		    "  scrape_timeout: 7s\n"
		    "  body_size_limit: 2MB\n"
		    "  target_limit: 3\n"
		    "  label_limit: 4\n"
		    "  label_name_length_limit: 5\n"
		    "  label_value_length_limit: 6\n"
		    "  keep_dropped_targets: 8\n"
		    "  scheme: HTTPS\n"
		    "  params: {b: [x, y], a: [z], none: , empty: []}\n"
		    "  profiling_config: {path_prefix: /x}\n"
		    "  static_configs: [{targets: ['h:1'], labels: {k: v}}]\n"
		    "  basic_auth: {username: u}\n"
		    "  file_sd_configs: [{files: [a.yml]}]\n"
		    "  http_sd_configs: [{url: 'http://h'}]\n"
		    "  relabel_configs: [{action: drop, regex: x}]\n");

	cr_expect(c->common.interval_ms == 30000);
	cr_expect(c->common.timeout_ms == 7000);
	cr_expect(c->common.body_size_limit == 2LL * 1024 * 1024);
	cr_assert(c->common.target_limit == 3);
	cr_expect(c->common.label_limit == 4);
	cr_expect(c->common.label_name_length_limit == 5);
	cr_expect(c->common.label_value_length_limit == 6);
	cr_expect(c->common.keep_dropped_targets == 8);
	cr_expect(check_str(c->scheme, "https"));
	cr_assert(c->param_count == 3);
	cr_expect(check_str(c->params[0].name, "b"));
	cr_expect(check_str(c->params[0].value, "x"));
	cr_expect(check_str(c->params[1].name, "b"));
	cr_expect(check_str(c->params[1].value, "y"));
	cr_expect(check_str(c->params[2].value, "z"));
	cr_expect(check_str(c->path_prefix, "/x"));
	cr_assert(c->statics);
	cr_assert(c->statics->targets == 1);
	cr_expect(c->http.auth == HTTP_AUTH_BASIC);
	cr_assert(c->discovery.count == 2);
	cr_assert(c->relabel.count == 1);
	drop(&d);
}

Test(scrape_config, what_a_job_does_not_say_is_as_the_globals_say)
{
	static const struct scrape_common globals = {
		.interval_ms = 20000,
		.timeout_ms = 4000,
		.body_size_limit = 1,
		.target_limit = 2,
		.label_limit = 3,
		.label_name_length_limit = 4,
		.label_value_length_limit = 5,
		.keep_dropped_targets = 6,
	};
	struct decoded d;

	decode(&d,
	       "- job_name: a\n"
	       "- {job_name: b, scrape_interval: 1m, target_limit: 9}\n"
	       /* 0 is "not set" for times, and "no limit" for limits. */
	       "- {job_name: c, scrape_interval: 0s, scrape_timeout: 0s, "
	       "target_limit: 0}\n"
	       "- {job_name: d, scrape_interval: 2s}\n",
	       &globals);
	cr_assert(!d.y.error_count, "%s", buf_cstr(&d.y.errors));
	cr_assert(d.c.count == 4, "%s", buf_cstr(&d.y.errors));
	cr_expect(!memcmp(&d.c.v[0].common, &globals, sizeof(globals)));
	cr_expect(d.c.v[1].common.interval_ms == 60000);
	cr_expect(d.c.v[1].common.timeout_ms == 4000);
	cr_expect(d.c.v[1].common.target_limit == 9);
	cr_expect(d.c.v[1].common.label_limit == 3);
	cr_expect(d.c.v[2].common.interval_ms == 20000);
	cr_expect(d.c.v[2].common.timeout_ms == 4000);
	cr_expect(d.c.v[2].common.target_limit == 0);
	cr_expect(d.c.v[3].common.timeout_ms == 2000, "as in Prometheus");
	drop(&d);
}

Test(scrape_config, a_timeout_that_nobody_set_is_no_longer_than_the_interval)
{
	static const struct {
		const char *interval;
		int64_t timeout_ms;
	} cases[] = {
		{ "1m", 15000 }, { "15s", 15000 }, { "14999ms", 14999 },
		{ "1ms", 1 },    { "1d", 15000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		char text[100];

		snprintf(text, sizeof(text),
			 "- {job_name: a, scrape_interval: %s}",
			 cases[i].interval);
		cr_expect(decode_job(&d, text)->common.timeout_ms ==
				  cases[i].timeout_ms,
			  "%s", cases[i].interval);
		drop(&d);
	}
}

#define TYPES(text) \
	"- {job_name: a, profiling_config: {pprof_config: " text "}}"

Test(scrape_config, types_are_changed_added_and_disabled)
{
	struct decoded d;
	const struct scrape_config *c = decode_job(
		&d, TYPES("{heap: {enabled: false}, profile: {seconds: 30}, "
			  "allocs: {interval: 5m, path: /a}, fgprof: {path: "
			  "/debug/fgprof, seconds: 3600}, mutex: , off: "
			  "{enabled: false}}"));

	cr_assert(c->profile_count == 9);
	cr_expect(!find_type(c, "heap")->enabled);
	cr_expect(find_type(c, "profile")->seconds == 30);
	cr_expect(check_str(find_type(c, "profile")->path,
			    "/debug/pprof/profile"));
	cr_expect(find_type(c, "allocs")->interval_ms == 300000);
	cr_expect(check_str(find_type(c, "allocs")->path, "/a"));
	cr_expect(find_type(c, "fgprof")->enabled);
	cr_expect(find_type(c, "fgprof")->seconds == SCRAPE_SECONDS_MAX);
	cr_expect(find_type(c, "mutex")->enabled);
	cr_expect(!find_type(c, "off")->enabled, "it needs no path");
	drop(&d);
}

Test(scrape_config, types_may_come_from_the_index)
{
	struct decoded d;

	cr_expect(decode_job(&d, TYPES("auto"))->auto_profiles);
	drop(&d);
	cr_expect(!decode_job(&d, TYPES("{}"))->auto_profiles);
	cr_expect(d.c.v[0].profile_count == 7);
	drop(&d);
	cr_expect(decode_job(&d, TYPES(""))->profile_count == 7);
	drop(&d);
}

/*
 * A mistake is reported with its line and column, and with the key or value
 * that is wrong.
 */
Test(scrape_config, mistakes_name_their_place_and_key)
{
	static const struct {
		const char *text;
		const char *at;
		const char *says;
	} cases[] = {
		{ "a: b", "1:1", "scrape_configs" },
		{ "x", "1:1", "scrape_configs" },
		{ "- x", "1:3", "scrape_config" },
		{ "- {}", "1:3", "job_name" },
		{ "- job_name: ''", "1:3", "job_name" },
		{ "- job_name: [a]", "1:13", "" },
		{ "- job_name: a\n- job_name: b\n- job_name: a", "3:3",
		  "\"a\"" },
		{ "- job_name: a\n  job: b", "2:3", "job" },
		{ "- job_name: a\n  job_name: b", "2:3", "job_name" },
		{ "- job_name: a\n  scrape_interval: 5", "2:20", "" },
		{ "- job_name: a\n  scrape_interval: 2d", "1:3",
		  "scrape_interval" },
		{ "- job_name: a\n  scrape_interval: 24h1ms", "1:3",
		  "scrape_interval" },
		{ "- job_name: a\n  scrape_interval: 1d\n  scrape_timeout: 25h",
		  "1:3", "scrape_timeout" },
		{ "- job_name: a\n  body_size_limit: much", "2:20", "" },
		{ "- job_name: a\n  target_limit: -1", "2:17", "" },
		{ "- job_name: a\n  label_limit: 1.5", "2:16", "" },
		{ "- job_name: a\n  label_name_length_limit: x", "2:28", "" },
		{ "- job_name: a\n  keep_dropped_targets: []", "2:25", "" },
		{ "- job_name: a\n  scheme: ftp", "1:3", "ftp" },
		{ "- job_name: a\n  params: [x]", "2:11", "params" },
		{ "- job_name: a\n  params: {x: y}", "2:15", "parameter" },
		{ "- job_name: a\n  params: {x: [[y]]}", "2:16", "" },
		{ "- job_name: a\n  params: {x: [y], x: [z]}", "2:20", "x" },
		{ "- job_name: a\n  profiling_config: x", "2:21",
		  "profiling_config" },
		{ "- job_name: a\n  profiling_config: {path_prefix: x}", "1:3",
		  "path_prefix" },
		{ "- job_name: a\n  static_configs: x", "2:19",
		  "static_configs" },
		{ "- job_name: a\n  static_configs:\n  - targets: ['h/x']",
		  "3:15", "h/x" },
		{ "- job_name: a\n  static_configs:\n  - targets: [h:1,\n"
		  "    'http://h:1']",
		  "4:5", "http://h:1" },
		{ "- job_name: a\n  static_configs:\n  - targets: ['']", "3:15",
		  "" },
		{ "- job_name: a\n  static_configs:\n  - targets:\n    -",
		  "4:6", "empty" },
		{ "- job_name: a\n  serverset_sd_configs: []", "2:3",
		  "serverset_sd_configs" },
		{ "- job_name: a\n  file_sd_configs: x", "2:20",
		  "file_sd_configs" },
		{ "- job_name: a\n  http_sd_configs: [{}]", "2:21", "url" },
		{ "- job_name: a\n  relabel_configs: x", "2:20",
		  "relabel_configs" },
		{ "- job_name: a\n  basic_auth: {}\n  bearer_token: x", "3:17",
		  "basic_auth" },
		{ "- job_name: a\n  no_proxy: x", "2:13", "no_proxy" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		char at[64];

		decode(&d, cases[i].text, &no_globals);
		snprintf(at, sizeof(at),
			 "/etc/everprof/e.yaml:%s: ", cases[i].at);
		cr_expect(d.y.error_count == 1, "%s: %s", cases[i].text,
			  buf_cstr(&d.y.errors));
		cr_assert(str_starts(yaml_first_error(&d.y), str_of(at)),
			  "%s\ngot %swant %s%s", cases[i].text,
			  buf_cstr(&d.y.errors), at, cases[i].says);
		cr_expect(strstr(buf_cstr(&d.y.errors), cases[i].says),
			  "%s\ngot %swant %s%s", cases[i].text,
			  buf_cstr(&d.y.errors), at, cases[i].says);
		drop(&d);
	}
}

Test(scrape_config, mistakes_of_types_are_named)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{ TYPES("yes"), "auto" },
		{ TYPES("[heap]"), "pprof_config" },
		{ TYPES("{heap: x}"), "pprof_config" },
		{ TYPES("{heap: {period: 1}}"), "period" },
		{ TYPES("{heap: {enabled: perhaps}}"), "" },
		{ TYPES("{heap: {path: x}}"), "heap" },
		{ TYPES("{heap: {path: ''}}"), "heap" },
		{ TYPES("{fgprof: {}}"), "fgprof" },
		{ TYPES("{fgprof: }"), "fgprof" },
		{ TYPES("{'': {path: /x}}"), "name" },
		{ TYPES("{profile: {seconds: 3601}}"), "3600" },
		{ TYPES("{profile: {seconds: -1}}"), "3600" },
		{ TYPES("{profile: {seconds: 1.5}}"), "" },
		{ TYPES("{profile: {seconds: 99999999999999999999}}"), "" },
		{ TYPES("{heap: {interval: 25h}}"), "1d" },
		{ TYPES("{heap: {}, heap: {}}"), "heap" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;

		decode(&d, cases[i].text, &no_globals);
		cr_expect(d.y.error_count >= 1, "%s", cases[i].text);
		cr_expect(strstr(buf_cstr(&d.y.errors), cases[i].says) != NULL,
			  "%s: %s", cases[i].text, buf_cstr(&d.y.errors));
		drop(&d);
	}
}

Test(scrape_config, all_mistakes_are_named_at_once)
{
	struct decoded d;

	decode(&d,
	       "- {job_name: a, scheme: ftp, target_limit: x}\n"
	       "- {job_name: a, scheme: http, unknown: 1}\n",
	       &no_globals);
	cr_expect(d.y.error_count == 4, "%s", buf_cstr(&d.y.errors));
	cr_expect(d.c.count == 2);
	drop(&d);
}

/* Keys that Prometheus has, and profiles have no use for, are accepted. */
Test(scrape_config, keys_of_prometheus_are_taken_with_a_warning)
{
	static const char *const keys[] = {
		"metrics_path: /x",
		"metric_relabel_configs: []",
		"honor_labels: true",
		"honor_timestamps: true",
		"track_timestamps_staleness: false",
		"sample_limit: 1",
		"bucket_limit: 1",
		"scrape_protocols: [x]",
		"fallback_scrape_protocol: x",
		"scrape_classic_histograms: true",
		"always_scrape_classic_histograms: true",
		"enable_compression: true",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct decoded d;
		char text[100];
		char name[50];

		snprintf(text, sizeof(text), "- job_name: a\n  %s", keys[i]);
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(keys[i], ":"),
			 keys[i]);
		decode_job(&d, text);
		cr_assert(strstr(buf_cstr(&d.y.warnings), ":2:3: "), "%s: %s",
			  keys[i], buf_cstr(&d.y.warnings));
		cr_expect(strstr(buf_cstr(&d.y.warnings), name), "%s: %s",
			  keys[i], buf_cstr(&d.y.warnings));
		drop(&d);
	}
}

Test(scrape_config, what_is_likely_a_mistake_is_warned_of)
{
	static const struct {
		const char *text;
		const char *says; /* NULL: no warning */
	} cases[] = {
		{ "- {job_name: a, scrape_interval: 10s, scrape_timeout: 11s}",
		  "scrape_timeout" },
		{ "- {job_name: a, scrape_interval: 11s, scrape_timeout: 11s}",
		  NULL },
		/* The profile of 10 s takes all of its interval. */
		{ "- {job_name: a, scrape_interval: 10s}", "profile takes 10" },
		{ "- {job_name: a, scrape_interval: 10001ms}", NULL },
		{ TYPES("{profile: {interval: 10s}}"), "profile takes 10" },
		{ TYPES("{profile: {seconds: 60}}"), "profile takes 60" },
		{ TYPES("{profile: {seconds: 60, enabled: false}}"), NULL },
		{ TYPES("{profile: {seconds: 60, interval: 2m}}"), NULL },
		{ TYPES("{trace: {path: /debug/pprof/trace}}"), "trace" },
		{ TYPES("{heap: {delta: true}}"), "delta" },
		{ "- {job_name: a, static_configs: [{targets: [h]}]}",
		  "\"h\"" },
		{ "- {job_name: a, static_configs: [{targets: ['[::1]']}]}",
		  "[::1]" },
		{ "- {job_name: a, static_configs: [{targets: ['[::1]:1', "
		  "'h:1']}]}",
		  NULL },
		/* Relabelling may make an address of any text. */
		{ "- {job_name: a, static_configs: [{targets: ['http://x/y', "
		  "h]}], relabel_configs: [{target_label: __address__}]}",
		  NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		const char *got;

		decode_job(&d, cases[i].text);
		got = buf_cstr(&d.y.warnings);
		cr_expect(cases[i].says ? strstr(got, cases[i].says) != NULL :
					  !*got,
			  "%s: %s", cases[i].text, got);
		drop(&d);
	}
}

Test(scrape_config, a_list_may_be_released_twice)
{
	struct decoded d;

	decode(&d, "[]", &no_globals);
	cr_assert(!d.c.count);
	cr_expect(!d.y.error_count);
	scrape_configs_fini(&d.c);
	drop(&d);
	decode_job(&d, "- {job_name: a, static_configs: []}");
	scrape_configs_fini(&d.c);
	cr_expect(!d.c.count);
	drop(&d);
}
