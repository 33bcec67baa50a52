/* SPDX-License-Identifier: Apache-2.0 */
/* Target groups: how they are decoded, their bounds, and what an address is. */
#include "base/mem.h"
#include "discovery/core/target_group.h"
#include "tests/check.h"

TestSuite(target_group, .timeout = 60);

/* A list of groups as it was decoded. */
struct decoded {
	struct yaml y;
	struct target_groups *g;
};

static void decode(struct decoded *d, const char *text,
		   const struct group_meta *meta)
{
	yaml_parse(&d->y, "g.yml", bytes_of(str_of(text)));
	cr_assert(d->y.root, "%s", buf_cstr(&d->y.errors));
	d->g = target_groups_decode(&d->y, d->y.root, "groups", meta);
}

static void drop(struct decoded *d)
{
	target_groups_unref(d->g);
	yaml_fini(&d->y);
}

static bool has_label(const struct label_list *l, size_t i, const char *name,
		      const char *value)
{
	return i < l->count && check_str(l->v[i].name, name) &&
	       check_str(l->v[i].value, value);
}

Test(target_group, a_group_has_targets_and_labels_in_the_order_of_the_file)
{
	struct decoded d;
	const struct target_group *v;

	decode(&d,
	       "- targets: [b:1, a:1]\n"
	       "  labels: {z: 1, a: two, m: '', n: }\n"
	       "- labels: {only: labels}\n"
	       "- targets: ['[::1]:9']\n"
	       "- {}\n",
	       NULL);
	/* The groups stay valid after the document is freed. */
	cr_assert(!d.y.error_count, "%s", buf_cstr(&d.y.errors));
	yaml_fini(&d.y);
	cr_assert(d.g->count == 4);
	cr_assert(d.g->targets == 3);
	v = d.g->v;
	cr_assert(v[0].target_count == 2);
	cr_assert(v[0].labels.count == 4);
	cr_expect(has_label(&v[0].targets[0], 0, "__address__", "b:1"));
	cr_expect(has_label(&v[0].targets[1], 0, "__address__", "a:1"));
	cr_expect(has_label(&v[0].labels, 0, "z", "1"));
	cr_expect(has_label(&v[0].labels, 1, "a", "two"));
	cr_expect(has_label(&v[0].labels, 2, "m", ""));
	cr_expect(has_label(&v[0].labels, 3, "n", ""));
	cr_assert(!v[1].target_count);
	cr_expect(v[1].labels.count == 1);
	cr_expect(has_label(&v[2].targets[0], 0, "__address__", "[::1]:9"));
	cr_assert(!v[3].target_count);
	cr_expect(!v[3].labels.count);
	target_groups_unref(d.g);
}

Test(target_group, the_label_of_the_source_replaces_one_of_the_group)
{
	const struct group_meta meta = { "__meta_x", str_of("where") };
	struct decoded d;

	decode(&d, "[{targets: [a], labels: {b: c, __meta_x: own}}, {}]",
	       &meta);
	cr_assert(!d.y.error_count);
	cr_assert(d.g->count == 2);
	cr_assert(d.g->v[0].labels.count == 2);
	cr_expect(has_label(&d.g->v[0].labels, 1, "__meta_x", "where"));
	cr_expect(has_label(&d.g->v[1].labels, 0, "__meta_x", "where"));
	drop(&d);
}

Test(target_group, an_empty_list_has_no_groups)
{
	struct decoded d;

	decode(&d, "[]", NULL);
	cr_assert(!d.y.error_count);
	cr_assert(!d.g->count);
	cr_expect(!d.g->targets);
	drop(&d);
}

Test(target_group, mistakes_are_named_with_their_place)
{
	static const struct {
		const char *text;
		const char *at;
		const char *says;
	} cases[] = {
		{ "a: b", "1:1", "groups" },
		{ "x", "1:1", "groups" },
		{ "- x", "1:3", "groups" },
		{ "- [a]", "1:3", "groups" },
		{ "- targets: a:1", "1:12", "targets" },
		{ "- targets: {a: 1}", "1:12", "targets" },
		{ "- targets:\n  - a:1\n  - [b]", "3:5", "" },
		{ "- labels: [a]", "1:11", "labels" },
		{ "- labels: {a: [b]}", "1:15", "" },
		{ "- labels: {a: b, a: c}", "1:18", "a" },
		{ "- targets: [a]\n  targets: [b]", "2:3", "targets" },
		{ "- target: [a]", "1:3", "target" },
		{ "- labels: {'': b}", "1:12", "empty" },
		{ "- labels: {__tenant__: b}", "1:12", "__tenant__" },
		{ "- targets: [\"a\\0b\"]", "1:13", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct decoded d;
		char at[32];

		decode(&d, cases[i].text, NULL);
		snprintf(at, sizeof(at), "g.yml:%s: ", cases[i].at);
		cr_assert(d.y.error_count, "%s", cases[i].text);
		cr_expect(d.g, "%s", cases[i].text);
		cr_assert(str_starts(yaml_first_error(&d.y), str_of(at)),
			  "%s: %s", cases[i].text, buf_cstr(&d.y.errors));
		cr_expect(strstr(buf_cstr(&d.y.errors), cases[i].says),
			  "%s: %s", cases[i].text, buf_cstr(&d.y.errors));
		drop(&d);
	}
}

/*
 * Decodes a group of one target with one label, whose name and value have these
 * lengths. Returns the number of errors.
 */
static size_t errors_of_label(size_t name, size_t value)
{
	struct buf text = { 0 };
	struct decoded d;
	size_t errors;

	buf_str(&text, "- {targets: [a], labels: {? ");
	for (size_t i = 0; i < name; i++)
		buf_byte(&text, 'n');
	buf_str(&text, " : ");
	for (size_t i = 0; i < value; i++)
		buf_byte(&text, 'v');
	buf_str(&text, "}}");
	decode(&d, buf_cstr(&text), NULL);
	errors = d.y.error_count;
	cr_expect(!errors || strstr(buf_cstr(&d.y.errors), "longer"), "%s",
		  buf_cstr(&d.y.errors));
	drop(&d);
	buf_fini(&text);
	return errors;
}

Test(target_group, names_and_values_have_the_bounds_of_labels)
{
	cr_expect(errors_of_label(LABEL_NAME_MAX, 1) == 0);
	cr_expect(errors_of_label(LABEL_NAME_MAX + 1, 1) == 1);
	cr_expect(errors_of_label(1, LABEL_VALUE_MAX) == 0);
	cr_expect(errors_of_label(1, LABEL_VALUE_MAX + 1) == 1);
}

/*
 * Decodes a group of so many targets and labels, whose values have `value`
 * bytes. Returns the number of errors. Messages must contain `says`.
 */
static size_t errors_of_group(size_t targets, size_t labels, size_t value,
			      const char *says)
{
	struct buf text = { 0 };
	struct decoded d;
	size_t errors;

	buf_str(&text, "- targets: [");
	for (size_t i = 0; i < targets; i++)
		buf_str(&text, "a,");
	buf_str(&text, "]\n  labels:\n");
	for (size_t i = 0; i < labels; i++) {
		buf_printf(&text, "    l%zu: ", 1000 + i);
		for (size_t k = 0; k < value; k++)
			buf_byte(&text, 'v');
		buf_byte(&text, '\n');
	}
	decode(&d, buf_cstr(&text), NULL);
	errors = d.y.error_count;
	cr_expect(!errors || strstr(buf_cstr(&d.y.errors), says), "%s",
		  buf_cstr(&d.y.errors));
	drop(&d);
	buf_fini(&text);
	return errors;
}

Test(target_group, a_group_has_at_most_500_labels)
{
	cr_expect(errors_of_group(1, 500, 1, "") == 0);
	cr_expect(errors_of_group(1, 501, 1, "500") == 1);
}

/*
 * Each target gets a copy of all labels, so that without this bound a small
 * file could fill the memory.
 */
Test(target_group, targets_times_labels_are_bounded)
{
	cr_expect(errors_of_group(10000, 500, 1, "") == 0);
	cr_expect(errors_of_group(10001, 500, 1, "5000000") == 1);
	/*
	 * A label has 5 bytes of name and 1019 bytes of value. The labels of
	 * 4096 targets, 64 for each, have 256 MiB.
	 */
	cr_expect(errors_of_group(4096, 64, 1019, "") == 0);
	cr_expect(errors_of_group(4097, 64, 1019, "256 MB") == 1);
}

Test(target_group, references_keep_groups_alive)
{
	struct target_groups_list list = { 0 };
	struct target_groups_list copy = { 0 };
	struct decoded d;

	decode(&d, "[{targets: [a:1]}]", NULL);
	yaml_fini(&d.y);
	cr_expect(target_groups_ref(d.g) == d.g);
	*vec_add(&list) = d.g;
	target_groups_share(&copy, &list);
	target_groups_share(&copy, &list);
	cr_assert(copy.count == 2);
	cr_expect(atomic_load(&d.g->refs) == 4);
	target_groups_list_fini(&list);
	cr_assert(!list.count);
	cr_expect(atomic_load(&d.g->refs) == 3);
	target_groups_list_fini(&copy);
	cr_expect(atomic_load(&d.g->refs) == 1);
	cr_expect(has_label(&d.g->v[0].targets[0], 0, "__address__", "a:1"));
	target_groups_unref(d.g);
	target_groups_unref(NULL);
}

Test(target_group, an_address_is_a_host_with_a_port_or_without)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{ "host", true },
		{ "host:1", true },
		{ "host:65535", true },
		{ "192.0.2.1:80", true },
		{ "a-b_c.example.:9", true },
		{ "[::1]", true },
		{ "[2001:db8::1]:443", true },
		{ "%41:1", true },
		{ "", false },
		{ ":80", false },
		{ "host:", false },
		{ "host:0", false },
		{ "host:65536", false },
		{ "host:-1", false },
		{ "host:8a", false },
		{ "host:99999999999999999999", false },
		{ "host:1:2", false },
		{ "::1", false },
		{ "2001:db8::1", false },
		{ "[::1]x", false },
		{ "[::1]x:80", false },
		{ "x[::1]:80", false },
		{ "x[::1]", false },
		{ "::1]", false },
		{ "[]:", false },
		{ "http://host", false },
		{ "host/x", false },
		{ "host?x", false },
		{ "host#x", false },
		{ "u@host", false },
		{ "u:p@host:1", false },
		{ "ho st", false },
		{ " host", false },
		{ "host\n", false },
		{ "host\x7f", false },
		{ "h\xc3\xb6st", false },
		{ "ho\\st", false },
		{ "host\"", false },
		{ "<host>", false },
		{ "{host}", false },
		{ "a,b", false },
		{ "a;b", false },
		{ "a|b", false },
		{ "a^b`c", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(target_address_is_ok(str_of(cases[i].text)) ==
				  cases[i].good,
			  "\"%s\"", cases[i].text);
	cr_expect(!target_address_is_ok((struct str){ "a\0b", 3 }));
}
