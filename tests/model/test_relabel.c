/* SPDX-License-Identifier: Apache-2.0 */
#include "model/relabel.h"
#include "tests/check.h"

TestSuite(relabel, .timeout = 20);

#define DROPPED "dropped"

/* Rules in YAML, and the labels before and after they are applied. */
struct relabel_case {
	const char *rules;
	const char *before; /* name=value,name=value */
	const char *after;
};

static void set_all(struct labels_builder *b, const char *text)
{
	struct str rest = str_of(text);

	while (rest.len) {
		struct str value;
		struct str name =
			str_cut(str_cut(rest, ',', &rest), '=', &value);

		labels_set(b, name, value);
	}
}

static void print(struct labels_builder *b, struct buf *out)
{
	if (b->count)
		qsort(b->v, b->count, sizeof(*b->v), label_by_name);
	for (size_t i = 0; i < b->count; i++)
		buf_printf(out, "%s%.*s=%.*s", i ? "," : "",
			   STR_ARG(b->v[i].name), STR_ARG(b->v[i].value));
}

static bool behaves(const struct relabel_case *c)
{
	struct yaml y;
	struct relabel_rules rules = { 0 };
	struct labels_builder b = { 0 };
	struct buf out = { 0 };
	bool ok;
	int rc;

	yaml_parse(&y, "r.yml", bytes_of(str_of(c->rules)));
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	relabel_decode(&y, y.root, &rules);
	cr_assert(!y.error_count, "%s", buf_cstr(&y.errors));
	set_all(&b, c->before);
	rc = relabel_run(&rules, NULL, &b, NULL, NULL);
	cr_assert(rc >= 0);
	if (rc == RELABEL_KEPT)
		print(&b, &out);
	else
		buf_str(&out, DROPPED);
	ok = check_str(str_from(buf_bytes(&out)), c->after);
	if (!ok)
		fprintf(stderr, "rules: %s\nof %s\n", c->rules, c->before);
	buf_fini(&out);
	labels_builder_fini(&b);
	relabel_rules_fini(&rules);
	yaml_fini(&y);
	return ok;
}

/*
 * The results are those of Prometheus. Most cases are from its relabel_test.go.
 */
static const struct relabel_case cases[] = {
	/* replace */
	{ "- {source_labels: [a], regex: f(.*), target_label: d, "
	  "separator: ;, replacement: 'ch${1}-ch${1}'}",
	  "a=foo,b=bar,c=baz", "a=foo,b=bar,c=baz,d=choo-choo" },
	{ "- {source_labels: [a, b], regex: 'f(.*);(.*)r', target_label: a, "
	  "replacement: 'b${1}${2}m'}\n"
	  "- {source_labels: [c, a], regex: '(b).*b(.*)ba(.*)', "
	  "target_label: d, separator: ';', replacement: '$1$2$2$3'}",
	  "a=foo,b=bar,c=baz", "a=boobam,b=bar,c=baz,d=boooom" },
	{ "- {source_labels: [a], regex: '.*(b).*', target_label: d, "
	  "replacement: $1}\n"
	  "- {source_labels: [a], regex: f, target_label: e, replacement: x}",
	  "a=aabaa", "a=aabaa,d=b" },
	{ "- {target_label: env, replacement: prod}", "a=1", "a=1,env=prod" },
	{ "- {source_labels: [a], target_label: a, replacement: ''}", "a=1,b=2",
	  "b=2" },
	{ "- {source_labels: [a], target_label: b, replacement: }", "a=1,b=2",
	  "a=1" },
	{ "- {source_labels: [none], target_label: b}", "a=1,b=2", "a=1" },
	{ "- {source_labels: [a], regex: '(.*)-(.*)', target_label: '${1}', "
	  "replacement: '$2'}",
	  "a=x-y", "a=x-y,x=y" },
	{ "- {source_labels: [a], regex: '(.*)-(.*)', target_label: '${3}', "
	  "replacement: '$2'}",
	  "a=x-y", "a=x-y" },
	{ "- {source_labels: [a, b], separator: '', target_label: c}",
	  "a=1,b=2", "a=1,b=2,c=12" },
	{ "- {source_labels: [__address__], regex: '([^:]+)(?::\\d+)?', "
	  "target_label: host}",
	  "__address__=h1:80", "__address__=h1:80,host=h1" },
	/* a dot matches a line end, too, and the regex the whole value */
	{ "- {source_labels: [a], regex: 'x.*y', target_label: b, "
	  "replacement: z}",
	  "a=x\ny", "a=x\ny,b=z" },
	{ "- {source_labels: [a], regex: oo, target_label: b, replacement: z}",
	  "a=foo", "a=foo" },
	/* templates */
	{ "- {source_labels: [a], regex: '(?P<first>.)(.)', target_label: b, "
	  "replacement: '$first-$2-$3-$$-$-${}-${2-$0'}",
	  "a=xy", "a=xy,b=x-y--$-$-${}-${2-xy" },
	{ "- {source_labels: [a], regex: '(.)(.)', target_label: b, "
	  "replacement: '$1x|${1}x|$01|$first'}",
	  "a=xy", "a=xy,b=|xx||" },
	/* keep and drop */
	{ "- {source_labels: [a], regex: .*o.*, action: drop}", "a=foo",
	  DROPPED },
	{ "- {source_labels: [a], regex: .*o.*, action: drop}\n"
	  "- {source_labels: [a], regex: f, target_label: d}",
	  "a=foo", DROPPED },
	{ "- {source_labels: [a], regex: no-match, action: drop}", "a=abc",
	  "a=abc" },
	{ "- {source_labels: [a], regex: f|o, action: drop}", "a=foo",
	  "a=foo" },
	{ "- {source_labels: [a], regex: no-match, action: keep}", "a=foo",
	  DROPPED },
	{ "- {source_labels: [a], regex: f.*, action: KEEP}", "a=foo",
	  "a=foo" },
	{ "- {action: keep, source_labels: [x], regex: ''}", "a=1", "a=1" },
	{ "- {action: keepequal, source_labels: [p], target_label: q}",
	  "p=1,q=1", "p=1,q=1" },
	{ "- {action: keepequal, source_labels: [p], target_label: q}",
	  "p=1,q=2", DROPPED },
	{ "- {action: dropequal, source_labels: [p], target_label: q}",
	  "p=1,q=1", DROPPED },
	{ "- {action: dropequal, source_labels: [p], target_label: q}",
	  "p=1,q=2", "p=1,q=2" },
	/* hashmod */
	{ "- {source_labels: [c], target_label: d, action: hashmod, "
	  "modulus: 1000}",
	  "a=foo,b=bar,c=baz", "a=foo,b=bar,c=baz,d=976" },
	{ "- {source_labels: [a], target_label: d, action: hashmod, "
	  "modulus: 1000}",
	  "a=foo\nbar", "a=foo\nbar,d=734" },
	/* labelmap, labeldrop, labelkeep */
	{ "- {regex: '(b.*)', replacement: 'bar_${1}', action: labelmap}",
	  "a=foo,b1=bar,b2=baz", "a=foo,b1=bar,b2=baz,bar_b1=bar,bar_b2=baz" },
	{ "- {regex: '__meta_(my.*)', action: labelmap}",
	  "a=foo,__meta_my_bar=aaa,__meta_my_baz=bbb,__meta_other=ccc",
	  "__meta_my_bar=aaa,__meta_my_baz=bbb,__meta_other=ccc,a=foo,"
	  "my_bar=aaa,my_baz=bbb" },
	{ "- {regex: '(a|b)', replacement: b, action: labelmap}", "a=1,b=2",
	  "a=1,b=2" },
	{ "- {regex: 'b.*', action: labeldrop}", "a=1,b1=2,b2=3,c=4,b3=5",
	  "a=1,c=4" },
	{ "- {regex: 'b.*', action: labelkeep}", "a=1,b1=2,c=4,b2=3",
	  "b1=2,b2=3" },
	/* upper and lower case, beyond ASCII too */
	{ "- {source_labels: [a], target_label: u, action: uppercase}\n"
	  "- {source_labels: [a], target_label: l, action: lowercase}",
	  "a=bAr123ÄñЖ\xf0\x90\x90\x80",
	  "a=bAr123ÄñЖ\xf0\x90\x90\x80,l=bar123äñж\xf0\x90\x90\xa8,"
	  "u=BAR123ÄÑЖ\xf0\x90\x90\x80" },
};

Test(relabel, actions_work_as_in_prometheus)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(behaves(&cases[i]), "case %zu", i);
}

static bool refused_with(const char *rules, const char *want)
{
	struct relabel_rules r = { 0 };
	struct yaml y;
	bool ok;

	yaml_parse(&y, "r.yml", bytes_of(str_of(rules)));
	if (y.root)
		relabel_decode(&y, y.root, &r);
	ok = strstr(buf_cstr(&y.errors), want) != NULL;
	if (!ok)
		fprintf(stderr, "got %swant %s\n", buf_cstr(&y.errors), want);
	relabel_rules_fini(&r);
	yaml_fini(&y);
	return ok;
}

Test(relabel, configuration_errors_name_line_and_column)
{
	cr_expect(
		refused_with("- {action: remove}",
			     "r.yml:1:12: unknown relabel action \"remove\""));
	cr_expect(refused_with(
		"- {action: replace}",
		"r.yml:1:3: action replace requires target_label"));
	cr_expect(refused_with(
		"- {action: hashmod, target_label: a, modulus: 0}",
		"r.yml:1:47: action hashmod requires a modulus of at least 1"));
	cr_expect(refused_with("- {action: keep, regex: '(?=x)'}",
			       "r.yml:1:25: invalid regular expression: "));
	cr_expect(refused_with(
		"- {action: labeldrop, regex: x, source_labels: [a]}",
		"action labeldrop does not support source_labels"));
	cr_expect(refused_with(
		"- {action: lowercase, target_label: x, replacement: y}",
		"action lowercase does not support replacement"));
	cr_expect(
		refused_with("- {action: dropequal, target_label: x, regex: y}",
			     "action dropequal does not support regex"));
	cr_expect(refused_with("- {source_labels: x, target_label: b}",
			       "source_labels must be a list"));
	cr_expect(refused_with("- {source_label: [x], target_label: b}",
			       "field source_label not found"));
	cr_expect(refused_with("{}", "relabel_configs must be a list"));
}

/*
 * Backtracking is bounded. If a regex takes too many steps, relabelling fails.
 */
Test(relabel, expensive_regexes_hit_the_step_limit)
{
	struct relabel_rules r = { 0 };
	struct labels_builder b = { 0 };
	struct err err;
	struct yaml y;
	char text[201];

	memset(text, 'a', 200);
	text[200] = 0;
	yaml_parse(&y, "r.yml",
		   bytes_of(str_of("- {source_labels: [a], target_label: b, "
				   "regex: '((a|aa)+)[xy]'}")));
	relabel_decode(&y, y.root, &r);
	cr_assert(!y.error_count);
	labels_set(&b, str_of("a"), str_of(text));
	cr_expect(relabel_run(&r, NULL, &b, NULL, &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "takes too many steps") != NULL);
	labels_builder_fini(&b);
	relabel_rules_fini(&r);
	yaml_fini(&y);
}

/* Each rule doubles the text. Relabelling fails when the text is too long. */
Test(relabel, length_of_replacements_is_limited)
{
	struct relabel_rules r = { 0 };
	struct labels_builder b = { 0 };
	struct buf text = { 0 };
	struct err err;
	struct yaml y;

	for (int i = 0; i < 60; i++)
		buf_str(&text, "- {source_labels: [a], target_label: a, "
			       "replacement: $1$1}\n");
	yaml_parse(&y, "r.yml", buf_bytes(&text));
	relabel_decode(&y, y.root, &r);
	cr_assert(!y.error_count);
	labels_set(&b, str_of("a"), str_of("xyz"));
	cr_expect(relabel_run(&r, NULL, &b, NULL, &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "is longer than 65536 bytes") != NULL);
	labels_builder_fini(&b);
	relabel_rules_fini(&r);
	yaml_fini(&y);
	buf_fini(&text);
}
