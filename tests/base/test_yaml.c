/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML and JSON as configuration: the tree and its positions, values, merge
 * keys and anchors, the dump of a configuration, and the bounds of hostile
 * input.
 */
#include "base/yaml.h"
#include "base/yaml_dump.h"
#include "base/yaml_json.h"
#include "tests/check.h"

TestSuite(yaml, .timeout = 60);

typedef void (*parse_fn)(struct yaml *y, const char *file, struct bytes text);

static void parse_text(struct yaml *y, const char *text)
{
	yaml_parse(y, "f.yml", bytes_of(str_of(text)));
}

/* Whether the dump of a text, with its secrets, is `want`. */
static bool dumps_as(parse_fn parse, const char *text, const char *want)
{
	struct buf out = { 0 };
	struct yaml y;
	bool ok;

	parse(&y, "f", bytes_of(str_of(text)));
	yaml_dump(y.root, true, &out);
	ok = !y.error_count && check_str(str_from(buf_bytes(&out)), want);
	if (!ok)
		fprintf(stderr, "of %s: %s", text, buf_cstr(&y.errors));
	yaml_fini(&y);
	buf_fini(&out);
	return ok;
}

/*
 * Whether a text is refused with one error that begins with `begin` and has
 * `part` in it.
 */
static bool is_refused(parse_fn parse, struct bytes text, const char *begin,
		       const char *part)
{
	struct yaml y;
	struct str first;
	bool ok;

	parse(&y, "f", text);
	first = yaml_first_error(&y);
	ok = !y.root && y.error_count == 1 &&
	     str_starts(first, str_of(begin)) &&
	     strstr(buf_cstr(&y.errors), part);
	if (!ok)
		fprintf(stderr, "got \"%.*s\", want \"%s…%s\"\n",
			STR_ARG(first), begin, part);
	yaml_fini(&y);
	return ok;
}

struct values {
	struct str text;
	struct str secret;
	int64_t whole;
	int64_t limit;
	int64_t wait;
	int64_t size;
	bool on;
};

static const struct yaml_field value_fields[] = {
	{ "text", yaml_text, offsetof(struct values, text), NULL },
	{ "secret", yaml_secret, offsetof(struct values, secret), NULL },
	{ "whole", yaml_int, offsetof(struct values, whole), NULL },
	{ "limit", yaml_limit, offsetof(struct values, limit), NULL },
	{ "wait", yaml_duration, offsetof(struct values, wait), NULL },
	{ "size", yaml_size, offsetof(struct values, size), NULL },
	{ "on", yaml_bool, offsetof(struct values, on), NULL },
	{ "old", NULL, 0, "it is old" },
	{ 0 },
};

Test(yaml, values_are_decoded_into_their_members)
{
	static const char text[] = "text: a b\n"
				   "secret: s3cret\n"
				   "whole: -0x10\n"
				   "limit: 0\n"
				   "wait: 1m30s\n"
				   "size: 1.5KB\n"
				   "on: off\n";
	struct values v = { .on = true };
	struct yaml y;

	parse_text(&y, text);
	cr_assert(y.root);
	yaml_decode(&y, y.root, "values", value_fields, &v);
	cr_assert(!y.error_count, "%s", buf_cstr(&y.errors));
	cr_expect(!y.warnings.len, "%s", buf_cstr(&y.errors));
	cr_assert(check_str(v.text, "a b"));
	cr_expect(!v.text.ptr[v.text.len]);
	cr_expect(check_str(v.secret, "s3cret"));
	cr_assert(v.whole == -16);
	cr_assert(v.limit == 0);
	cr_expect(v.wait == 90000);
	cr_assert(v.size == 1536);
	cr_expect(!v.on);
	cr_expect(yaml_child(y.root, "secret")->secret);
	cr_expect(!yaml_child(y.root, "text")->secret);
	yaml_fini(&y);
}

Test(yaml, null_keeps_the_default)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	static const char *const texts[] = { "''", "'null'", "\"~\"" };

	for (size_t i = 0; i < ARRAY_SIZE(nulls) + ARRAY_SIZE(texts); i++) {
		bool is_null = i < ARRAY_SIZE(nulls);
		struct values v = { .text = str_of("default"), .whole = 7 };
		struct buf text = { 0 };
		struct yaml y;

		buf_printf(&text, "text: %s\nwhole:\n",
			   is_null ? nulls[i] : texts[i - ARRAY_SIZE(nulls)]);
		parse_text(&y, buf_cstr(&text));
		cr_assert(y.root);
		yaml_decode(&y, y.root, "values", value_fields, &v);
		cr_assert(!y.error_count);
		cr_expect(v.whole == 7);
		cr_expect(str_is(v.text, "default") == is_null, "%s",
			  buf_cstr(&text));
		cr_expect(yaml_is_null(yaml_child(y.root, "text")) == is_null);
		yaml_fini(&y);
		buf_fini(&text);
	}
	cr_expect(yaml_is_null(NULL));
}

Test(yaml, values_of_another_kind_are_refused_where_they_stand)
{
	static const struct {
		const char *text;
		const char *want; /* "" : it is accepted */
	} cases[] = {
		{ "limit: -1", "f.yml:1:8: " },
		{ "limit: -0", "" },
		{ "limit: 9223372036854775807", "" },
		{ "limit: x", "f.yml:1:8: " },
		{ "whole: 9223372036854775808", "f.yml:1:8: " },
		{ "whole: -9223372036854775807", "" },
		{ "whole: 1:30", "f.yml:1:8: " },
		{ "whole: |\n  5\n", "f.yml:1:8: " },
		{ "whole: 0777777777777777777777", "" },
		{ "whole: 01000000000000000000000", "f.yml:1:8: " },
		{ "whole: --1", "f.yml:1:8: " },
		{ "whole: {a: 1}", "f.yml:1:8: " },
		{ "on: 1", "f.yml:1:5: " },
		{ "on: 'true'", "f.yml:1:5: " },
		{ "on: tRUE", "f.yml:1:5: " },
		{ "on: FALSE", "" },
		{ "on: N", "" },
		{ "wait: 5", "f.yml:1:7: " },
		{ "wait: '5s'", "" },
		{ "wait: [5s]", "f.yml:1:7: " },
		{ "size: 5 parsecs", "f.yml:1:7: " },
		{ "size: 12", "" },
		{ "text: \"a\\0b\"", "f.yml:1:7: " },
		{ "secret: [hunter2]", "f.yml:1:9: " },
		{ "text: 5", "" },
		{ "no: 1", "f.yml:1:1: field no not found in values" },
		{ "\n\n  text: {}", "f.yml:3:9: " },
		{ "[]", "f.yml:1:1: values must be a map" },
		{ "text", "f.yml:1:1: values must be a map" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct values v = { 0 };
		struct yaml y;

		parse_text(&y, cases[i].text);
		cr_assert(y.root, "%s", cases[i].text);
		yaml_decode(&y, y.root, "values", value_fields, &v);
		cr_expect(y.error_count == (*cases[i].want != 0), "%s: %s",
			  cases[i].text, buf_cstr(&y.errors));
		cr_expect(
			str_starts(yaml_first_error(&y), str_of(cases[i].want)),
			"%s: %s", cases[i].text, buf_cstr(&y.errors));
		cr_expect(!strstr(buf_cstr(&y.errors), "hunter2"));
		yaml_fini(&y);
	}
}

Test(yaml, a_node_of_the_wrong_kind_has_one_error)
{
	struct values v = { 0 };
	struct yaml y;

	parse_text(&y, "text: {}\nsize: x\n");
	cr_assert(y.root);
	yaml_decode(&y, y.root, "values", value_fields, &v);
	cr_expect(y.error_count == 2);
	yaml_error(&y, yaml_child(y.root, "text"),
		   "it must be a or b, not \"\"");
	cr_expect(y.error_count == 2, "%s", buf_cstr(&y.errors));
	yaml_error(&y, yaml_child(y.root, "size"), "another mistake");
	cr_expect(y.error_count == 3, "%s", buf_cstr(&y.errors));
	yaml_fini(&y);
}

Test(yaml, of_duplicate_keys_the_first_is_decoded)
{
	struct values v = { 0 };
	struct yaml y;

	parse_text(&y, "whole: 1\ntext: a\nwhole: 2\nwhole: 3\n");
	cr_assert(y.root);
	yaml_decode(&y, y.root, "values", value_fields, &v);
	cr_assert(y.error_count == 2);
	cr_expect(v.whole == 1);
	cr_expect(check_str(yaml_first_error(&y),
			    "f.yml:3:1: mapping key \"whole\" already defined "
			    "at line 1"));
	cr_expect(check_str(yaml_child(y.root, "whole")->text, "1"));
	cr_expect(!yaml_child(y.root, "none"));
	cr_expect(!yaml_child(yaml_child(y.root, "text"), "a"), "no map");
	yaml_fini(&y);
}

Test(yaml, aliases_stand_for_the_latest_anchor)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "a: &x 1\nb: *x\n", "a: 1\nb: 1\n" },
		{ "- &x 1\n- *x\n- &x 2\n- *x\n", "- 1\n- 1\n- 2\n- 2\n" },
		{ "a: &x [1, {b: 2}]\nc: *x\n",
		  "a:\n  - 1\n  - b: 2\nc:\n  - 1\n  - b: 2\n" },
		{ "a: &x\nb: [*x]\n", "a: \nb:\n  - \n" },
		{ "&k key: 1\nother: *k\n", "key: 1\nother: key\n" },
		{ "a: &x {b: &y 1, c: *y}\nd: {<<: *x, c: 2}\n",
		  "a:\n  b: 1\n  c: 1\nd:\n  c: 2\n  b: 1\n" },
		{ "a: &x {<<: {b: 1}, c: 2}\nd: {<<: *x}\n",
		  "a:\n  c: 2\n  b: 1\nd:\n  c: 2\n  b: 1\n" },
		{ "{<<: [], a: 1}", "a: 1\n" },
		{ "{<<: {}}", "{}\n" },
		{ "{\"<<\": {a: 1}}", "\"<<\":\n  a: 1\n" },
		{ "'5'", "\"5\"\n" },
		{ "[]", "[]\n" },
		{ "# nothing but a comment\n", "" },
		{ "---\n...\n", "" },
		{ "~", "" },
		{ "a: >\n  b\n  c\n", "a: \"b c\\n\"\n" },
		{ "a: |-\n  b\n  c\n", "a: \"b\\nc\"\n" },
		{ "\xef\xbb\xbf"
		  "a: 1\r\nb: 2\r\n",
		  "a: 1\nb: 2\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(dumps_as(yaml_parse, cases[i].text, cases[i].want));
}

Test(yaml, what_is_no_document_is_refused_at_its_place)
{
	static const struct {
		const char *text;
		const char *begin;
		const char *part;
	} cases[] = {
		{ "a: *x", "f:1:4: ", "anchor" },
		{ "a: &x [*x]", "f:1:8: ", "anchor" },
		{ "a: 1\n---\nb: 2\n", "f:2:1: ", "document" },
		{ "a:\n\tb: 1\n", "f:2:1: ", "" },
		{ "[1, 2", "f:", "expected" },
		{ "a: 'b", "f:1:", "" },
		{ "? {a: 1}\n: 2\n", "f:1:3: ", "key" },
		{ "a: 1\nb: {<<: 5}\n", "f:2:5: ", "<<" },
		{ "a: {<<: [{}, 5]}\n", "f:1:5: ", "<<" },
		{ "a: \xff\n", "f:", "" },
		{ "a: \"\\x\"\n", "f:1:", "" },
		{ "a: @b\n", "f:1:4: ", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(yaml_parse,
				     bytes_of(str_of(cases[i].text)),
				     cases[i].begin, cases[i].part),
			  "%s", cases[i].text);
	cr_expect(is_refused(yaml_parse, bytes_of((struct str){ "a: \0\n", 5 }),
			     "f:", ""));
}

Test(yaml, json_becomes_the_same_tree)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "{\"a\": [1, -2.5, true, false, null, \"x\"]}",
		  "\"a\":\n  - 1\n  - -2.5\n  - true\n  - false\n  - null\n"
		  "  - \"x\"\n" },
		{ "[]", "[]\n" },
		{ "{\"<<\": {\"a\": 1}}", "\"<<\":\n  \"a\": 1\n" },
		{ "\"text\"", "\"text\"\n" },
		{ "9223372036854775807", "9223372036854775807\n" },
		{ "{\"a\": {}, \"b\": [[]]}", "\"a\": {}\n\"b\":\n  - []\n" },
		/* of duplicate keys, the last one counts */
		{ "{\"a\": 1, \"a\": 2}", "\"a\": 2\n" },
		{ "\"\\u00e9\\n\"", "\"\xc3\xa9\\n\"\n" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(dumps_as(yaml_parse_json, cases[i].text,
				   cases[i].want));
}

Test(yaml, json_is_strict)
{
	static const struct {
		const char *text;
		const char *begin;
		const char *part;
	} cases[] = {
		{ "{\"a\": 1,}", "f:1:", "" },
		{ "{a: 1}", "f:1:", "" },
		{ "[1] x", "f:1:", "" },
		{ "[\n1,\n2", "f:3:", "" },
		{ "\"\xff\"", "f:1:", "" },
		{ "9223372036854775808", "f:1:", "" },
		{ "nul", "f:1:", "" },
		{ " ", "f:", "" },
	};
	struct values v = { 0 };
	struct yaml y;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_refused(yaml_parse_json,
				     bytes_of(str_of(cases[i].text)),
				     cases[i].begin, cases[i].part),
			  "%s", cases[i].text);
	yaml_parse_json(&y, "f", bytes_of(str_of("{\"whole\": \"5\"}")));
	cr_assert(y.root);
	yaml_decode(&y, y.root, "values", value_fields, &v);
	cr_expect(y.error_count == 1, "a string is no number");
	cr_expect(str_starts(yaml_first_error(&y), str_of("f: ")),
		  "JSON has no positions");
	yaml_fini(&y);
}

/* Makes a text of n times `open`, then n times `close`. */
static struct buf nested(size_t n, char open, char close)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < n; i++)
		buf_byte(&b, (uint8_t)open);
	for (size_t i = 0; i < n; i++)
		buf_byte(&b, (uint8_t)close);
	return b;
}

/* Makes a list of n ones. */
static struct buf ones(size_t n)
{
	struct buf b = { 0 };

	buf_byte(&b, '[');
	for (size_t i = 0; i < n; i++)
		buf_str(&b, i ? ",1" : "1");
	buf_byte(&b, ']');
	return b;
}

Test(yaml, levels_and_values_end_at_their_limits)
{
	static const parse_fn parsers[] = { yaml_parse, yaml_parse_json };

	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		struct buf fits = nested(YAML_DEPTH_MAX, '[', ']');
		struct buf deep = nested(YAML_DEPTH_MAX + 1, '[', ']');
		/* The list counts as a value, too, beside its elements. */
		struct buf wide = ones(YAML_NODES_MAX - 1);
		struct buf wider = ones(YAML_NODES_MAX);
		struct yaml y;

		parsers[i](&y, "f", buf_bytes(&fits));
		cr_assert(y.root, "%s", buf_cstr(&y.errors));
		cr_expect(!y.error_count, "%s", buf_cstr(&y.errors));
		yaml_fini(&y);
		cr_expect(is_refused(parsers[i], buf_bytes(&deep), "f",
				     "levels deep"));
		parsers[i](&y, "f", buf_bytes(&wide));
		cr_assert(y.root, "%s", buf_cstr(&y.errors));
		cr_expect(!y.error_count, "%s", buf_cstr(&y.errors));
		yaml_fini(&y);
		cr_expect(is_refused(parsers[i], buf_bytes(&wider), "f",
				     "more than 500000"));
		buf_fini(&fits);
		buf_fini(&deep);
		buf_fini(&wide);
		buf_fini(&wider);
	}
}

Test(yaml, a_text_is_at_most_ten_mib)
{
	static const parse_fn parsers[] = { yaml_parse, yaml_parse_json };
	struct buf text = { 0 };

	buf_reserve(&text, YAML_TEXT_MAX + 1);
	memset(text.ptr, ' ', YAML_TEXT_MAX + 1);
	text.ptr[0] = '1';
	text.len = YAML_TEXT_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		struct yaml y;

		text.len = YAML_TEXT_MAX;
		parsers[i](&y, "f", buf_bytes(&text));
		cr_assert(y.root);
		cr_expect(check_str(y.root->text, "1"));
		yaml_fini(&y);
		text.len++;
		cr_expect(is_refused(parsers[i], buf_bytes(&text),
				     "f: ", "larger than 10 MB"));
	}
	buf_fini(&text);
}

Test(yaml, messages_are_counted_beyond_those_that_are_kept)
{
	struct yaml y;

	yaml_begin(&y, "f");
	cr_assert(!y.root);
	cr_expect(!y.error_count);
	cr_expect(!yaml_first_error(&y).len);
	for (int i = 0; i < 5000; i++) {
		yaml_error(&y, NULL, "error %d of a row of many", i);
		yaml_warn(&y, NULL, "warning %d of a row of many", i);
	}
	cr_expect(y.error_count == 5000, "warnings are none");
	cr_assert(y.errors.len <= 64 * KIB);
	cr_expect(y.errors.len > 60 * KIB);
	cr_assert(y.warnings.len <= 64 * KIB);
	cr_expect(y.warnings.len > 60 * KIB);
	cr_expect(
		check_str(yaml_first_error(&y), "f: error 0 of a row of many"));
	cr_expect(y.errors.ptr[y.errors.len - 1] == '\n', "whole lines");
	yaml_fini(&y);
}

Test(yaml, paths_are_relative_to_the_file_that_names_them)
{
	static const struct {
		const char *file;
		const char *path;
		const char *want;
	} cases[] = {
		{ "/etc/everprof.yml", "ca.pem", "/etc/ca.pem" },
		{ "/etc/everprof.yml", "tls/ca.pem", "/etc/tls/ca.pem" },
		{ "/etc/everprof.yml", "/ca.pem", "/ca.pem" },
		{ "/everprof.yml", "ca.pem", "/ca.pem" },
		{ "conf/everprof.yml", "../ca.pem", "conf/../ca.pem" },
		{ "everprof.yml", "ca.pem", "ca.pem" },
		{ "/etc/everprof.yml", "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml y;

		yaml_begin(&y, cases[i].file);
		cr_expect(check_str(yaml_path(&y, str_of(cases[i].path)),
				    cases[i].want));
		yaml_fini(&y);
	}
}

Test(yaml, secrets_and_ignored_values_are_not_shown)
{
	static const char text[] = "text: shown\n"
				   "secret: hunter2\n"
				   "old: {password: hunter3}\n"
				   "whole: 1\n";
	struct values v = { 0 };
	struct buf out = { 0 };
	struct yaml y;

	parse_text(&y, text);
	cr_assert(y.root);
	yaml_decode(&y, y.root, "values", value_fields, &v);
	cr_expect(!y.error_count);
	cr_expect(check_str(str_of(buf_cstr(&y.warnings)),
			    "f.yml:3:1: warning: old is ignored: it is old\n"));
	yaml_dump(y.root, false, &out);
	cr_expect(check_str(str_from(buf_bytes(&out)),
			    "text: shown\nsecret: <secret>\n"
			    "old: <ignored>\nwhole: 1\n"));
	buf_reset(&out);
	yaml_dump(y.root, true, &out);
	cr_expect(check_str(str_from(buf_bytes(&out)),
			    "text: shown\nsecret: hunter2\n"
			    "old:\n  password: hunter3\nwhole: 1\n"));
	yaml_fini(&y);
	buf_reset(&out);
	yaml_dump(NULL, false, &out);
	cr_expect(!out.len);
	/* An empty secret is shown, because it gives nothing away. */
	parse_text(&y, "secret: ''\n");
	yaml_decode(&y, y.root, "values", value_fields, &v);
	yaml_dump(y.root, false, &out);
	cr_expect(check_str(str_from(buf_bytes(&out)), "secret: \"\"\n"));
	yaml_fini(&y);
	buf_fini(&out);
}

Test(yaml, texts_can_have_variables_of_the_environment)
{
	static const struct {
		const char *text, *want, *error;
	} cases[] = {
		{ "a", "a", NULL },
		{ "'${YAML_A}'", "x", NULL },
		{ "'b=${YAML_A},c=${YAML_B}.'", "b=x,c=${YAML_A}.", NULL },
		{ "'$YAML_A ${ $'", "$YAML_A ${ $", NULL },
		{ "''", "", NULL },
		{ "'${YAML_NONE}'", NULL, "variable YAML_NONE is not set" },
		{ "'${YAML_EMPTY}'", NULL,
		  "variable YAML_EMPTY is not set, or is empty" },
		{ "'${}'", NULL, "variable  is not set" },
		{ "[a]", NULL, "" },
	};

	setenv("YAML_A", "x", 1);
	setenv("YAML_B", "${YAML_A}", 1);
	setenv("YAML_EMPTY", "", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str out = str_of("");
		struct yaml y;

		yaml_parse(&y, "t", bytes_of(str_of(cases[i].text)));
		yaml_env_text(&y, y.root, &out);
		if (cases[i].want) {
			cr_assert(!y.error_count);
			cr_expect(check_str(out, cases[i].want));
		} else
			cr_expect(strstr(buf_cstr(&y.errors), cases[i].error),
				  "%s", buf_cstr(&y.errors));
		yaml_fini(&y);
	}
}
