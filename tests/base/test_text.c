/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, units, YAML, metrics, URLs. */
#include "base/json.h"
#include "base/metrics.h"
#include "base/units.h"
#include "base/url.h"
#include "base/yaml.h"
#include "base/yaml_dump.h"
#include "tests/check.h"

TestSuite(text, .timeout = 30);

Test(text, json_escapes_strings_and_replaces_invalid_utf8)
{
	struct buf b = { 0 };
	struct json j = json_init(&b);

	json_begin(&j, '{');
	json_key(&j, "a\"b");
	json_begin(&j, '[');
	json_text(&j, "x\n\t\\\x01\xc3\xa9\xff");
	json_int(&j, INT64_MIN);
	json_double(&j, 0.5);
	json_double(&j, 1.0 / 0.0);
	json_rounded(&j, 1.0 / 3, 3);
	json_rounded(&j, 123456789012345, 3);
	json_rounded(&j, 123456.78, 3);
	json_rounded(&j, -99999.9, 3);
	json_rounded(&j, 0.0000123456, 3);
	json_rounded(&j, 0.0 / 0.0, 3);
	json_bool(&j, true);
	json_end(&j, ']');
	json_key(&j, "c");
	json_begin(&j, '{');
	json_end(&j, '}');
	json_end(&j, '}');
	cr_expect(
		check_str(str_from(buf_bytes(&b)),
			  "{\"a\\\"b\":[\"x\\n\\t\\\\\\u0001\xc3\xa9\\ufffd\","
			  "-9223372036854775808,0.5,null,0.333,123456789012345,"
			  "123000,-100000,1.23e-05,null,true],\"c\":{}}"));
	buf_fini(&b);
}

Test(text, durations_and_sizes_are_parsed_as_in_prometheus)
{
	int64_t v;
	char text[32];

	cr_assert(!duration_parse(str_of("1h30m"), &v, NULL));
	cr_expect(v == 5400000);
	cr_assert(!duration_parse(str_of("90d"), &v, NULL));
	cr_expect(v == 90LL * 86400000);
	cr_expect(!duration_parse(str_of("1y2w3d4h5m6s7ms"), &v, NULL));
	cr_assert(!duration_parse(str_of("0"), &v, NULL));
	cr_expect(v == 0);
	cr_expect(duration_parse(str_of("1m1h"), &v, NULL), "order matters");
	cr_expect(duration_parse(str_of("10"), &v, NULL));
	cr_expect(duration_parse(str_of(""), &v, NULL));
	cr_expect(duration_parse(str_of("-1s"), &v, NULL));
	cr_expect(duration_parse(str_of("999999999999999y"), &v, NULL));
	duration_format(5400000, text);
	cr_expect(check_str(str_of(text), "1h30m"));
	duration_format(90LL * 86400000, text);
	cr_expect(check_str(str_of(text), "90d"));
	cr_assert(!size_parse(str_of("512MB"), &v, NULL));
	cr_expect(v == 512 * MIB);
	cr_assert(!size_parse(str_of("1.5KiB"), &v, NULL));
	cr_expect(v == 1536);
	cr_assert(!size_parse(str_of("7"), &v, NULL));
	cr_expect(v == 7);
	cr_expect(size_parse(str_of("MB"), &v, NULL));
	cr_assert(!size_parse(str_of("1mb"), &v, NULL), "in any case");
	cr_expect(v == MIB, "in any case");
	cr_expect(size_parse(str_of("1mx"), &v, NULL));
	cr_expect(size_parse(str_of("99EB"), &v, NULL));
}

Test(text, times_without_zone_are_utc)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: it is refused */
	} cases[] = {
		{ "1970-01-02T00:00:01", 86401000 },
		{ "1970-01-02 00:01", 86460000 },
		{ "1970-01-02", 86400000 },
		{ "00:01", 864060000 },
		{ "00:01:02", 864062000 },
		{ "1970-01-02 ", -1 },
		{ "1970-01-02T", -1 },
		{ "1970-01-02x00:01", -1 },
		{ "1970-02-30", -1 },
		{ "24:00", -1 },
		{ "1:00", -1 },
		{ "00-01", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = -1;
		int rc = time_parse(str_of(cases[i].text), 10 * 86400000 + 5,
				    &v, NULL);

		cr_expect(rc ? cases[i].ms == -1 : v == cases[i].ms, "%s: %d",
			  cases[i].text, (int)v);
	}
}

Test(text, times_are_rfc_3339_or_relative)
{
	int64_t v;
	char text[40];

	cr_assert(!time_parse(str_of("1970-01-02T00:00:00Z"), 0, &v, NULL));
	cr_expect(v == 86400000);
	cr_expect(!time_parse(str_of("2026-01-02T03:04:05.678+02:00"), 0, &v,
			      NULL));
	time_format(v, text);
	cr_expect(check_str(str_of(text), "2026-01-02T01:04:05.678Z"));
	cr_assert(!time_parse(str_of("now-1h"), 7200000, &v, NULL));
	cr_expect(v == 3600000);
	cr_assert(!time_parse(str_of("now"), 5, &v, NULL));
	cr_expect(v == 5);
	/* The earliest and the latest time do not overflow. */
	time_format(INT64_MIN, text);
	time_format(INT64_MAX, text);
	cr_assert(!time_parse(str_of("now-1h"), INT64_MIN + 5, &v, NULL));
	cr_expect(v == INT64_MIN);
	cr_expect(time_parse(str_of("yesterday"), 0, &v, NULL));
	cr_expect(time_parse(str_of("2026-13-02T03:04:05Z"), 0, &v, NULL));
	cr_assert(!time_parse(str_of("-1h"), 7200000, &v, NULL));
	cr_expect(v == 3600000);
	cr_expect(time_parse(str_of("-"), 0, &v, NULL));
	cr_expect(time_parse(str_of("-1"), 0, &v, NULL));
	cr_expect(time_parse(str_of("2024-02-30T00:00:00Z"), 0, &v, NULL));
	cr_expect(!time_parse(str_of("2024-02-29T00:00:00Z"), 0, &v, NULL));
}

Test(text, url_escaping_is_reversible)
{
	struct arena arena = { 0 };
	struct buf b = { 0 };

	url_escape(str_of("a b{}=\"\xc3\xa9~"), &b);
	cr_expect(
		check_str(str_from(buf_bytes(&b)), "a%20b%7B%7D%3D%22%C3%A9~"));
	cr_expect(check_str(url_unescape(str_from(buf_bytes(&b)), &arena),
			    "a b{}=\"\xc3\xa9~"));
	cr_expect(check_str(url_unescape(str_of("a+b%2"), &arena), "a b%2"));
	cr_expect(url_is_sound(str_of("/a?b=%2500%fF+&%7B")));
	cr_assert(!url_is_sound(str_of("%00")));
	cr_expect(!url_is_sound(str_of("a%2")));
	cr_assert(!url_is_sound(str_of("%")));
	cr_expect(!url_is_sound(str_of("%zz1")));
	cr_expect(!url_is_sound((struct str){ .ptr = "a\0b", .len = 3 }));
	buf_fini(&b);
	arena_fini(&arena);
}

struct thing {
	struct str name;
	int64_t count;
	bool on;
	int64_t wait;
};

static const struct yaml_field thing_fields[] = {
	{ "name", yaml_text, offsetof(struct thing, name), NULL },
	{ "count", yaml_int, offsetof(struct thing, count), NULL },
	{ "on", yaml_bool, offsetof(struct thing, on), NULL },
	{ "wait", yaml_duration, offsetof(struct thing, wait), NULL },
	{ "old", NULL, 0, "nobody needs it" },
	{ 0 },
};

static void decode(struct yaml *y, const char *text, struct thing *t)
{
	yaml_parse(y, "f.yml", bytes_of(str_of(text)));
	if (y->root)
		yaml_decode(y, y->root, "thing", thing_fields, t);
}

Test(text, yaml_reports_every_error_with_line_and_column)
{
	struct thing t = { .count = 5 };
	struct yaml y;

	decode(&y,
	       "name: [a]\ncount: '3'\non: yess\nwait: 3 parsecs\n"
	       "nmae: x\ncount: 4\nold: 1\n",
	       &t);
	cr_expect(check_str(
		str_of(buf_cstr(&y.errors)),
		"f.yml:6:1: mapping key \"count\" already defined at line 2\n"
		"f.yml:1:7: the value must be a scalar, not a list\n"
		"f.yml:2:8: expected a whole number (without quotes), not \"3\"\n"
		"f.yml:3:5: expected true or false (without quotes), not \"yess\"\n"
		"f.yml:4:7: invalid duration \"3 parsecs\": use whole numbers with units, the largest unit first, such as 15s, 1m30s, 1h or 90d\n"
		"f.yml:5:1: field nmae not found in thing\n"));
	cr_expect(y.error_count == 6);
	cr_expect(check_str(
		str_of(buf_cstr(&y.warnings)),
		"f.yml:7:1: warning: old is ignored: nobody needs it\n"));
	yaml_fini(&y);
}

Test(text, yaml_parses_yaml_1_1_numbers_and_booleans)
{
	static const struct {
		const char *text;
		int64_t count; /* -1: refused */
	} numbers[] = {
		{ "5", 5 },
		{ "0x1F", 31 },
		{ "010", 8 },
		{ "0o17", 15 },
		{ "0b101", 5 },
		{ "1_000", 1000 },
		{ "5.0", 5 },
		{ "1e3", 1000 },
		{ "+7", 7 },
		{ "5.5", -1 },
		{ "'5'", -1 },
		{ "0x", -1 },
		{ "1e30", -1 },
		{ "five", -1 },
		{ "_", -1 },
		{ "08", 8 },
		{ ".inf", -1 },
		{ "nan", -1 },
		{ "inf", -1 },
		{ "1e", -1 },
		{ "5 6", -1 },
		{ "_1", -1 },
		{ "0x1p4", -1 },
		{ "0b 1", -1 },
		{ "0o+7", -1 },
		{ "0b", -1 },
		{ "+0B1", 1 },
		{ "0XfF", 255 },
		{ "0b2", -1 },
		{ ".5e1", 5 },
		{ "1e15", 1000000000000000 },
		{ "9223372036854775808", -1 },
	};
	static const char *const yes[] = { "true", "True", "yes", "on", "Y" };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct thing t = { .count = -1 };
		struct buf text = { 0 };
		struct yaml y;

		buf_printf(&text, "count: %s\n", numbers[i].text);
		decode(&y, buf_cstr(&text), &t);
		cr_expect(t.count == numbers[i].count, "%s", numbers[i].text);
		cr_expect((y.error_count > 0) == (numbers[i].count < 0), "%s",
			  numbers[i].text);
		yaml_fini(&y);
		buf_fini(&text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		struct thing t = { 0 };
		struct buf text = { 0 };
		struct yaml y;

		buf_printf(&text, "on: %s\n", yes[i]);
		decode(&y, buf_cstr(&text), &t);
		cr_assert(t.on, "%s", yes[i]);
		cr_expect(!y.error_count, "%s", yes[i]);
		yaml_fini(&y);
		buf_fini(&text);
	}
}

Test(text, yaml_merge_key_does_not_override_keys_of_the_map)
{
	struct buf out = { 0 };
	struct yaml y;

	yaml_parse(&y, "f.yml",
		   bytes_of(str_of("a: &a {x: 1, y: 2}\n"
				   "b: &b {y: 3, z: 4}\n"
				   "c: {<<: *a, y: 5}\n"
				   "d: {y: 6, <<: [*b, *a]}\n"
				   "e: {'<<': 7}\n")));
	cr_assert(y.root);
	cr_assert(!y.error_count);
	yaml_dump(y.root, true, &out);
	cr_expect(check_str(str_of(buf_cstr(&out)),
			    "a:\n  x: 1\n  y: 2\nb:\n  y: 3\n  z: 4\n"
			    "c:\n  y: 5\n  x: 1\n"
			    "d:\n  y: 6\n  z: 4\n  x: 1\n"
			    "e:\n  \"<<\": 7\n"));
	yaml_fini(&y);
	buf_fini(&out);
	yaml_parse(&y, "f.yml", bytes_of(str_of("a:\n  <<: 5\n")));
	cr_assert(!y.root);
	cr_expect(check_str(str_of(buf_cstr(&y.errors)),
			    "f.yml:2:3: map merge (<<) requires a "
			    "map or a list of maps\n"));
	yaml_fini(&y);
	yaml_parse(&y, "f.yml",
		   bytes_of(str_of("<<: {count: 1}\ncount: 2\ncount: 3\n"
				   "<<: {on: yes}\n")));
	cr_assert(y.root);
	yaml_unique_keys(&y, y.root);
	cr_expect(check_str(
		str_of(buf_cstr(&y.errors)),
		"f.yml:3:1: mapping key \"count\" already defined at line 2\n"));
	cr_expect(y.root->count == 6, "both maps are merged but for count");
	yaml_fini(&y);
	yaml_parse(&y, "f.yml", bytes_of(str_of("a: {<<: [{x: 1}, [y]]}\n")));
	cr_assert(!y.root);
	cr_expect(y.error_count == 1);
	yaml_fini(&y);
}

Test(text, yaml_size_and_depth_are_limited)
{
	struct buf deep = { 0 };
	struct buf wide = { 0 };
	struct thing t;
	struct yaml y;

	for (int i = 0; i < 200000; i++)
		buf_byte(&deep, '[');
	yaml_parse(&y, "f.yml", buf_bytes(&deep));
	cr_assert(!y.root);
	cr_expect(y.error_count == 1);
	yaml_fini(&y);
	/*
	 * The "billion laughs": nested aliases that would expand to a billion
	 * values.
	 */
	buf_str(&wide, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 10; i++)
		buf_printf(
			&wide,
			"a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
			i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
			i - 1);
	yaml_parse(&y, "f.yml", buf_bytes(&wide));
	cr_assert(!y.root);
	cr_expect(y.error_count == 1);
	yaml_fini(&y);
	decode(&y, "a: &a [*a]", &t);
	cr_expect(!y.root, "an anchor inside itself is not known");
	yaml_fini(&y);
	decode(&y, "? [a]\n: 1\n", &t);
	cr_expect(!y.root, "a key is a single value");
	yaml_fini(&y);
	decode(&y, "", &t);
	cr_assert(!y.root, "nothing is nothing");
	cr_expect(!y.error_count, "nothing is nothing");
	yaml_fini(&y);
	buf_fini(&deep);
	buf_fini(&wide);
}

struct two_values {
	int64_t first;
	int64_t second;
};

static void take_two(void *ctx, void *snapshot)
{
	int *taken = ctx;

	++*taken;
	*(struct two_values *)snapshot = (struct two_values){ 42, -7 };
}

Test(text, metric_snapshot_is_taken_once_per_exposition)
{
	static const struct metric_row rows[] = {
		METRIC_ROW(GAUGE, struct two_values, second, "b", "B."),
		METRIC_ROW(COUNTER, struct two_values, first, "a_total", "A.",
			   .scale = 0.5),
	};
	struct metrics *m = metrics_new();
	struct buf b = { 0 };
	int taken = 0;

	metrics_register_snapshot(m, &(struct metric_snapshot){
					     rows, 2, sizeof(struct two_values),
					     take_two, &taken });
	cr_expect(taken == 0, "nothing is read before it is asked for");
	metrics_write(m, &b);
	cr_expect(check_str(str_of(buf_cstr(&b)),
			    "# HELP a_total A.\n"
			    "# TYPE a_total counter\na_total 21\n"
			    "# HELP b B.\n# TYPE b gauge\nb -7\n"));
	cr_expect(taken == 1);
	metrics_write(m, &b);
	cr_expect(taken == 2);
	buf_fini(&b);
	metrics_free(m);
}

struct two_counters {
	struct metric *x;
	struct metric *y;
};

Test(text, metric_table_sets_the_pointers_of_its_struct)
{
	static const struct metric_row rows[] = {
		METRIC_ROW(COUNTER, struct two_counters, x, "n_total", "N.",
			   .label = "by", .value = "x"),
		METRIC_ROW(COUNTER, struct two_counters, y, "n_total", "N.",
			   .label = "by", .value = "y"),
	};
	struct metrics *m = metrics_new();
	struct two_counters owner = { 0 };
	struct buf b = { 0 };

	metrics_register(m, rows, 2, &owner);
	metric_add(owner.x, 1);
	metric_add(owner.y, 2);
	metrics_write(m, &b);
	cr_expect(check_str(str_of(buf_cstr(&b)),
			    "# HELP n_total N.\n# TYPE n_total counter\n"
			    "n_total{by=\"x\"} 1\nn_total{by=\"y\"} 2\n"));
	buf_fini(&b);
	metrics_free(m);
}

Test(text, metrics_are_written_in_exposition_format)
{
	struct metrics *m = metrics_new();
	struct buf b = { 0 };

	metric_add(metrics_counter(
			   m, "b_total", "B.",
			   &(struct metric_labels){ { "x" }, { "q\"\n" } }),
		   3);
	metric_set(metrics_gauge(m, "a", "A.", NULL), 42);
	metrics_scale(m, "a", 0.5);
	histogram_observe(metrics_histogram(m, "c_seconds", "C.", NULL),
			  3000000);
	metrics_write(m, &b);
	cr_expect(str_starts(str_from(buf_bytes(&b)),
			     str_of("# HELP a A.\n# TYPE a gauge\na 21\n"
				    "# HELP b_total B.\n"
				    "# TYPE b_total counter\n"
				    "b_total{x=\"q\\\"\\n\"} 3\n"
				    "# HELP c_seconds C.\n"
				    "# TYPE c_seconds histogram\n"
				    "c_seconds_bucket{le=\"0.001\"} 0\n"
				    "c_seconds_bucket{le=\"0.002\"} 0\n"
				    "c_seconds_bucket{le=\"0.005\"} 1\n")));
	cr_expect(strstr(buf_cstr(&b), "c_seconds_bucket{le=\"+Inf\"} 1\n"
				       "c_seconds_sum 0.003\n"
				       "c_seconds_count 1\n") != NULL);
	buf_fini(&b);
	metrics_free(m);
}

/*
 * A dumped document parses to the same document. A dump of that document gives
 * the same text again.
 */
Test(text, dumped_yaml_parses_to_the_same_document)
{
	static const char text[] =
		"a: {b: [1, '2', {c: d, e: []}, [x, [y]]], f: {}}\n"
		"'g: h': \"i\\n# j\"\n"
		"k: &l [~, '', null]\n"
		"m: *l\n"
		"";
	static const char want[] = "a:\n"
				   "  b:\n"
				   "    - 1\n"
				   "    - \"2\"\n"
				   "    - c: d\n"
				   "      e: []\n"
				   "    - - x\n"
				   "      - - y\n"
				   "  f: {}\n"
				   "\"g: h\": \"i\\n# j\"\n"
				   "k:\n"
				   "  - ~\n"
				   "  - \"\"\n"
				   "  - null\n"
				   "m:\n"
				   "  - ~\n"
				   "  - \"\"\n"
				   "  - null\n";
	struct buf one = { 0 };
	struct buf two = { 0 };
	struct yaml y;

	yaml_parse(&y, "a", bytes_of(str_of(text)));
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	yaml_dump(y.root, false, &one);
	yaml_fini(&y);
	cr_expect(check_str(str_from(buf_bytes(&one)), want));
	yaml_parse(&y, "b", buf_bytes(&one));
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	yaml_dump(y.root, false, &two);
	yaml_fini(&y);
	cr_expect(check_str(str_from(buf_bytes(&two)), want));
	buf_fini(&one);
	buf_fini(&two);
}

Test(text, parameters_are_added_to_urls)
{
	struct buf url = { 0 };

	buf_str(&url, "http://h/p");
	url_add_param(&url, "a", str_of("x y&"));
	url_add_param(&url, "b", str_of(""));
	cr_expect(check_str(str_from(buf_bytes(&url)),
			    "http://h/p?a=x%20y%26&b="));
	buf_fini(&url);
}
