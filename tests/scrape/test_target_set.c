/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets and their sets, beyond test_target.c: identity, bounds, duplicates,
 * and labels of single targets. Also profile lists.
 */
#include "base/mem.h"
#include "scrape/target/target_set.h"
#include "tests/check.h"

TestSuite(target_set, .timeout = 60);

/* A job that has one type, without a configuration file. */
struct made {
	struct profile_config type;
	struct scrape_config c;
	struct http_config *client;
	struct target_set *set;
};

/* Makes the target set of the groups that `groups`, a YAML text, lists. */
static void make(struct made *m, const char *groups,
		 const struct target_set *before)
{
	struct target_groups_list list = { 0 };
	struct yaml y;

	m->c.profiles = &m->type;
	m->c.profile_count = 1;
	yaml_parse(&y, "g.yml", bytes_of(str_of(groups)));
	cr_assert(y.root, "%s", buf_cstr(&y.errors));
	*vec_add(&list) = target_groups_decode(&y, y.root, "groups", NULL);
	cr_assert(!y.error_count, "%s", buf_cstr(&y.errors));
	yaml_fini(&y);
	m->set = target_set_make(&m->c, m->client, &list, before);
	target_groups_list_fini(&list);
}

static void begin(struct made *m)
{
	struct http_options o;

	http_options_init(&o);
	*m = (struct made){
		.type = { .name = str_of("heap"),
			  .path = str_of("/heap"),
			  .enabled = true },
		.c = { .job_name = str_of("app"),
		       .scheme = str_of("http"),
		       .common = { .interval_ms = 15000, .timeout_ms = 5000 } },
		.client = http_config_new(&o),
	};
}

static void end(struct made *m)
{
	target_set_unref(m->set);
	http_config_unref(m->client);
}

static struct str label_of(const struct target_set *s, size_t i,
			   const char *name)
{
	return labels_get(s->v[i].target->spec.labels, str_of(name));
}

Test(target_set, labels_of_targets_win_over_those_of_the_job)
{
	struct made m;

	begin(&m);
	make(&m,
	     "- targets: ['h:1']\n"
	     "  labels: {job: own, __name__: mine, __scheme__: https, "
	     "__scrape_interval__: 1m, __scrape_timeout__: 2s, "
	     "__profile_path__: p, instance: i}\n",
	     NULL);
	cr_assert(m.set->active == 1);
	cr_expect(check_str(label_of(m.set, 0, "job"), "own"));
	cr_expect(check_str(label_of(m.set, 0, "__name__"), "mine"));
	cr_expect(check_str(label_of(m.set, 0, "instance"), "i"));
	cr_expect(check_str(str_of(m.set->v[0].target->spec.url),
			    "https://h:1/p"));
	cr_expect(m.set->v[0].target->spec.interval_ms == 60000);
	cr_expect(m.set->v[0].target->spec.timeout_ms == 2000);
	cr_expect(!label_of(m.set, 0, "__scheme__").len, "it is not stored");
	end(&m);
}

Test(target_set, times_of_targets_have_the_bounds_of_jobs)
{
	static const struct {
		const char *label;
		const char *value;
		bool good;
	} cases[] = {
		{ "__scrape_interval__", "1ms", true },
		{ "__scrape_interval__", "1d", true },
		{ "__scrape_interval__", "0s", false },
		{ "__scrape_interval__", "86400001ms", false },
		{ "__scrape_interval__", "15", false },
		{ "__scrape_timeout__", "1d", true },
		{ "__scrape_timeout__", "0s", false },
		{ "__scrape_timeout__", "25h", false },
		{ "__scrape_timeout__", "x", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m;
		char text[100];

		snprintf(text, sizeof(text),
			 "[{targets: ['h:1'], labels: {%s: '%s'}}]",
			 cases[i].label, cases[i].value);
		begin(&m);
		make(&m, text, NULL);
		cr_assert(m.set->active == cases[i].good, "%s: %s",
			  cases[i].label, cases[i].value);
		cr_expect(m.set->dropped == !cases[i].good, "%s: %s",
			  cases[i].label, cases[i].value);
		if (!cases[i].good) {
			cr_assert(strstr(m.set->v[0].dropped, cases[i].label),
				  "%s", m.set->v[0].dropped);
			cr_expect(strstr(m.set->v[0].dropped, cases[i].value),
				  "%s", m.set->v[0].dropped);
		}
		end(&m);
	}
}

/*
 * The seconds of a profile are added to its timeout. Seconds out of bounds are
 * sent to the target, but not added.
 */
Test(target_set, seconds_out_of_bounds_are_sent_but_not_waited_for)
{
	static const struct {
		const char *seconds;
		int64_t waited; /* s */
	} cases[] = {
		{ "1", 1 },    { "3600", 3600 },
		{ "3601", 0 }, { "0", 0 },
		{ "-5", 0 },   { "1.5", 0 },
		{ "1e3", 0 },  { "99999999999999999999", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct target_spec *s;
		struct made m;
		char text[100];
		char want[100];

		snprintf(
			text, sizeof(text),
			"[{targets: ['h:1'], labels: {__param_seconds: '%s'}}]",
			cases[i].seconds);
		snprintf(want, sizeof(want), "http://h:1/heap?seconds=%s",
			 cases[i].seconds);
		begin(&m);
		make(&m, text, NULL);
		cr_assert(m.set->active == 1);
		s = &m.set->v[0].target->spec;
		cr_expect(check_str(str_of(s->url), want));
		cr_expect(s->seconds == cases[i].waited);
		cr_expect(s->timeout_ms == 5000 + cases[i].waited * 1000);
		end(&m);
	}
}

Test(target_set, a_url_of_more_than_16384_bytes_is_no_target)
{
	static const size_t lengths[] = { 16383, 16385, 60000 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct made m;
		struct param p = { .name = str_of("a") };
		size_t len = lengths[i] - strlen("http://h:1/heap?a=");
		char *value = mem_zalloc(len + 1, 1);
		bool good = lengths[i] < 16384;

		memset(value, 'v', len);
		p.value = str_of(value);
		begin(&m);
		m.c.params = &p;
		m.c.param_count = 1;
		make(&m, "[{targets: ['h:1']}]", NULL);
		cr_assert(m.set->count == 1);
		cr_assert(m.set->active == good);
		if (good)
			cr_expect(strlen(m.set->v[0].target->spec.url) ==
				  lengths[i]);
		else
			cr_expect(strstr(m.set->v[0].dropped, "16384") != NULL,
				  "%s", m.set->v[0].dropped);
		end(&m);
		mem_free(value);
	}
}

Test(target_set, of_targets_with_the_same_labels_the_first_one_stays)
{
	struct made m;

	begin(&m);
	make(&m,
	     "- {targets: ['a:1', 'a:1', 'b:1']}\n"
	     "- {targets: ['a:1'], labels: {env: x}}\n"
	     "- {targets: ['c:1'], labels: {instance: 'a:1'}}\n"
	     "- {targets: ['b:1'], labels: {__param_x: y}}\n",
	     NULL);
	/*
	 * Targets that differ only in their URLs would be stored in one series,
	 * so only the first one stays.
	 */
	cr_assert(m.set->count == 6);
	cr_assert(m.set->active == 3);
	cr_expect(m.set->dropped == 3);
	cr_assert(m.set->v[0].target);
	cr_expect(!m.set->v[1].target);
	cr_assert(m.set->v[2].target);
	cr_expect(m.set->v[3].target);
	cr_assert(!m.set->v[4].target);
	cr_expect(!m.set->v[5].target);
	cr_expect(strstr(m.set->v[4].dropped, "same labels") != NULL);
	end(&m);
}

Test(target_set, a_target_is_the_same_only_if_nothing_about_it_changed)
{
	enum change {
		NOTHING,
		INTERVAL,
		TIMEOUT,
		BODY,
		CLIENT,
		LIMIT,
		CHANGES
	};

	for (enum change k = NOTHING; k < CHANGES; k++) {
		static const char groups[] = "[{targets: ['h:1']}]";
		struct made a;
		struct made b;

		begin(&a);
		make(&a, groups, NULL);
		b = a;
		http_config_ref(b.client);
		if (k == INTERVAL)
			b.c.common.interval_ms++;
		else if (k == TIMEOUT)
			b.c.common.timeout_ms++;
		else if (k == BODY)
			b.c.common.body_size_limit++;
		else if (k == LIMIT)
			b.c.common.label_limit = 1;
		if (k == CLIENT) {
			http_config_unref(b.client);
			begin(&b);
		}
		make(&b, groups, a.set);
		cr_expect((a.set->v[0].target == b.set->v[0].target) ==
				  (k == NOTHING),
			  "change %d", k);
		/*
		 * The hash of labels and URL decides when a target is scraped.
		 * It does not change.
		 */
		cr_expect(a.set->v[0].target->hash == b.set->v[0].target->hash);
		cr_expect(!a.set->v[0].target->refused);
		cr_expect(!b.set->v[0].target->refused == (k != LIMIT));
		end(&a);
		end(&b);
	}
}

Test(target_set, a_set_outlives_the_one_it_was_made_from)
{
	struct made m;
	struct target_set *first;

	begin(&m);
	make(&m, "[{targets: ['a:1', 'b:1']}]", NULL);
	first = target_set_ref(m.set);
	target_set_unref(m.set);
	cr_expect(atomic_load(&first->refs) == 1);
	make(&m, "[{targets: ['b:1', 'c:1']}]", first);
	cr_expect(m.set->v[0].target == first->v[1].target);
	cr_expect(atomic_load(&m.set->v[0].target->refs) == 2);
	target_set_unref(first);
	cr_expect(atomic_load(&m.set->v[0].target->refs) == 1);
	cr_expect(check_str(str_of(m.set->v[0].target->spec.url),
			    "http://b:1/heap"));
	target_set_unref(NULL);
	end(&m);
}

Test(target_set, beyond_its_limit_a_job_is_not_expanded)
{
	struct made m;

	begin(&m);
	m.c.common.target_limit = 2;
	make(&m, "[{targets: ['a:1', 'b:1', 'c:1', 'd:1']}]", NULL);
	cr_expect(m.set->active == 3, "one more shows that there are more");
	cr_assert(m.set->refused);
	cr_expect(strstr(m.set->refused, "target_limit"));
	for (size_t i = 0; i < m.set->count; i++) {
		cr_assert(m.set->v[i].target->refused);
		cr_expect(m.set->v[i].target->health == TARGET_DOWN);
	}
	end(&m);
	/* Dropped targets do not count towards the limit. */
	begin(&m);
	m.c.common.target_limit = 2;
	make(&m, "[{targets: ['a:1', 'a:1', 'b/x', 'b:1']}]", NULL);
	cr_assert(m.set->active == 2);
	cr_assert(m.set->dropped == 2);
	cr_expect(!m.set->refused);
	end(&m);
}

Test(target_set, disabled_types_make_no_targets)
{
	struct made m;

	begin(&m);
	m.type.enabled = false;
	make(&m, "[{targets: ['a:1', 'b:1']}]", NULL);
	cr_assert(!m.set->count);
	cr_assert(!m.set->active);
	cr_expect(!m.set->dropped);
	end(&m);
}

/* Profile lists. */

static struct profile_list *parse(const char *text, size_t len, int *rc)
{
	struct profile_list *t = NULL;
	struct err err;

	*rc = profile_list_parse((struct bytes){ (const uint8_t *)text, len },
				 &t, &err);
	return t;
}

Test(target_set, only_links_that_go_could_have_written_name_types)
{
	static const struct {
		const char *text;
		const char *name; /* NULL: the text names no type */
	} cases[] = {
		{ "<a href='heap?debug=1'>", "heap" },
		{ "<a href=\"heap?debug=1\">", "heap" },
		{ "href='heap?debug=2'", "heap" },
		{ "href='heap?debug='", "heap" },
		{ "href='a%2Fb?debug=1'", "a/b" },
		{ "href='a%20b?debug=1'", "a b" },
		{ "href='a+b?debug=1'", "a+b" },
		{ "href='%c3%a4?debug=1'", "\xc3\xa4" },
		{ "href='indexes?debug=1'", "indexes" },
		{ "href='heap?debug=1", NULL },
		{ "href='heap?debug=1\"", NULL },
		{ "href=heap?debug=1 ", NULL },
		{ "href='heap'", NULL },
		{ "href='heap?x=1&debug=1'", NULL },
		{ "href='?debug=1'", NULL },
		{ "href='/heap?debug=1'", NULL },
		{ "href='../heap?debug=1'", NULL },
		{ "href='a/../b?debug=1'", NULL },
		{ "href='http://evil/?debug=1'", NULL },
		{ "href='a:b?debug=1'", NULL },
		{ "href='a#b?debug=1'", NULL },
		{ "href='a&amp;b?debug=1'", NULL },
		{ "href='a b?debug=1'", NULL },
		{ "href='a\\b?debug=1'", NULL },
		{ "href='\xc3\xa4?debug=1'", NULL },
		{ "href='%ff?debug=1'", NULL },
		{ "href='a%00b?debug=1'", NULL },
		{ "href='cmdline?debug=1'", NULL },
		{ "href='symbol?debug=1'", NULL },
		{ "href='trace?debug=1'", NULL },
		{ "href='tr%61ce?debug=1'", NULL },
		{ "href='index?debug=1'", NULL },
		{ "href=", NULL },
		{ "href='", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		int rc;
		struct profile_list *t = parse(text, strlen(text), &rc);

		cr_expect(rc == (cases[i].name ? 0 : ERR_INVALID), "%s", text);
		if (t && cases[i].name) {
			cr_assert(t->count == 1, "%s", text);
			cr_expect(check_str(t->v[0].name, cases[i].name), "%s",
				  text);
		}
		profile_list_unref(t);
	}
}

Test(target_set, a_path_and_a_link_have_bounds)
{
	/* A path has at most 128 bytes, and a link fewer than 256. */
	for (size_t len = 127; len < 130; len++) {
		struct buf page = { 0 };
		int rc;
		struct profile_list *t;

		buf_str(&page, "href='");
		for (size_t i = 0; i < len; i++)
			buf_byte(&page, 'p');
		buf_str(&page, "?debug=1'");
		t = parse((const char *)page.ptr, page.len, &rc);
		cr_expect(!rc == (len <= 128), "%zu", len);
		profile_list_unref(t);
		buf_fini(&page);
	}
	for (size_t len = 254; len < 258; len++) {
		struct buf page = { 0 };
		int rc;
		struct profile_list *t;

		buf_str(&page, "href='heap?debug=1");
		for (size_t i = strlen("heap?debug=1"); i < len; i++)
			buf_byte(&page, 'x');
		buf_byte(&page, '\'');
		t = parse((const char *)page.ptr, page.len, &rc);
		cr_expect(!rc == (len < 256), "%zu", len);
		profile_list_unref(t);
		buf_fini(&page);
	}
}

Test(target_set, a_page_names_as_many_types_as_there_is_room_for)
{
	struct buf page = { 0 };
	int rc;
	struct profile_list *t;

	for (int i = 0; i < TYPE_INDEX_MAX; i++)
		buf_printf(&page, "<a href='t%d?debug=1'>", i);
	/* A type that the page names twice counts once. */
	buf_str(&page, "<a href='t0?debug=1'> <a href='%740?debug=1'>");
	t = parse((const char *)page.ptr, page.len, &rc);
	cr_assert(!rc);
	cr_assert(t->count == TYPE_INDEX_MAX);
	cr_expect(check_str(t->v[63].name, "t63"));
	profile_list_unref(t);
	buf_fini(&page);
}

Test(target_set, lists_are_equal_by_their_paths_in_order)
{
	static const char ab[] = "href='a?debug=1' href='b?debug=1'";
	static const char ba[] = "href='b?debug=1' href='a?debug=1'";
	static const char a[] = "href='a?debug=1'";
	static const char escaped[] = "href='%61?debug=1'";
	int rc;
	struct profile_list *v[] = {
		parse(ab, strlen(ab), &rc),
		parse(ba, strlen(ba), &rc),
		parse(a, strlen(a), &rc),
		parse(escaped, strlen(escaped), &rc),
		NULL,
	};
	struct profile_list *same = parse(ab, strlen(ab), &rc);

	cr_expect(profile_list_eq(v[0], same));
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(v); k++)
			cr_expect(profile_list_eq(v[i], v[k]) == (i == k),
				  "%zu and %zu", i, k);
	}
	cr_assert(profile_list_ref(same) == same);
	cr_expect(!profile_list_ref(NULL));
	profile_list_unref(same);
	cr_expect(same->count == 2);
	profile_list_unref(same);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		profile_list_unref(v[i]);
}
