/* SPDX-License-Identifier: Apache-2.0 */
/* file_sd_configs and http_sd_configs in YAML. */
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/discovery_config.h"
#include "discovery/file/file_config.h"
#include "discovery/http/http_sd.h"
#include "tests/check.h"

TestSuite(discovery_config, .timeout = 20);

#define FILE_SD "file_sd_configs"
#define HTTP_SD "http_sd_configs"

/* Lists of discoveries as they were decoded. */
struct decoded {
	struct yaml y;
	struct discovery_configs c;
};

static const struct file_config *file_of(const struct decoded *d, size_t i)
{
	return (const struct file_config *)d->c.v[i];
}

static const struct http_sd_config *http_of(const struct decoded *d, size_t i)
{
	return (const struct http_sd_config *)d->c.v[i];
}

/* Decodes a list as the value of `key`. */
static void decode_list(struct decoded *d, const char *key,
			const struct yaml_node *list)
{
	struct yaml_node name = { .text = str_of(key) };

	cr_assert(discovery_configs_decode(&d->y, &name, list, &d->c));
}

static void decode(struct decoded *d, const char *key, const char *text)
{
	*d = (struct decoded){ 0 };
	yaml_parse(&d->y, "/etc/everprof/c.yml", bytes_of(str_of(text)));
	cr_assert(d->y.root, "%s", buf_cstr(&d->y.errors));
	decode_list(d, key, d->y.root);
}

static void decode_good(struct decoded *d, const char *key, const char *text)
{
	decode(d, key, text);
	cr_assert(!d->y.error_count, "%s: %s", text, buf_cstr(&d->y.errors));
}

Test(discovery_config, files_are_relative_to_the_configuration)
{
	struct decoded d;

	decode_good(&d, FILE_SD,
		    "- files: [a.json, /abs/b.yml, 'dir/*.yaml']\n"
		    "- {files: [c.yml], refresh_interval: 30s}\n");
	cr_assert(d.c.count == 2);
	cr_assert(file_of(&d, 0)->file_count == 3);
	cr_expect(d.c.v[0]->kind == &provider_file);
	cr_expect(check_str(file_of(&d, 0)->files[0], "/etc/everprof/a.json"));
	cr_expect(check_str(file_of(&d, 0)->files[1], "/abs/b.yml"));
	cr_expect(check_str(file_of(&d, 0)->files[2],
			    "/etc/everprof/dir/*.yaml"));
	cr_expect(d.c.v[0]->refresh_ms == 5 * 60 * 1000, "the default");
	cr_expect(d.c.v[1]->refresh_ms == 30 * 1000);
	yaml_fini(&d.y);
}

Test(discovery_config, an_endpoint_has_the_options_of_a_client)
{
	struct decoded d;

	decode_good(&d, HTTP_SD,
		    "- url: https://sd.example/x?y\n"
		    "- {url: 'http://h', refresh_interval: 2h, "
		    "basic_auth: {username: u}, follow_redirects: false, "
		    "tls_config: {ca_file: ca}}\n");
	cr_assert(d.c.count == 2);
	cr_expect(d.c.v[0]->kind == &provider_http);
	cr_expect(check_str(http_of(&d, 0)->url, "https://sd.example/x?y"));
	cr_expect(d.c.v[0]->refresh_ms == 60 * 1000, "the default");
	cr_expect(d.c.v[0]->http.auth == HTTP_AUTH_NONE);
	cr_expect(d.c.v[0]->http.follow_redirects);
	cr_expect(d.c.v[1]->refresh_ms == 2 * 3600 * 1000);
	cr_expect(d.c.v[1]->http.auth == HTTP_AUTH_BASIC);
	cr_expect(!d.c.v[1]->http.follow_redirects);
	cr_expect(check_str(d.c.v[1]->http.tls.ca.file, "/etc/everprof/ca"));
	yaml_fini(&d.y);
}

Test(discovery_config, lists_of_both_kinds_are_one_list)
{
	struct decoded d = { 0 };
	const struct yaml_node *root;

	yaml_parse(
		&d.y, "c.yml",
		bytes_of(str_of("files: [{files: [a.yml]}, {files: [b.yml]}]\n"
				"http: [{url: 'http://h'}]\n")));
	root = d.y.root;
	decode_list(&d, FILE_SD, yaml_child(root, "files"));
	decode_list(&d, HTTP_SD, yaml_child(root, "http"));
	decode_list(&d, FILE_SD, yaml_child(root, "files"));
	cr_assert(!d.y.error_count);
	cr_assert(d.c.count == 5);
	cr_expect(check_str(file_of(&d, 0)->files[0], "a.yml"));
	cr_expect(check_str(file_of(&d, 1)->files[0], "b.yml"));
	cr_expect(check_str(http_of(&d, 2)->url, "http://h"));
	cr_expect(d.c.v[2]->kind == &provider_http);
	cr_expect(check_str(file_of(&d, 4)->files[0], "b.yml"));
	yaml_fini(&d.y);
	decode_good(&d, HTTP_SD, "[]");
	cr_expect(!d.c.count);
	yaml_fini(&d.y);
}

Test(discovery_config, a_pattern_has_an_extension_and_stars_in_its_name_only)
{
	static const struct {
		const char *path;
		bool good;
	} cases[] = {
		{ "a.json", true },      { "a.yml", true },
		{ "a.yaml", true },      { "A.JSON", true },
		{ "A.YML", true },       { "A.YAML", true },
		{ "dir/*.yml", true },   { "dir/a*.yml", true },
		{ "*.json", true },      { "../x/*.json", true },
		{ "dir/.yml", true },    { "a", false },
		{ "a.txt", false },      { "a.jsonx", false },
		{ "ajson", false },      { "a.yml.bak", false },
		{ "a.yml/", false },     { "*/a.yml", false },
		{ "a*/b/c.yml", false }, { "**/a.yml", false },
		{ "dir/*", false },      { "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		char text[100];

		snprintf(text, sizeof(text), "- files: [ok.yml, '%s']",
			 cases[i].path);
		decode(&d, FILE_SD, text);
		cr_expect(d.y.error_count == (cases[i].good ? 0 : 1), "%s: %s",
			  cases[i].path, buf_cstr(&d.y.errors));
		cr_expect(file_of(&d, 0)->file_count ==
			  (cases[i].good ? 2 : 1));
		yaml_fini(&d.y);
	}
}

Test(discovery_config, an_interval_is_a_tenth_of_a_second_to_a_day)
{
	static const struct {
		const char *interval;
		int64_t ms; /* 0: refused */
	} cases[] = {
		{ "100ms", 100 },    { "99ms", 0 },  { "1d", 86400000 },
		{ "24h", 86400000 }, { "1d1ms", 0 }, { "0s", 0 },
		{ "-1s", 0 },        { "10", 0 },    { "soon", 0 },
		{ "[1s]", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		char text[100];

		snprintf(text, sizeof(text),
			 "- {files: [a.yml], refresh_interval: %s}",
			 cases[i].interval);
		decode(&d, FILE_SD, text);
		cr_expect(!d.y.error_count == (cases[i].ms > 0), "%s",
			  cases[i].interval);
		cr_expect(!cases[i].ms || d.c.v[0]->refresh_ms == cases[i].ms,
			  "%s", cases[i].interval);
		yaml_fini(&d.y);
	}
}

Test(discovery_config, mistakes_are_named_with_their_place)
{
	static const struct {
		const char *key;
		const char *text;
		const char *at;
		const char *says;
	} cases[] = {
		{ FILE_SD, "a: b", "1:1", "file_sd_configs" },
		{ HTTP_SD, "x", "1:1", "http_sd_configs" },
		{ FILE_SD, "- x", "1:3", "file_sd_config" },
		{ FILE_SD, "- {}", "1:3", "files" },
		{ FILE_SD, "- files: []", "1:3", "files" },
		{ FILE_SD, "- files: a.yml", "1:10", "files" },
		{ FILE_SD, "- files: [[a.yml]]", "1:11", "" },
		{ FILE_SD, "- files: [a.txt]", "1:11", "a.txt" },
		{ FILE_SD, "- {files: [a.yml], url: x}", "1:20", "url" },
		{ FILE_SD, "- {files: [a.yml], refresh_interval: 1ms}", "1:38",
		  "refresh_interval" },
		{ HTTP_SD, "- {}", "1:3", "url" },
		{ HTTP_SD, "- url: ''", "1:3", "url" },
		{ HTTP_SD, "- url: ftp://h", "1:8", "http://" },
		{ HTTP_SD, "- url: h", "1:8", "http://" },
		{ HTTP_SD, "- url: 'http://'", "1:8", "host" },
		{ HTTP_SD, "- {url: 'http://h', files: [a.yml]}", "1:21",
		  "files" },
		{ HTTP_SD, "- {url: 'http://h', no_proxy: x}", "1:31",
		  "no_proxy" },
		{ HTTP_SD, "- url: http://h\n  bearer_token: [x]", "2:17", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		char at[64];

		decode(&d, cases[i].key, cases[i].text);
		snprintf(at, sizeof(at),
			 "/etc/everprof/c.yml:%s: ", cases[i].at);
		cr_expect(d.y.error_count, "%s", cases[i].text);
		cr_assert(str_starts(yaml_first_error(&d.y), str_of(at)),
			  "%s: %s", cases[i].text, buf_cstr(&d.y.errors));
		cr_expect(strstr(buf_cstr(&d.y.errors), cases[i].says),
			  "%s: %s", cases[i].text, buf_cstr(&d.y.errors));
		yaml_fini(&d.y);
	}
}

/*
 * Entries with equal keys share one provider. Entries with different keys must
 * not share one.
 */
Test(discovery_config, keys_tell_entries_apart)
{
	static const struct {
		const char *key;
		const char *text; /* of two entries */
		bool same;
	} cases[] = {
		{ FILE_SD, "[{files: [a.yml]}, {files: [a.yml]}]", true },
		{ FILE_SD, "[{files: [a.yml]}, {files: ['a.yml']}]", false },
		{ FILE_SD, "[{files: [a.yml]}, {files: [b.yml]}]", false },
		{ FILE_SD, "[{files: [a.yml, b.yml]}, {files: [b.yml, a.yml]}]",
		  false },
		{ FILE_SD,
		  "[{files: [a.yml, b.yml]}, {files: [a.yml/etc/everprof/b.yml]}]",
		  false },
		{ FILE_SD,
		  "[{files: [a.yml]}, {files: [a.yml], refresh_interval: 1m}]",
		  false },
		{ HTTP_SD, "[{url: 'http://a'}, {url: 'http://a'}]", true },
		{ HTTP_SD, "[{url: 'http://a'}, {url: 'http://a/'}]", false },
		{ HTTP_SD,
		  "[{url: 'http://a', bearer_token: x}, {url: 'http://a', "
		  "bearer_token: y}]",
		  false },
		{ HTTP_SD,
		  "[{url: 'http://a', bearer_token: x, proxy_url: 'http://p'}, "
		  "{proxy_url: 'http://p', bearer_token: x, url: 'http://a'}]",
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;

		decode_good(&d, cases[i].key, cases[i].text);
		cr_assert(d.c.count == 2);
		cr_expect(str_eq(d.c.v[0]->key, d.c.v[1]->key) == cases[i].same,
			  "%s", cases[i].text);
		yaml_fini(&d.y);
	}
}

Test(discovery_config, only_keys_of_discoveries_are_taken)
{
	static const struct {
		const char *key;
		bool taken;
		const char *says; /* error, or "" */
	} cases[] = {
		{ "file_sd_configs", true, "" },
		{ "_sd_configs", true, "_sd_configs is not supported" },
		{ "none_sd_configs", true, "none_sd_configs is not supported" },
		{ "file_sd_config", false, "" },
		{ "sd_configs", false, "" },
		{ "", false, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml_node name = { .text = str_of(cases[i].key) };
		struct yaml_node list = { .kind = YAML_LIST };
		struct decoded d = { 0 };

		yaml_begin(&d.y, "c.yml");
		cr_expect(discovery_configs_decode(&d.y, &name, &list, &d.c) ==
				  cases[i].taken,
			  "%s", cases[i].key);
		cr_assert(strstr(buf_cstr(&d.y.errors), cases[i].says), "%s",
			  buf_cstr(&d.y.errors));
		cr_expect(!d.y.error_count == !*cases[i].says, "%s",
			  buf_cstr(&d.y.errors));
		yaml_fini(&d.y);
	}
}
