/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relabelling rules as a list: which rule decides, which are skipped, what
 * their keys mean, and their limits.
 */
#include "model/relabel.h"
#include "tests/check.h"

TestSuite(rules, .timeout = 20);

/* Rules and the document that owns them. */
struct ruled {
	struct yaml yaml;
	struct relabel_rules rules;
};

static void ruled_init(struct ruled *r, const char *text)
{
	*r = (struct ruled){ 0 };
	yaml_parse(&r->yaml, "r.yml", bytes_of(str_of(text)));
	if (r->yaml.root)
		relabel_decode(&r->yaml, r->yaml.root, &r->rules);
}

static void ruled_fini(struct ruled *r)
{
	relabel_rules_fini(&r->rules);
	yaml_fini(&r->yaml);
}

/*
 * Applies one rule to a label "a" with this value. *out becomes the value of
 * the label "b".
 */
static int apply_one(const char *rule, struct str value, struct buf *out,
		     struct err *err)
{
	struct labels_builder b = { 0 };
	struct ruled r;
	struct str got;
	int rc;

	ruled_init(&r, rule);
	cr_assert(!r.yaml.error_count, "%s", buf_cstr(&r.yaml.errors));
	cr_assert(r.rules.count == 1, "%s", buf_cstr(&r.yaml.errors));
	labels_set(&b, str_of("a"), value);
	rc = relabel_apply(&r.rules.v[0], &b, err);
	got = labels_builder_get(&b, str_of("b"));
	buf_reset(out);
	buf_add(out, got.ptr, got.len);
	labels_builder_fini(&b);
	ruled_fini(&r);
	return rc;
}

Test(rules, the_rule_that_decides_is_told)
{
	static const char text[] =
		"- {target_label: seen, replacement: one}\n"
		"- {source_labels: [a], regex: x, action: drop}\n"
		"- {target_label: seen, replacement: two}\n"
		"- {source_labels: [__tmp], regex: keep, action: keep}\n"
		"- {target_label: seen, replacement: three}\n";
	static const struct {
		const char *a;
		const char *tmp;
		const char *but;
		int rc;
		size_t by;
		const char *seen;
	} cases[] = {
		{ "y", "keep", NULL, RELABEL_KEPT, 4, "three" },
		{ "x", "keep", NULL, RELABEL_DROPPED, 1, "one" },
		{ "y", "", NULL, RELABEL_DROPPED, 3, "two" },
		{ "x", "keep", "a", RELABEL_KEPT, 4, "three" },
		{ "x", "", "a", RELABEL_DROPPED, 3, "two" },
		{ "y", "", "__tmp", RELABEL_KEPT, 4, "three" },
		{ "x", "", "seen", RELABEL_DROPPED, 1, "one" },
	};
	struct ruled r;

	ruled_init(&r, text);
	cr_assert(r.rules.count == 5);
	cr_assert(!r.yaml.error_count);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels_builder b = { 0 };
		size_t by = 99;

		labels_set(&b, str_of("a"), str_of(cases[i].a));
		labels_set(&b, str_of("__tmp"), str_of(cases[i].tmp));
		cr_expect(relabel_run(&r.rules, cases[i].but, &b, &by, NULL) ==
				  cases[i].rc,
			  "case %zu", i);
		cr_expect(by == cases[i].by, "case %zu: %zu", i, by);
		cr_expect(check_str(labels_builder_get(&b, str_of("seen")),
				    cases[i].seen));
		labels_builder_fini(&b);
	}
	ruled_fini(&r);
}

Test(rules, no_rules_keep_everything)
{
	struct labels_builder b = { 0 };
	struct relabel_rules none = { 0 };
	struct ruled r;
	size_t by = 99;

	cr_expect(relabel_run(&none, NULL, &b, &by, NULL) == RELABEL_KEPT);
	cr_expect(by == 99);
	relabel_rules_fini(&none);
	ruled_init(&r, "[]");
	cr_assert(!r.rules.count);
	cr_expect(!r.yaml.error_count);
	ruled_fini(&r);
}

Test(rules, rules_that_judge_by_a_label_are_known)
{
	static const struct {
		const char *rule;
		const char *label;
		bool judges;
	} cases[] = {
		{ "- {action: keep, source_labels: [a, b], regex: x}", "b",
		  true },
		{ "- {action: drop, source_labels: [a, b], regex: x}", "a",
		  true },
		{ "- {action: drop, source_labels: [a, b], regex: x}", "c",
		  false },
		{ "- {action: keepequal, source_labels: [a], target_label: t}",
		  "t", true },
		{ "- {action: dropequal, source_labels: [a], target_label: t}",
		  "a", true },
		{ "- {action: dropequal, source_labels: [a], target_label: t}",
		  "b", false },
		{ "- {source_labels: [a], target_label: t}", "a", false },
		{ "- {source_labels: [a], target_label: t}", "t", false },
		{ "- {action: labeldrop, regex: a}", "a", false },
		{ "- {action: labelkeep, regex: a}", "a", false },
		{ "- {action: hashmod, source_labels: [a], target_label: t, "
		  "modulus: 2}",
		  "a", false },
		{ "- {action: keep, regex: x}", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ruled r;

		ruled_init(&r, cases[i].rule);
		cr_assert(r.rules.count == 1, "%s", cases[i].rule);
		cr_assert(!r.yaml.error_count, "%s", cases[i].rule);
		cr_expect(relabel_judges_by(&r.rules.v[0],
					    str_of(cases[i].label)) ==
				  cases[i].judges,
			  "%s by %s", cases[i].rule, cases[i].label);
		ruled_fini(&r);
	}
}

Test(rules, rules_that_change_a_label_are_known)
{
	static const struct {
		const char *rule;
		bool changes;
	} cases[] = {
		{ "[{target_label: job, replacement: x}]", true },
		{ "[{target_label: jobs, replacement: x}]", false },
		{ "[{source_labels: [job], target_label: a}]", false },
		{ "[{source_labels: [job], action: drop, regex: a}]", false },
		{ "[{source_labels: [a], action: hashmod, modulus: 2, "
		  "target_label: job}]",
		  true },
		{ "[{source_labels: [job], action: uppercase, "
		  "target_label: job}]",
		  true },
		{ "[{action: labeldrop, regex: 'j.*'}]", true },
		{ "[{action: labeldrop, regex: 'a.*'}]", false },
		{ "[{action: labelkeep, regex: 'j.*'}]", false },
		{ "[{action: labelkeep, regex: 'a.*'}]", true },
		{ "[{action: labelmap, regex: 'a(.*)'}]", false },
		{ "[{action: labelmap, regex: a, replacement: job}]", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ruled r;

		ruled_init(&r, cases[i].rule);
		cr_assert(r.rules.count == 1, "%s", cases[i].rule);
		cr_expect(relabel_changes(&r.rules.v[0], str_of("job")) ==
				  cases[i].changes,
			  "%s", cases[i].rule);
		ruled_fini(&r);
	}
}

Test(rules, defaults_are_those_of_prometheus)
{
	struct ruled r;
	const struct relabel_rule *rule;

	ruled_init(&r, "- target_label: t\n"
		       "- {target_label: t, separator: , regex: ~, "
		       "replacement: null}\n");
	cr_assert(r.rules.count == 2);
	cr_assert(!r.yaml.error_count);
	rule = &r.rules.v[0];
	cr_assert(rule->action == RELABEL_REPLACE);
	cr_expect(!rule->source_count);
	cr_expect(check_str(rule->separator, ";"));
	cr_expect(check_str(rule->pattern, "(.*)"));
	cr_assert(check_str(rule->replacement, "$1"));
	cr_expect(!rule->modulus);
	cr_assert(rule->node->line == 1);
	cr_expect(rule->node->column == 3);
	rule = &r.rules.v[1];
	cr_assert(check_str(rule->separator, ""));
	cr_assert(check_str(rule->pattern, ""));
	cr_expect(check_str(rule->replacement, ""));
	cr_assert(regex_matches(rule->regex, str_of("")));
	cr_expect(!regex_matches(rule->regex, str_of("x")));
	ruled_fini(&r);
	ruled_fini(&r);
}

Test(rules, every_action_has_its_name)
{
	for (int a = RELABEL_REPLACE; a <= RELABEL_UPPERCASE; a++) {
		const char *name = relabel_action_name((enum relabel_action)a);
		struct buf text = { 0 };
		struct ruled r;

		buf_printf(&text, "- {action: %s}", name);
		ruled_init(&r, buf_cstr(&text));
		cr_assert(r.rules.count == 1);
		cr_expect(r.rules.v[0].action == (enum relabel_action)a, "%s",
			  name);
		cr_expect(!strstr(buf_cstr(&r.yaml.errors), "no action"));
		ruled_fini(&r);
		buf_fini(&text);
	}
}

Test(rules, every_mistake_of_a_list_is_reported)
{
	struct ruled r;

	ruled_init(&r, "- {action: hashmod, modulus: -1}\n"
		       "- 5\n"
		       "- {action: keep, regex: '['}\n"
		       "- {action: labelmap, replacement: ''}\n"
		       "- {action: uppercase, source_labels: ['', [x], 1]}\n");
	cr_expect(r.yaml.error_count == 8, "%s", buf_cstr(&r.yaml.errors));
	cr_expect(strstr(buf_cstr(&r.yaml.errors), "r.yml:1:30: "));
	cr_expect(
		strstr(buf_cstr(&r.yaml.errors), "r.yml:1:3: action hashmod"));
	cr_expect(strstr(buf_cstr(&r.yaml.errors), "r.yml:2:3: "));
	cr_expect(strstr(buf_cstr(&r.yaml.errors), "r.yml:3:25: "));
	cr_expect(
		strstr(buf_cstr(&r.yaml.errors), "r.yml:4:3: action labelmap"));
	cr_expect(strstr(buf_cstr(&r.yaml.errors), "r.yml:5:39: "));
	cr_expect(strstr(buf_cstr(&r.yaml.errors), "r.yml:5:43: "));
	cr_expect(strstr(buf_cstr(&r.yaml.errors),
			 "r.yml:5:3: action uppercase"));
	ruled_fini(&r);
}

Test(rules, more_groups_than_fit_on_the_stack_are_kept)
{
	struct buf rule = { 0 };
	struct buf out = { 0 };

	buf_str(&rule, "- {source_labels: [a], target_label: b, regex: '");
	for (int i = 0; i < 40; i++)
		buf_str(&rule, "(.)");
	buf_str(&rule, "', replacement: '$1$16${17}$40$41${x}'}");
	cr_expect(apply_one(buf_cstr(&rule),
			    str_of("0123456789abcdefghijklmnopqrstuvwxyzABCD"),
			    &out, NULL) == RELABEL_KEPT);
	cr_expect(check_str(str_from(buf_bytes(&out)), "0fgD"));
	buf_fini(&rule);
	buf_fini(&out);
}

Test(rules, texts_that_are_made_end_at_their_limits)
{
	static char letters[LABEL_VALUE_MAX + 1];
	static const struct {
		const char *rule;
		size_t value_len;
		int rc;
		size_t made;
	} cases[] = {
		{ "- {source_labels: [a], target_label: b}", LABEL_VALUE_MAX,
		  RELABEL_KEPT, LABEL_VALUE_MAX },
		{ "- {source_labels: [a], target_label: b, replacement: x$1}",
		  LABEL_VALUE_MAX, ERR_LIMIT, 0 },
		{ "- {source_labels: [a], target_label: b, replacement: x$1}",
		  LABEL_VALUE_MAX - 1, RELABEL_KEPT, LABEL_VALUE_MAX },
		/* A rule may make a label name of at most 1024 bytes. */
		{ "- {source_labels: [a], target_label: $1}", LABEL_NAME_MAX,
		  RELABEL_KEPT, 0 },
		{ "- {source_labels: [a], target_label: $1}",
		  LABEL_NAME_MAX + 1, ERR_LIMIT, 0 },
	};
	struct buf out = { 0 };
	struct err err;

	memset(letters, 'x', sizeof(letters));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str value = { letters, cases[i].value_len };

		cr_expect(apply_one(cases[i].rule, value, &out, &err) ==
				  cases[i].rc,
			  "case %zu", i);
		cr_expect(out.len == cases[i].made, "case %zu: %zu", i,
			  out.len);
	}
	buf_fini(&out);
}

Test(rules, hashes_and_cases_are_prometheus)
{
	static const struct {
		const char *rule;
		const char *value;
		const char *want;
	} cases[] = {
		{ "- {action: hashmod, source_labels: [a], target_label: b, "
		  "modulus: 1}",
		  "x", "0" },
		/*
		 * There is no label "none", so its value is "". The last 8
		 * bytes of MD5("") are e9800998ecf8427e.
		 */
		{ "- {action: hashmod, source_labels: [none], "
		  "target_label: b, modulus: 9223372036854775807}",
		  "x", "7602086723416769151" },
		{ "- {action: uppercase, source_labels: [a], target_label: b}",
		  "a\xc3\x9f\xff-1", "A\xc3\x9f\xef\xbf\xbd-1" },
		{ "- {action: lowercase, source_labels: [none], "
		  "target_label: b}",
		  "x", "" },
		{ "- {source_labels: [a, a, none, a], separator: '--', "
		  "target_label: b}",
		  "x", "x--x----x" },
		{ "- {source_labels: [a], target_label: b, "
		  "replacement: '${0}|$00|$1$1|$99999999999999999999'}",
		  "x", "x||xx|" },
	};
	struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_expect(apply_one(cases[i].rule, str_of(cases[i].value), &out,
				    NULL) == RELABEL_KEPT);
		cr_expect(check_str(str_from(buf_bytes(&out)), cases[i].want));
	}
	buf_fini(&out);
}
