/* SPDX-License-Identifier: Apache-2.0 */
/* The section "push" of the configuration, and what it does to labels. */
#include "push/labels/push_rules.h"

#include "tests/check.h"

/* A configuration, and the labels that it makes. */
struct ruled {
	struct yaml yaml;
	struct push_config config;
	struct push_rules *rules;
	struct labels_builder b;
	struct buf text;
	struct err err;
};

static void ruled_begin(struct ruled *r, const char *text)
{
	*r = (struct ruled){ .rules = push_rules_new() };
	yaml_parse(&r->yaml, "push.yml", bytes_of(str_of(text)));
	push_config_decode(&r->yaml, r->yaml.root, &r->config);
	push_rules_apply(r->rules, &r->config);
	labels_set(&r->b, str_of(LABEL_NAME), str_of("cpu"));
	labels_set(&r->b, str_of("region"), str_of("eu"));
	labels_set(&r->b, str_of("__tmp"), str_of("sent"));
}

static int ruled_run(struct ruled *r)
{
	const struct push_origin origin = { .app = str_of("shop"),
					    .address = str_of("10.0.0.7"),
					    .agent = str_of("sdk/1"),
					    .protocol = "ingest" };

	return push_rules_run(r->rules, &origin, &r->b, &r->err);
}

/* The labels as text. */
static const char *ruled_labels(struct ruled *r)
{
	struct labels *ls;

	cr_assert(!labels_build(&r->b, &ls, NULL));
	buf_reset(&r->text);
	labels_text(ls, &r->text);
	labels_unref(ls);
	return buf_cstr(&r->text);
}

static void ruled_end(struct ruled *r)
{
	push_rules_free(r->rules);
	push_config_fini(&r->config);
	yaml_fini(&r->yaml);
	labels_builder_fini(&r->b);
	buf_fini(&r->text);
}

Test(push_rules, without_a_section_labels_are_completed)
{
	struct ruled r;

	ruled_begin(&r, "{}");
	cr_assert(ruled_run(&r) == RELABEL_KEPT);
	cr_expect(check_str(str_of(ruled_labels(&r)),
			    "cpu{instance=\"10.0.0.7\",job=\"shop\","
			    "region=\"eu\",service_name=\"shop\"}"));
	ruled_end(&r);
}

Test(push_rules, behind_a_proxy_the_address_is_no_instance)
{
	struct ruled r;

	ruled_begin(&r, "instance: none");
	cr_assert(ruled_run(&r) == RELABEL_KEPT);
	cr_expect(check_str(str_of(ruled_labels(&r)),
			    "cpu{job=\"shop\",region=\"eu\","
			    "service_name=\"shop\"}"));
	ruled_end(&r);
}

Test(push_rules, rules_see_the_sender_and_their_own_labels_are_removed)
{
	struct ruled r;

	ruled_begin(&r, "relabel_configs:\n"
			"- {source_labels: [__meta_push_protocol, "
			"__meta_push_agent, __address__, __tmp], "
			"target_label: seen}\n"
			"- {regex: region, action: labeldrop}\n"
			"- {target_label: __tmp_x, replacement: y}\n");
	cr_assert(!r.yaml.error_count, "%s", buf_cstr(&r.yaml.errors));
	cr_assert(ruled_run(&r) == RELABEL_KEPT);
	cr_expect(check_str(str_of(ruled_labels(&r)),
			    "cpu{instance=\"10.0.0.7\",job=\"shop\","
			    "seen=\"ingest;sdk/1;10.0.0.7;\","
			    "service_name=\"shop\"}"));
	ruled_end(&r);
}

Test(push_rules, a_rule_can_drop_a_series)
{
	struct ruled r;

	ruled_begin(&r, "relabel_configs:\n"
			"- {source_labels: [region], regex: eu, action: drop}");
	cr_expect(ruled_run(&r) == RELABEL_DROPPED);
	ruled_end(&r);
}

Test(push_rules, a_rule_must_leave_the_name)
{
	struct ruled r;

	ruled_begin(&r, "relabel_configs:\n"
			"- {target_label: __name__, replacement: ''}");
	cr_expect(ruled_run(&r) == ERR_INVALID);
	cr_expect(strstr(r.err.msg, "__name__"), "%s", r.err.msg);
	ruled_end(&r);
}

Test(push_rules, mistakes_in_the_section_are_named)
{
	static const struct {
		const char *text;
		const char *why;
	} cases[] = {
		{ "instance: host", "push.yml:1:11: instance must be address "
				    "or none, not \"host\"" },
		{ "instances: none", "instances" },
		{ "relabel_configs: [{action: jump}]", "jump" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ruled r;

		ruled_begin(&r, cases[i].text);
		cr_expect(r.yaml.error_count);
		cr_expect(strstr(buf_cstr(&r.yaml.errors), cases[i].why), "%s",
			  buf_cstr(&r.yaml.errors));
		ruled_end(&r);
	}
}
