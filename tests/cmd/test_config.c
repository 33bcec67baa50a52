/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/config.h"
#include "tests/check.h"

TestSuite(config, .timeout = 10);

static int parse(struct config *c, const char *text)
{
	return config_parse(c, "e.yml", bytes_of(str_of(text)), NULL);
}

static bool fails_with(const char *text, const char *want)
{
	struct config c;
	bool ok = parse(&c, text) == ERR_INVALID &&
		  strstr(buf_cstr(&c.yaml.errors), want);

	if (!ok)
		fprintf(stderr, "got: %swant: %s\n", buf_cstr(&c.yaml.errors),
			want);
	config_fini(&c);
	return ok;
}

Test(config, default_profile_types_and_added_types)
{
	struct config c;
	const struct scrape_config *s;

	cr_assert(!parse(
		&c, "global: {scrape_interval: 30s, external_labels: {a: b}}\n"
		    "scrape_configs:\n"
		    "- job_name: app\n"
		    "  profiling_config:\n"
		    "    pprof_config:\n"
		    "      fgprof: {path: /debug/fgprof, seconds: 5}\n"
		    "      mutex: {enabled: false}\n"
		    "      profile: {seconds: 3}\n"
		    "  static_configs:\n"
		    "  - targets: ['a:1', \"b:2\"]\n"
		    "    labels: {env: dev}\n"));
	s = &c.scrape.v[0];
	cr_assert(c.scrape.count == 1);
	cr_expect(s->profile_count == 8);
	cr_assert(s->common.interval_ms == 30000);
	cr_expect(s->common.timeout_ms == 15000);
	for (size_t i = 0; i < s->profile_count; i++) {
		const struct profile_config *p = &s->profiles[i];
		int64_t seconds = str_is(p->name, "profile") ? 3 :
				  str_is(p->name, "fgprof")  ? 5 :
							       0;

		cr_expect(p->enabled == !str_is(p->name, "mutex"));
		cr_expect(p->seconds == seconds);
	}
	cr_expect(check_str(s->profiles[6].path, "/debug/pprof/threadcreate"));
	cr_expect(s->statics->v[0].target_count == 2);
	cr_expect(c.external_label_count == 1);
	cr_expect(check_str(c.external_labels[0].value, "b"));
	cr_expect(check_str(s->statics->v[0].targets[1].v[0].value, "b:2"));
	config_fini(&c);
}

Test(config, keys_that_do_not_apply_to_profiles_are_ignored)
{
	static const char *const keys[] = {
		"sample_limit",
		"scrape_protocols",
		"scrape_native_histograms",
		"scrape_classic_histograms",
		"always_scrape_classic_histograms",
		"convert_classic_histograms_to_nhcb",
		"metric_name_validation_scheme",
		"metric_name_escaping_scheme",
		"scrape_failure_log_file",
		"extra_scrape_metrics",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct config c;
		char text[256];
		size_t lines = 0;

		snprintf(
			text, sizeof(text),
			"global: {%s: 1}\nscrape_configs: [{job_name: a, %s: 1}]\n"
			"runtime: {gogc: 1}\notlp: {}\n",
			keys[i], keys[i]);
		cr_expect(!parse(&c, text), "%s", keys[i]);
		for (const char *w = buf_cstr(&c.yaml.warnings);
		     (w = strchr(w, '\n')); w++)
			lines++;
		cr_expect(lines == 4, "%s: %s", keys[i],
			  buf_cstr(&c.yaml.warnings));
		config_fini(&c);
	}
}

Test(config, errors_name_line_and_column)
{
	cr_expect(fails_with("scrape_configs:\n- scrape_interval: 1s\n",
			     "e.yml:2:3: job_name is missing"));
	cr_expect(fails_with("scrape_configs:\n- job_name: a\n- job_name: a\n",
			     "e.yml:3:3: duplicate job_name \"a\""));
	cr_expect(
		fails_with("scrape_config_files: [jobs/*.yml]\n",
			   "e.yml:1:22: scrape_config_files is not supported"));
	cr_expect(fails_with("scrape_confgs: []\n",
			     "e.yml:1:1: field scrape_confgs not found"));
	cr_expect(fails_with(
		"scrape_configs:\n- job_name: a\n  static_configs:\n"
		"  - targets: ['http://x/y']\n",
		"e.yml:4:15: \"http://x/y\" is not a target address"));
	cr_expect(fails_with(
		"scrape_configs:\n- job_name: a\n  profiling_config:\n"
		"    pprof_config: {x: {}}\n",
		"e.yml:4:20: profile type x needs a path"));
	cr_expect(fails_with(
		"scrape_configs:\n- job_name: a\n  serverset_sd_configs: []\n",
		"e.yml:3:3: serverset_sd_configs is not supported"));
	cr_expect(fails_with("scrape_configs:\n- job_name: a\n  scheme: ftp\n",
			     "scheme must be http or https"));
	cr_expect(fails_with(
		"scrape_configs:\n- job_name: a\n  scrape_interval: 2d\n",
		"scrape_interval must be above 0 and at most 1d"));
	cr_expect(fails_with(
		"scrape_configs:\n- job_name: a\n  static_configs:\n"
		"  - targets: ['x:1']\n    labels: {__tenant__: a}\n",
		"label __tenant__ is reserved"));
	static const char *const bad[] = { "h:99999", "h:abc", "[::1", "h:",
					   "1:;b",    ":80",   "a:b:1" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[160];

		snprintf(text, sizeof(text),
			 "scrape_configs:\n- job_name: a\n  static_configs:\n"
			 "  - targets: ['%s']\n",
			 bad[i]);
		cr_expect(fails_with(text, "e.yml:4:15: \""), "%s", bad[i]);
	}
	cr_expect(fails_with(
		"scrape_configs:\n- job_name: a\n  profiling_config:\n"
		"    pprof_config: {profile: {seconds: 9223372036854775807}}\n",
		"seconds must be between 0 and 3600"));
	cr_expect(fails_with("global: {target_limit: -1}\n",
			     "e.yml:1:24: the limit must not be negative"));
	cr_expect(fails_with("a: b: c\n", "e.yml:1:5: "));
	cr_expect(fails_with("[]", "must be a map"));
}

Test(config, prometheus_options_are_accepted_with_a_warning)
{
	struct config c;

	cr_expect(!parse(&c, "global: {evaluation_interval: 1m}\n"
			     "rule_files: [a.yml]\n"
			     "scrape_configs:\n"
			     "- job_name: a\n"
			     "  metrics_path: /m\n"
			     "  honor_labels: true\n"));
	cr_expect(strstr(buf_cstr(&c.yaml.warnings),
			 "e.yml:5:3: warning: metrics_path is ignored"));
	config_fini(&c);
}

Test(config, static_targets_are_host_and_optional_port)
{
	struct config c;

	cr_expect(!parse(&c, "scrape_configs:\n- job_name: a\n"
			     "  static_configs:\n  - targets: ['h:1', 'h', "
			     "'[::1]:65535', '[::1]', '1.2.3.4:80']\n"));
	config_fini(&c);
}

Test(config, empty_file_has_no_jobs)
{
	struct config c;

	cr_expect(!parse(&c, ""));
	cr_expect(c.scrape.count == 0);
	config_fini(&c);
}
