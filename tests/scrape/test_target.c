/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/run/scrape_request.h"
#include "scrape/target/target_set.h"
#include "tests/check.h"

TestSuite(target, .timeout = 10);

Test(target, due_times_are_stable_and_spread)
{
	int64_t slots[10] = { 0 };

	for (uint64_t hash = 0; hash < 1000; hash++) {
		uint64_t h = hash * 0x9e3779b97f4a7c15u;
		int64_t now = 1700000000123;
		int64_t due = target_next_due(h, 15000, now);

		cr_assert(due > now);
		cr_expect(due <= now + 15000);
		/*
		 * The due times do not depend on when the function is called.
		 */
		cr_expect(target_next_due(h, 15000, due - 1) == due);
		cr_expect(target_next_due(h, 15000, due) == due + 15000);
		slots[due % 15000 / 1500]++;
	}
	for (int i = 0; i < 10; i++) {
		cr_assert(slots[i] > 50);
		cr_expect(slots[i] < 200);
	}
}

Test(target, samples_near_the_due_time_get_that_time)
{
	cr_expect(target_sample_ms(1000, 1001, 15000) == 1000);
	cr_expect(target_sample_ms(1000, 1002, 15000) == 1000);
	cr_expect(target_sample_ms(1000, 1003, 15000) == 1003);
	cr_expect(target_sample_ms(1000, 1001, 50) == 1001);
}

/* A configuration with one job. */
struct job_test {
	struct yaml y;
	struct scrape_configs configs;
};

static struct target_set *make(struct job_test *t, const char *text,
			       const struct target_set *before)
{
	struct scrape_common d = { .interval_ms = 15000, .timeout_ms = 5000 };
	struct target_groups_list all = { 0 };
	struct http_config *client;
	struct target_set *set;

	yaml_parse(&t->y, "s.yml", bytes_of(str_of(text)));
	cr_assert(t->y.root, "%s", buf_cstr(&t->y.errors));
	t->configs = (struct scrape_configs){ 0 };
	scrape_configs_decode(&t->y, t->y.root, &d, &t->configs);
	cr_assert(!t->y.error_count, "%s", buf_cstr(&t->y.errors));
	*vec_add(&all) = target_groups_ref(t->configs.v[0].statics);
	client = before ? http_config_ref(before->v[0].target->spec.client) :
			  http_config_new(&t->configs.v[0].http);
	set = target_set_make(&t->configs.v[0], client, &all, before);
	http_config_unref(client);
	target_groups_list_fini(&all);
	return set;
}

/*
 * Makes the target set of a job. The configuration is freed, and the set stays
 * valid.
 */
static struct target_set *set_of(const char *text,
				 const struct target_set *before)
{
	struct job_test t;
	struct target_set *set = make(&t, text, before);

	scrape_configs_fini(&t.configs);
	yaml_fini(&t.y);
	return set;
}

static const struct target *find(const struct target_set *s, const char *type,
				 const char *instance)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct target *t = s->v[i].target;

		if (t &&
		    str_is(labels_get(t->spec.labels, str_of(LABEL_NAME)),
			   type) &&
		    str_is(labels_get(t->spec.labels, str_of("instance")),
			   instance))
			return t;
	}
	return NULL;
}

static bool has_labels(const struct target *t, const char *want)
{
	struct buf text = { 0 };
	bool ok;

	labels_text(t->spec.labels, &text);
	ok = check_str(str_from(buf_bytes(&text)), want);
	buf_fini(&text);
	return ok;
}

static const char *dropped(const struct target_set *s, const char *address)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->v[i].dropped &&
		    str_is(s->v[i].labels->v[0].value, address))
			return s->v[i].dropped;
	}
	return "";
}

#define ONLY(types)                                              \
	"- job_name: app\n"                                      \
	"  profiling_config:\n"                                  \
	"    pprof_config: {allocs: {enabled: false}, block: "   \
	"{enabled: false}, goroutine: {enabled: false}, mutex: " \
	"{enabled: false}, threadcreate: {enabled: false}, " types "}\n"

Test(target, urls_carry_prefix_params_and_seconds)
{
	struct target_set *s = set_of("- job_name: app\n"
				      "  scheme: https\n"
				      "  params: {'a b': ['c&d', e], Z: [1]}\n"
				      "  profiling_config: {path_prefix: /x}\n"
				      "  static_configs:\n"
				      "  - targets: ['h:1']\n"
				      "    labels: {env: dev, __hidden: 1}\n",
				      NULL);
	const struct target *t = find(s, "profile", "h:1");

	cr_assert(t);
	cr_assert(s->active == 7);
	cr_expect(check_str(
		str_of(t->spec.url),
		"https://h:1/x/debug/pprof/profile?Z=1&a%20b=c%26d&a%20b=e&seconds=10"));
	cr_expect(t->spec.timeout_ms == 15000, "seconds + scrape_timeout");
	cr_expect(has_labels(
		t, "profile{env=\"dev\",instance=\"h:1\",job=\"app\"}"));
	target_set_unref(s);
}

/* Whether the URL of a target of a job with these options is shown like this. */
static void expect_shown(const char *options, const char *type,
			 const char *want)
{
	CLEANUP(mem_freep)
	char *text = mem_printf("- job_name: app\n%s"
				"  static_configs: [{targets: ['h:1']}]\n",
				options);
	struct target_set *s = set_of(text, NULL);
	const struct target *t = find(s, type, "h:1");
	CLEANUP(mem_freep) char *shown = NULL;

	cr_assert(t);
	shown = target_url_shown(&t->spec);
	cr_expect(check_str(str_of(shown), want), "%s", options);
	target_set_unref(s);
}

Test(target, shown_urls_have_no_parameters_but_seconds)
{
	static const char heap[] = "http://h:1/debug/pprof/heap";
	static const char path[] =
		"  relabel_configs: [{target_label: "
		"__profile_path__, replacement: '/x?hidden'}]\n";

	expect_shown("", "heap", heap);
	expect_shown("", "profile",
		     "http://h:1/debug/pprof/profile?seconds=10");
	expect_shown("  params: {k: [hidden]}\n", "heap",
		     "http://h:1/debug/pprof/heap?…");
	expect_shown("  params: {k: [hidden]}\n", "profile",
		     "http://h:1/debug/pprof/profile?…");
	expect_shown(path, "heap", "http://h:1/x?…");
	expect_shown(path, "profile", "http://h:1/x?…");
}

Test(target, shown_labels_have_no_parameters_but_seconds)
{
	static const char *const cases[][3] = {
		{ "__param_token", "hidden", "<secret>" },
		{ "__param_seconds", "10", "10" },
		{ "__param_seconds2", "hidden", "<secret>" },
		{ "__meta_url", "http://h/sd?k=hidden", "http://h/sd" },
		{ "__meta_url", "http://h/sd", "http://h/sd" },
		{ "__address__", "h:1", "h:1" },
		{ "param_token", "x?y", "x?y" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels_builder b = { 0 };

		labels_set(&b, str_of(cases[i][0]), str_of(cases[i][1]));
		discovered_hide_secrets(&b);
		cr_expect(check_str(labels_builder_get(&b, str_of(cases[i][0])),
				    cases[i][2]),
			  "%s", cases[i][0]);
		labels_builder_fini(&b);
	}
}

/*
 * In conprof, the predecessor of everprof, the parameter `seconds` of one type
 * also came to other types, to a few more at each sync. Here it must not.
 */
Test(target, parameters_of_a_type_do_not_leak_to_other_types)
{
	static const char text[] = "- job_name: app\n"
				   "  params: {debug: ['0']}\n"
				   "  static_configs: [{targets: ['h:1']}]\n";
	struct target_set *s = set_of(text, NULL);

	for (int i = 0; i < 3; i++) {
		struct target_set *next = set_of(text, s);

		cr_expect(check_str(str_of(find(next, "heap", "h:1")->spec.url),
				    "http://h:1/debug/pprof/heap?debug=0"));
		cr_expect(check_str(
			str_of(find(next, "profile", "h:1")->spec.url),
			"http://h:1/debug/pprof/profile?debug=0&seconds=10"));
		cr_expect(find(next, "heap", "h:1") == find(s, "heap", "h:1"),
			  "the same target goes on");
		target_set_unref(s);
		s = next;
	}
	target_set_unref(s);
}

Test(target, relabel_rules_see_and_set_internal_labels)
{
	struct target_set *s = set_of(
		ONLY("heap: {interval: 1m}, profile: {seconds: 3}") "  relabel_configs:\n"
								    "  - {source_labels: [__address__], target_label: __param_t}\n"
								    "  - {source_labels: [__address__], target_label: instance}\n"
								    "  - {target_label: __address__, replacement: 'proxy:9'}\n"
								    "  - {source_labels: [__name__], regex: profile, "
								    "target_label: __param_seconds, replacement: 7}\n"
								    "  - {source_labels: [__name__], regex: profile, "
								    "target_label: __scrape_timeout__, replacement: 2s}\n"
								    "  - {source_labels: [__profile_path__], regex: /debug(.*), "
								    "target_label: __profile_path__, replacement: /x$1}\n"
								    "  static_configs: [{targets: ['http://h/y']}]\n",
		NULL);
	const struct target *heap = find(s, "heap", "http://h/y");
	const struct target *cpu = find(s, "profile", "http://h/y");

	cr_assert(heap);
	cr_assert(cpu);
	cr_expect(
		check_str(str_of(heap->spec.url),
			  "http://proxy:9/x/pprof/heap?t=http%3A%2F%2Fh%2Fy"));
	cr_expect(heap->spec.interval_ms == 60000);
	cr_expect(check_str(
		str_of(cpu->spec.url),
		"http://proxy:9/x/pprof/profile?seconds=7&t=http%3A%2F%2Fh%2Fy"));
	cr_assert(cpu->spec.timeout_ms == 9000);
	cr_expect(cpu->spec.seconds == 7);
	cr_expect(cpu->spec.interval_ms == 15000);
	target_set_unref(s);
}

/*
 * In conprof, one invalid target takes its whole group along. Here only the
 * invalid target is dropped.
 */
Test(target, invalid_target_is_dropped_alone_with_a_reason)
{
	struct target_set *s = set_of(
		ONLY("profile: {enabled: false}") "  relabel_configs:\n"
						  "  - {source_labels: [drop], regex: '1', action: drop}\n"
						  "  - {source_labels: [scheme], regex: (.+), target_label: "
						  "__scheme__}\n"
						  "  - {source_labels: [interval], regex: (.+), target_label: "
						  "__scrape_interval__}\n"
						  "  - {source_labels: [name], regex: x, target_label: __name__, "
						  "replacement: ''}\n"
						  "  - {source_labels: [tenant], regex: (.+), target_label: "
						  "__tenant__}\n"
						  "  static_configs:\n"
						  "  - targets: ['a:1', 'b/c', '']\n"
						  "  - {targets: ['d:1'], labels: {drop: 1}}\n"
						  "  - {targets: ['e:1'], labels: {scheme: ftp}}\n"
						  "  - {targets: ['f:1'], labels: {interval: soon}}\n"
						  "  - {targets: ['g:1'], labels: {name: x}}\n"
						  "  - {targets: ['h:1'], labels: {tenant: x}}\n"
						  "  - {targets: ['a:1']}\n",
		NULL);

	cr_assert(s->active == 1);
	cr_expect(s->dropped == 8);
	cr_expect(find(s, "heap", "a:1") != NULL);
	cr_expect(check_str(
		str_of(dropped(s, "a:1")),
		"duplicate target: after relabelling, another target of the job has the same labels"));
	cr_expect(check_str(
		str_of(dropped(s, "b/c")),
		"\"b/c\" is not a target address: expected host:port, host or [IPv6 address]:port, without scheme or path, port 1 to 65535"));
	cr_expect(check_str(str_of(dropped(s, "")),
			    "the label __address__ is empty"));
	cr_expect(check_str(str_of(dropped(s, "d:1")),
			    "dropped by relabel_configs rule 1 (drop)"));
	cr_expect(check_str(str_of(dropped(s, "e:1")),
			    "__scheme__ must be http or https, not \"ftp\""));
	cr_expect(check_str(
		str_of(dropped(s, "f:1")),
		"__scrape_interval__ must be a duration with a unit, such as 15s, above 0 and at most 1d, not \"soon\""));
	cr_expect(check_str(str_of(dropped(s, "g:1")),
			    "the label __name__ (the profile type) is empty"));
	cr_expect(check_str(str_of(dropped(s, "h:1")),
			    "label __tenant__ is reserved"));
	target_set_unref(s);
}

Test(target, unchanged_target_is_reused)
{
	struct target_set *a = set_of(
		ONLY("profile: {enabled: false}") "  static_configs: [{targets: ['a:1', 'b:1', 'c:1']}]\n",
		NULL);
	struct target_set *b = set_of(
		ONLY("profile: {enabled: false}") "  relabel_configs: [{source_labels: [__address__], regex: "
						  "'b:1', target_label: x, replacement: y}]\n"
						  "  static_configs: [{targets: ['c:1', 'b:1', 'd:1']}]\n",
		a);

	cr_expect(find(b, "heap", "c:1") == find(a, "heap", "c:1"));
	cr_expect(find(b, "heap", "b:1") != find(a, "heap", "b:1"));
	cr_assert(!find(b, "heap", "a:1"));
	cr_expect(find(b, "heap", "d:1"));
	target_set_unref(a);
	cr_expect(check_str(str_of(find(b, "heap", "c:1")->spec.url),
			    "http://c:1/debug/pprof/heap"));
	target_set_unref(b);
}

static const char *refusal(const char *limits)
{
	static char why[400];
	char text[1000];
	struct target_set *s;

	snprintf(text, sizeof(text),
		 "%s  %s\n"
		 "  static_configs: [{targets: ['a:1'], labels: {env: a}}, "
		 "{targets: ['b:1'], labels: {env: quite-long}}]\n",
		 ONLY("profile: {enabled: false}"), limits);
	s = set_of(text, NULL);
	cr_assert(s->active == 2);
	snprintf(why, sizeof(why), "%s|%s",
		 find(s, "heap", "a:1")->refused ?: "",
		 find(s, "heap", "b:1")->refused ?: "");
	target_set_unref(s);
	return why;
}

Test(target, targets_beyond_a_limit_are_refused)
{
	cr_expect(check_str(
		str_of(refusal("target_limit: 1")),
		"target_limit exceeded: the job has more than 1 targets (each profile type of an address is a target)|"
		"target_limit exceeded: the job has more than 1 targets (each profile type of an address is a target)"));
	cr_expect(check_str(str_of(refusal("target_limit: 2")), "|"));
	cr_expect(check_str(
		str_of(refusal("label_limit: 3")),
		"label_limit exceeded: 4 labels, and the limit is 3|"
		"label_limit exceeded: 4 labels, and the limit is 3"));
	cr_expect(check_str(
		str_of(refusal("label_value_length_limit: 9")),
		"|label_value_length_limit exceeded: label env has 10 bytes, and the limit is 9"));
	cr_expect(
		check_str(str_of(refusal("label_name_length_limit: 8")), "|"));
	cr_expect(strstr(refusal("label_name_length_limit: 7"),
			 "label_name_length_limit exceeded: label __name__"));
	/* With a higher limit the targets are scraped. */
	cr_expect(check_str(str_of(refusal("label_limit: 4")), "|"));
}

Test(target, keep_dropped_targets_bounds_the_listing)
{
	struct target_set *s = set_of(
		ONLY("profile: {enabled: false}") "  keep_dropped_targets: 2\n"
						  "  relabel_configs: [{action: drop}]\n"
						  "  static_configs: [{targets: ['a:1', 'b:1', 'c:1']}]\n",
		NULL);

	cr_assert(s->active == 0);
	cr_assert(s->dropped == 3);
	cr_expect(s->count == 2);
	target_set_unref(s);
}

/*
 * A profile list as Go writes it. Its links are relative to the page, but some
 * of them do not lead to profiles.
 */
#define PAGE                                                             \
	"<a href='allocs?debug=1'>allocs</a> <a href='a+b%27c?debug=1'>" \
	"<a href='cmdline?debug=1'> <a href='x.org/y?debug=1'> "         \
	"<a href=\"heap?debug=1\"> <a href='heap?debug=2'> <a href='x'>" \
	"<a href='/login?debug=1'> <a href='http://h/?debug=1'> "        \
	"<a href='../up?debug=1'> <a href='profile?debug=1'>"            \
	"<a href='trace?debug=1'> <a href='symbol?debug=1'> href="

static struct profile_list *parse_page(const char *text)
{
	struct profile_list *types;
	struct err err;

	cr_assert(!profile_list_parse(bytes_of(str_of(text)), &types, &err),
		  "%s", err.msg);
	return types;
}

Test(target, profile_list_names_types)
{
	static const char *const names[] = { "allocs", "a+b'c", "x.org/y",
					     "heap", "profile" };
	struct profile_list *t = parse_page(PAGE);
	struct profile_list *none;
	struct err err;

	cr_assert(t->count == ARRAY_SIZE(names));
	for (size_t i = 0; i < t->count; i++)
		cr_expect(check_str(t->v[i].name, names[i]));
	cr_expect(check_str(t->v[1].path, "a+b%27c"));
	profile_list_unref(t);
	cr_expect(profile_list_parse(bytes_of(str_of("<a href='heap'>")), &none,
				     &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "the page links no profiles"));
}

Test(target, profile_list_with_too_many_types_is_refused)
{
	struct buf page = { 0 };
	struct profile_list *none;
	struct err err;

	for (int i = 0; i <= TYPE_INDEX_MAX; i++)
		buf_printf(&page, "<a href='t%d?debug=1'>", i);
	cr_expect(profile_list_parse(buf_bytes(&page), &none, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "more than 64"));
	buf_fini(&page);
}

#define AUTO                                                              \
	"- job_name: app\n"                                               \
	"  profiling_config: {path_prefix: /x, pprof_config: auto}\n"     \
	"  params: {k: [v]}\n"                                            \
	"  relabel_configs: [{source_labels: [__name__], regex: allocs, " \
	"action: drop}, {target_label: zone, replacement: z}]\n"

/*
 * Makes the set again after its targets were asked for their profile lists and
 * answered `page`.
 */
static struct target_set *after_reading(struct target_set *before,
					const char *text, const char *page)
{
	for (size_t i = 0; i < before->count; i++) {
		struct target *t = before->v[i].target;

		if (t && t->spec.is_index) {
			profile_list_unref(t->found);
			t->found = parse_page(page);
		}
	}
	return set_of(text, before);
}

Test(target, auto_types_come_from_the_profile_list_of_each_target)
{
	static const char config[] = AUTO
		"  static_configs: [{targets: ['h:1', 'i:1']}]\n";
	struct target_set *s = set_of(config, NULL);
	struct target_set *read;
	const struct target *index = find(s, "index", "h:1");
	const struct target *t;

	cr_assert(s->active == 2);
	cr_assert(s->dropped == 0);
	cr_expect(check_str(str_of(index->spec.url),
			    "http://h:1/x/debug/pprof/?k=v"));
	cr_assert(index->spec.is_index);
	cr_expect(index->spec.timeout_ms == 5000);
	read = after_reading(s, config, PAGE);
	cr_assert(read->active == 2 * 5);
	cr_expect(read->dropped == 2);
	cr_expect(check_str(str_of(dropped(read, "h:1")),
			    "dropped by relabel_configs rule 1 (drop)"));
	cr_expect(find(read, "index", "h:1") == index, "it goes on");
	cr_expect(find(read, "profile", "i:1")->spec.seconds == 10);
	cr_expect(!find(read, "allocs", "h:1"), "relabelling has its say");
	t = find(read, "a+b'c", "h:1");
	cr_expect(check_str(str_of(t->spec.url),
			    "http://h:1/x/debug/pprof/a+b%27c?k=v"));
	cr_expect(has_labels(t, "{__name__=\"a+b'c\",instance=\"h:1\","
				"job=\"app\",zone=\"z\"}"));
	target_set_unref(s);
	target_set_unref(read);
}

Test(target, changed_target_keeps_its_types_until_its_profile_list_is_read)
{
	static const char config[] = AUTO
		"  static_configs: [{targets: ['h:1']}]\n";
	struct target_set *s = set_of(config, NULL);
	struct target_set *read = after_reading(s, config, PAGE);
	struct target_set *other =
		set_of(AUTO "  static_configs: [{targets: ['h:1'], labels: "
			    "{env: new}}]\n",
		       read);
	struct target_set *less;

	cr_expect(find(other, "index", "h:1") != find(read, "index", "h:1"));
	cr_expect(find(other, "heap", "h:1"));
	less = after_reading(other, config, "href='heap?debug=1'");
	cr_assert(less->active == 2);
	cr_expect(find(less, "heap", "h:1"));
	target_set_unref(s);
	target_set_unref(read);
	target_set_unref(other);
	target_set_unref(less);
}

/*
 * Here a rule keeps only one type, which is not one of Go. It must not drop the
 * profile list, because the type is found only there.
 */
Test(target, relabel_rules_on_types_keep_the_profile_list)
{
	static const char config[] =
		"- job_name: app\n"
		"  profiling_config: {pprof_config: auto}\n"
		"  relabel_configs: [{source_labels: [__name__], regex: x.org/y, "
		"action: keep}, {source_labels: [env], regex: old, action: "
		"drop}]\n"
		"  static_configs: [{targets: ['h:1']}, {targets: ['i:1'], "
		"labels: {env: old}}]\n";
	struct target_set *s = set_of(config, NULL);
	struct target_set *read;

	cr_assert(s->active == 1);
	cr_expect(s->dropped == 1);
	cr_expect(check_str(str_of(dropped(s, "i:1")),
			    "dropped by relabel_configs rule 2 (drop)"));
	read = after_reading(s, config, PAGE);
	cr_assert(read->active == 2);
	cr_expect(find(read, "x.org/y", "h:1"));
	target_set_unref(s);
	target_set_unref(read);
}

static bool asks(const char *url, const char *want)
{
	char *made = scrape_request_url(url, 3);
	bool ok = check_str(str_of(made), want);

	mem_free(made);
	return ok;
}

Test(target, requested_seconds_replace_configured_seconds)
{
	cr_expect(asks("http://h/p", "http://h/p?seconds=3"));
	cr_expect(asks("http://h/p?a=b", "http://h/p?a=b&seconds=3"));
	cr_expect(asks("http://h/p?seconds=10", "http://h/p?seconds=3"));
	cr_expect(asks("http://h/p?a=b&seconds=10&z=1",
		       "http://h/p?a=b&seconds=3&z=1"));
	cr_expect(asks("http://h/p?xseconds=10",
		       "http://h/p?xseconds=10&seconds=3"));
}
