/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by labels: tagfocus, tagignore, tagshow, taghide; the units of
 * numeric labels; and tagroot, which makes frames of labels.
 */
#include "pprof/filter/tagfilter.h"
#include "pprof/filter/tagroot.h"
#include "tests/pprof/sketch.h"

TestSuite(tag_filters, .timeout = 30);

static const struct limits all_permitted;

/*
 * Each sample has another leaf, so the letters of the leaves tell which samples
 * are left.
 */
static const char labelled[] = "a 1 pod=web-1 zone=eu\n"
			       "b 1 pod=web-2\n"
			       "c 1 pod=db-1 pod=db-2 zone=us\n"
			       "d 1 size#1024bytes\n"
			       "e 1 space#64kb\n"
			       "f 1 request#100\n"
			       "g 1 took#1500us took#3000000us\n"
			       "h 1 items#100\n"
			       "i 1\n";

/* Appends the names of the samples' leaves, which have one letter each. */
static void leaves(const struct pprof *p, struct buf *out)
{
	struct buf text = { 0 };
	struct str rest;

	sketch_print(p, &text);
	rest = str_from(buf_bytes(&text));
	while (rest.len)
		buf_byte(out, (uint8_t)*str_cut(rest, '\n', &rest).ptr);
	buf_fini(&text);
}

struct tag_case {
	const char *name;
	const char *filter;
	const char *want; /* leaves that focus keeps */
};

static bool is_filtered(const struct tag_case *c, bool ignore)
{
	struct sketch s = sketch_init("samples/count", labelled);
	struct str text = str_of(c->filter);
	struct tag_filter f = { 0 };
	struct tag_units units;
	struct no_match none = { 0 };
	struct buf got = { 0 };
	struct buf want = { 0 };
	bool ok;

	*(ignore ? &f.ignore : &f.focus) = text;
	for (const char *x = "abcdefghi"; *x; x++) {
		if (!strchr(c->want, *x) == ignore)
			buf_byte(&want, (uint8_t)*x);
	}
	tag_units_find(s.p, &units);
	cr_expect(!filter_tags(s.p, &f, &units, &none, &all_permitted, NULL));
	leaves(s.p, &got);
	ok = !strcmp(buf_cstr(&got), buf_cstr(&want));
	if (!ok)
		fprintf(stderr, "%s: %s, not %s\n", c->name, buf_cstr(&got),
			buf_cstr(&want));
	/* A filter that matches no sample is named. */
	cr_expect(none.count == !*c->want, "%s", c->name);
	if (none.count)
		cr_expect(!strcmp(none.names[0],
				  ignore ? "tagignore" : "tagfocus"));
	tag_units_fini(&units);
	buf_fini(&got);
	buf_fini(&want);
	sketch_fini(&s);
	return ok;
}

static const struct tag_case expression_cases[] = {
	{ "a value of any key", "web", "ab" },
	{ "keys are searched, too", "zone", "ac" },
	{ "key and value are searched together", "^pod:web-1$", "a" },
	{ "all expressions must match some label", "web,eu", "a" },
	{ "all expressions, in any order", "us,db-2,db-1", "c" },
	{ "a key", "pod=web-1", "a" },
	{ "one of the expressions suffices for a key", "pod=web-1,db-2", "ac" },
	{ "a key's expression is no prefix", "pod=^web$", "" },
	{ "each value of a key", "pod=^db-2$", "c" },
	{ "another key's values do not count", "zone=web", "" },
	{ "the key is no expression", "po.=web", "" },
	{ "a key that nobody has", "nobody=x", "" },
	{ "only the first = separates", "pod=a=b", "" },
	{ "an empty expression for a key matches its labels", "zone=", "ac" },
	{ "an empty key stands for all keys", "=web", "ab" },
	{ "numbers are no texts", "size", "" },
	{ "text that begins as a range", "1kb:x", "" },
	{ "text that ends as a range", "x1", "" },
	{ "a sign alone", "-", "abc" },
	{ "a lone colon", ":", "abc" },
};

Test(tag_filters, texts_are_matched_by_expressions)
{
	for (size_t i = 0; i < ARRAY_SIZE(expression_cases); i++) {
		cr_expect(is_filtered(&expression_cases[i], false));
		cr_expect(is_filtered(&expression_cases[i], true));
	}
}

static const struct tag_case range_cases[] = {
	{ "both ends are included", "1kb:64kb", "de" },
	{ "above the lower end", "2kb:64kb", "e" },
	{ "below the upper end", "1kb:63kb", "d" },
	{ "units of the two ends may differ", "1024b:64kb", "de" },
	{ "half open above", "2kb:", "eh" },
	{ "half open below", ":2kb", "df" },
	{ "a lone number is exactly that", "64kb", "e" },
	{ "a lone number in another unit", "65536b", "e" },
	{ "a request is in bytes", "request=100b", "f" },
	{ "a number of no unit", "items=100", "h" },
	{ "an empty key stands for all keys", "=1kb:64kb", "de" },
	{ "a range for a key", "size=1kb:", "d" },
	{ "another key's numbers do not count", "took=1kb:", "" },
	{ "one of several values suffices", "took=2s:4s", "g" },
	{ "each value is looked at", "took=1ms:2ms", "g" },
	{ "between the values", "took=2ms:2s", "" },
	{ "values are not cut to whole units", "took=1ms", "" },
	{ "an unknown unit is taken for that of the range", "2hrs:", "h" },
	{ "an empty range", "64kb:1kb", "" },
	{ "a sign", "+1kb:+64kb", "de" },
	{ "below zero", "-5kb:-1kb", "" },
	{ "from below zero", "-1kb:1kb", "df" },
	{ "units that do not convert make an expression", "1kb:64ms", "" },
	{ "numbers of 65 bits are no range", "99999999999999999999", "" },
	{ "a fraction is an expression", "1.5kb", "" },
};

Test(tag_filters, numbers_are_matched_by_ranges)
{
	for (size_t i = 0; i < ARRAY_SIZE(range_cases); i++) {
		cr_expect(is_filtered(&range_cases[i], false));
		cr_expect(is_filtered(&range_cases[i], true));
	}
}

Test(tag_filters, focus_comes_before_ignore)
{
	struct sketch s = sketch_init("samples/count", labelled);
	struct tag_filter f = { .focus = str_of("web"),
				.ignore = str_of("db") };
	struct no_match none = { 0 };
	struct tag_units units;

	tag_units_find(s.p, &units);
	cr_assert(!filter_tags(s.p, &f, &units, &none, &all_permitted, NULL));
	cr_expect(sketch_is(s.p, "two filters",
			    "a 1 pod=web-1 zone=eu\nb 1 pod=web-2\n"));
	tag_units_fini(&units);
	sketch_fini(&s);
}

Test(tag_filters, malformed_expressions_are_named)
{
	static const struct {
		struct tag_filter f;
		const char *name;
	} table[] = {
		{ { .focus = { "(", 1 } }, "tagfocus" },
		{ { .focus = { "a,(", 3 } }, "tagfocus" },
		{ { .focus = { "pod=[", 5 } }, "tagfocus" },
		{ { .ignore = { "a,*", 3 } }, "tagignore" },
		{ { .show = { "(", 1 } }, "tagshow" },
		{ { .hide = { "(", 1 } }, "taghide" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init("samples/count", labelled);
		struct no_match none = { 0 };
		struct err err = { 0 };
		struct tag_units units;
		int rc;

		tag_units_find(s.p, &units);
		rc = filter_tags(s.p, &table[i].f, &units, &none,
				 &all_permitted, &err);
		if (!rc)
			rc = filter_tag_names(s.p, &table[i].f, &all_permitted,
					      &err);
		cr_expect(rc == ERR_INVALID, "%s", table[i].name);
		cr_expect(strstr(err.msg, table[i].name) != NULL, "%s",
			  err.msg);
		tag_units_fini(&units);
		sketch_fini(&s);
	}
}

Test(tag_filters, expressions_of_one_filter_are_limited)
{
	struct sketch s = sketch_init("samples/count", labelled);
	struct no_match none = { 0 };
	struct tag_units units;
	struct buf text = { 0 };
	struct tag_filter f = { 0 };
	struct err err;

	tag_units_find(s.p, &units);
	for (int i = 1; i < 32; i++)
		buf_str(&text, "pod,");
	buf_str(&text, "web");
	f.focus = str_from(buf_bytes(&text));
	cr_expect(!filter_tags(s.p, &f, &units, &none, &all_permitted, NULL));
	cr_expect(s.p->samples.count == 2);
	buf_str(&text, ",");
	f.focus = str_from(buf_bytes(&text));
	cr_expect(filter_tags(s.p, &f, &units, &none, &all_permitted, &err) ==
		  ERR_INVALID);
	cr_assert(strstr(err.msg, "tagfocus"), "%s", err.msg);
	cr_expect(strstr(err.msg, "32"), "%s", err.msg);
	buf_fini(&text);
	tag_units_fini(&units);
	sketch_fini(&s);
}

Test(tag_filters, labels_are_dropped_by_key)
{
	static const struct {
		const char *show;
		const char *hide;
		const char *want;
	} table[] = {
		{ "", "", "a 1 pod=x zone=eu size#5bytes\nb 1 pod=y\n" },
		{ "pod", "", "a 1 pod=x\nb 1 pod=y\n" },
		{ "s|z", "", "a 1 zone=eu size#5bytes\nb 1\n" },
		{ "", "^pod$", "a 1 zone=eu size#5bytes\nb 1\n" },
		{ "o", "zone", "a 1 pod=x\nb 1 pod=y\n" },
		{ "eu|x|bytes", "", "a 1\nb 1\n" },
		{ "", "", "a 1 pod=x zone=eu size#5bytes\nb 1 pod=y\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init(
			"samples/count",
			"a 1 pod=x zone=eu size#5bytes\nb 1 pod=y\n");
		struct tag_filter f = { .show = str_of(table[i].show),
					.hide = str_of(table[i].hide) };

		cr_expect(!filter_tag_names(s.p, &f, &all_permitted, NULL));
		cr_expect(sketch_is(s.p, table[i].show, table[i].want));
		sketch_fini(&s);
	}
}

Test(tag_filters, units_are_given_or_inferred)
{
	static const struct {
		const char *key;
		const char *unit; /* NULL: the key has no numbers */
	} table[] = {
		{ "size", "kb" },       { "alignment", "bytes" },
		{ "request", "bytes" }, { "items", "items" },
		{ "later", "ms" },      { "text", NULL },
		{ "unused", NULL },
	};
	struct sketch s =
		sketch_init("samples/count",
			    "a 1 size#1kb items#4 later#1 text=x\n"
			    "b 1 size#1bytes alignment#8 request#9 later#2ms\n"
			    "c 1 later#2us\n");
	uint32_t unused = strtab_intern(&s.p->strings, str_of("unused"));
	struct tag_units units;

	tag_units_find(s.p, &units);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		uint32_t key =
			strtab_intern(&s.p->strings, str_of(table[i].key));
		uint32_t unit = tag_unit(&units, key);

		if (table[i].unit)
			cr_expect(
				check_str(pprof_str(s.p, unit), table[i].unit),
				"%s", table[i].key);
		else
			cr_expect(unit == PPROF_NONE, "%s", table[i].key);
	}
	cr_expect(tag_unit(&units, unused + 1000) == PPROF_NONE);
	tag_units_fini(&units);
	cr_expect(tag_unit(&units, 0) == PPROF_NONE);
	tag_units_fini(&units);
	sketch_fini(&s);
}

/* Tagroot. */

static const struct {
	const char *name;
	const char *keys;
	const char *unit;
	const char *want;
	bool found;
} root_cases[] = {
	{ "one key", "pod", "minimum",
	  "web;main;x 1 pod=web\n;main;x 2 size#2048bytes\n"
	  "b,a;main;y 4 pod=b pod=a size#1bytes\n",
	  true },
	{ "the first key is outermost", "size,pod", "minimum",
	  ";web;main;x 1 pod=web\n2kB;;main;x 2 size#2048bytes\n"
	  "1B;b,a;main;y 4 pod=b pod=a size#1bytes\n",
	  true },
	{ "a unit for numbers", "size", "kb",
	  ";main;x 1 pod=web\n2kB;main;x 2 size#2048bytes\n"
	  "0;main;y 4 pod=b pod=a size#1bytes\n",
	  true },
	{ "empty keys do not count", ",,pod,", "minimum",
	  "web;main;x 1 pod=web\n;main;x 2 size#2048bytes\n"
	  "b,a;main;y 4 pod=b pod=a size#1bytes\n",
	  true },
	{ "a key that nobody has", "zone", "minimum",
	  ";main;x 1 pod=web\n;main;x 2 size#2048bytes\n"
	  ";main;y 4 pod=b pod=a size#1bytes\n",
	  false },
	{ "a key twice", "pod,pod", "minimum",
	  "web;web;main;x 1 pod=web\n;;main;x 2 size#2048bytes\n"
	  "b,a;b,a;main;y 4 pod=b pod=a size#1bytes\n",
	  true },
	{ "commas alone", ",", "minimum",
	  "main;x 1 pod=web\nmain;x 2 size#2048bytes\n"
	  "main;y 4 pod=b pod=a size#1bytes\n",
	  false },
};

Test(tag_filters, labels_become_outermost_frames)
{
	for (size_t i = 0; i < ARRAY_SIZE(root_cases); i++) {
		struct sketch s = sketch_init(
			"samples/count",
			"main;x 1 pod=web\nmain;x 2 size#2048bytes\n"
			"main;y 4 pod=b pod=a size#1bytes\n");
		bool found = !root_cases[i].found;

		cr_expect(!pprof_tagroot(s.p, str_of(root_cases[i].keys),
					 str_of(root_cases[i].unit),
					 &all_permitted, &found, NULL));
		cr_expect(
			sketch_is(s.p, root_cases[i].name, root_cases[i].want));
		cr_expect(found == root_cases[i].found, "%s",
			  root_cases[i].name);
		sketch_fini(&s);
	}
}

Test(tag_filters, equal_roots_share_their_frames)
{
	struct sketch s = sketch_init("samples/count",
				      "main;x 1 pod=a n=1\nmain;x 2 pod=a n=2\n"
				      "main;y 3 pod=a\nmain;y 3 pod=b\n");
	size_t locations = s.p->locations.count;
	size_t stacks = s.p->stacks.count;
	const struct pprof_function *f;
	bool found;

	cr_assert(!pprof_tagroot(s.p, str_of("pod"), str_of("minimum"),
				 &all_permitted, &found, NULL));
	/* The new frames "a" and "b" are the roots of three distinct stacks. */
	cr_expect(s.p->locations.count == locations + 2);
	cr_expect(s.p->stacks.count == stacks + 3);
	cr_expect(s.p->samples.v[0].stack == s.p->samples.v[1].stack);
	/* As in pprof, the key is the file of the new function. */
	f = &s.p->functions.v[s.p->functions.count - 1];
	cr_expect(check_str(pprof_str(s.p, f->name), "b"));
	cr_expect(check_str(pprof_str(s.p, f->file), "pod"));
	sketch_fini(&s);
}

Test(tag_filters, a_profile_without_samples_has_no_roots)
{
	struct sketch s = sketch_init("samples/count", "");
	bool found = true;

	cr_expect(!pprof_tagroot(s.p, str_of("pod"), str_of("minimum"),
				 &all_permitted, &found, NULL));
	cr_assert(!found);
	cr_expect(!s.p->locations.count);
	sketch_fini(&s);
}

Test(tag_filters, roots_are_at_most_sixteen)
{
	struct err err;

	cr_expect(!pprof_tagroot_check(str_of(""), "tagroot", NULL));
	cr_expect(!pprof_tagroot_check(str_of("a,b,c,d,e,f,g,h,"
					      "i,j,k,l,m,n,o,p"),
				       "tagroot", NULL));
	cr_expect(pprof_tagroot_check(str_of("a,b,c,d,e,f,g,h,"
					     "i,j,k,l,m,n,o,p,q"),
				      "roots", &err) == ERR_INVALID);
	cr_assert(strstr(err.msg, "roots"), "%s", err.msg);
	cr_expect(strstr(err.msg, "16"), "%s", err.msg);
}

/* Refuses memory, and counts the questions. */
static int refuse_memory(void *ctx, size_t bytes, struct err *err)
{
	(*(int *)ctx)++;
	return bytes ? err_set(err, ERR_LIMIT, "no memory is left") : 0;
}

Test(tag_filters, memory_for_roots_is_asked_for)
{
	int asked = 0;
	struct limits limits = { refuse_memory, &asked };
	struct buf lines = { 0 };
	struct sketch s;
	struct err err;
	bool found;

	/*
	 * 2,000 samples of one stack, each with another value of the label
	 * "pod".
	 */
	for (int i = 0; i < 2000; i++) {
		for (int k = 0; k < 99; k++)
			buf_str(&lines, "f;");
		buf_printf(&lines, "f 1 pod=%d\n", i);
	}
	s = sketch_init("samples/count", buf_cstr(&lines));
	cr_expect(s.p->stacks.count == 1);
	cr_expect(pprof_tagroot(s.p, str_of("pod"), str_of("minimum"), &limits,
				&found, &err) == ERR_LIMIT);
	cr_assert(asked > 0);
	cr_expect(s.p->stacks.count < 2000);
	buf_fini(&lines);
	sketch_fini(&s);
}

/* Permits nothing. */
static int refuse_time(void *ctx, size_t bytes, struct err *err)
{
	(void)ctx;
	(void)bytes;
	return err_set(err, ERR_TIMEOUT, "the time is up");
}

/* One label set has all labels: a question for each set would not suffice. */
Test(tag_filters, searches_within_one_label_set_are_charged)
{
	const struct limits limits = { refuse_time, NULL };
	const struct tag_filter filters[] = { { .focus = str_of("x") },
					      { .ignore = str_of("x") },
					      { .show = str_of("key") },
					      { .hide = str_of("x") } };
	struct buf lines = { 0 };

	buf_str(&lines, "f 1");
	for (int i = 0; i < 20; i++)
		buf_printf(&lines, " key%d=value", i);
	buf_byte(&lines, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct sketch s =
			sketch_init("samples/count", buf_cstr(&lines));
		struct tag_units units = { 0 };
		struct no_match none = { 0 };
		int rc = i < 2 ? filter_tags(s.p, &filters[i], &units, &none,
					     &limits, NULL) :
				 filter_tag_names(s.p, &filters[i], &limits,
						  NULL);

		cr_expect(rc == ERR_TIMEOUT, "%zu: %d", i, rc);
		sketch_fini(&s);
	}
	buf_fini(&lines);
}

Test(tag_filters, an_expression_that_takes_too_many_steps_is_an_error)
{
	const struct str hard = str_of("(a|aa|aaa)+[bc]");
	const struct tag_filter filters[] = { { .focus = hard },
					      { .ignore = hard },
					      { .show = hard },
					      { .hide = hard } };
	struct buf lines = { 0 };

	/* The label's name and value are long rows of "a". */
	buf_str(&lines, "f 1 ");
	for (int i = 0; i < 2500; i++)
		buf_byte(&lines, 'a');
	buf_byte(&lines, '=');
	for (int i = 0; i < 2500; i++)
		buf_byte(&lines, 'a');
	buf_byte(&lines, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct sketch s =
			sketch_init("samples/count", buf_cstr(&lines));
		struct tag_units units = { 0 };
		struct no_match none = { 0 };
		struct limits limits = { 0 };
		struct err err;
		int rc = i < 2 ? filter_tags(s.p, &filters[i], &units, &none,
					     &limits, &err) :
				 filter_tag_names(s.p, &filters[i], &limits,
						  &err);

		cr_expect(rc == ERR_INVALID, "%zu: %d", i, rc);
		cr_expect(strstr(err.msg, "too many steps"), "%s", err.msg);
		sketch_fini(&s);
	}
	buf_fini(&lines);
}
