/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by the names of frames: focus, ignore, hide, show and show_from, and
 * what prune_from and the profile's own drop_frames remove.
 */
#include "pprof/filter/namefilter.h"
#include "pprof/filter/prune.h"
#include "tests/pprof/printed.h"

TestSuite(name_filters, .timeout = 30);

/*
 * Five samples, which have files, mappings, inlined functions, and an address
 * without symbols.
 */
static const char stacks[] = "main;work@work.go:1;leaf 1\n"
			     "main;work@work.go:1>fast@fast.go:9;leaf 2\n"
			     "main;[/lib/libc.so]0x100010|malloc 4\n"
			     "main;[/lib/libc.so]0x100020 8\n"
			     "gc;gc;sweep 16 pod=a\n";

static const struct limits all_permitted;

static struct str filter_text(const char *s)
{
	return str_of(s ? s : "");
}

/*
 * Prints the names of the filters that matched nothing, each followed by a
 * space.
 */
static void list_unmatched(const struct no_match *none, struct buf *out)
{
	for (size_t i = 0; i < none->count; i++)
		buf_printf(out, "%s ", none->names[i]);
}

struct name_case {
	const char *name;
	const char *focus;
	const char *ignore;
	const char *hide;
	const char *show;
	const char *show_from;
	const char *want;
	const char *unmatched; /* NULL: all matched */
};

static void run_case(const struct name_case *c)
{
	struct sketch s = sketch_init("samples/count", stacks);
	struct no_match none = { 0 };
	struct buf names = { 0 };
	struct name_filter f = {
		.focus = { filter_text(c->focus) },
		.ignore = { filter_text(c->ignore) },
		.hide = { filter_text(c->hide) },
		.show = { filter_text(c->show) },
		.show_from = filter_text(c->show_from),
	};

	cr_expect(!filter_names(s.p, &f, &all_permitted, &none, NULL), "%s",
		  c->name);
	cr_expect(sketch_is(s.p, c->name, c->want));
	list_unmatched(&none, &names);
	cr_expect(check_str(str_of(buf_cstr(&names)),
			    c->unmatched ? c->unmatched : ""),
		  "%s", c->name);
	buf_fini(&names);
	sketch_fini(&s);
}

static const struct name_case focus_cases[] = {
	{ .name = "no filter changes nothing",
	  .want = "main;work;leaf 1\nmain;work>fast;leaf 2\nmain;malloc 4\n"
		  "main;0x100020 8\ngc;gc;sweep 16 pod=a\n" },
	{ .name = "focus on a function",
	  .focus = "fast",
	  .want = "main;work>fast;leaf 2\n" },
	{ .name = "focus is searched for within names",
	  .focus = "ea",
	  .want = "main;work;leaf 1\nmain;work>fast;leaf 2\n" },
	{ .name = "focus may be anchored",
	  .focus = "^work$|^gc$",
	  .want = "main;work;leaf 1\nmain;work>fast;leaf 2\n"
		  "gc;gc;sweep 16 pod=a\n" },
	{ .name = "focus on a source file",
	  .focus = "fast\\.go",
	  .want = "main;work>fast;leaf 2\n" },
	{ .name = "focus on a mapping finds what has no symbols",
	  .focus = "libc",
	  .want = "main;malloc 4\nmain;0x100020 8\n" },
	{ .name = "focus on nothing that is there",
	  .focus = "nowhere",
	  .want = "",
	  .unmatched = "focus " },
	{ .name = "labels are no names",
	  .focus = "pod",
	  .want = "",
	  .unmatched = "focus " },
	{ .name = "ignore",
	  .ignore = "leaf|libc",
	  .want = "gc;gc;sweep 16 pod=a\n" },
	{ .name = "ignore what is not there",
	  .ignore = "nowhere",
	  .want = "main;work;leaf 1\nmain;work>fast;leaf 2\nmain;malloc 4\n"
		  "main;0x100020 8\ngc;gc;sweep 16 pod=a\n",
	  .unmatched = "ignore " },
	{ .name = "ignore wins over focus",
	  .focus = "main",
	  .ignore = "fast|libc",
	  .want = "main;work;leaf 1\n" },
	/*
	 * The location with "leaf" is ignored, so that it is never compared
	 * with the expression of focus.
	 */
	{ .name = "ignore and focus on the same frame",
	  .focus = "leaf",
	  .ignore = "leaf",
	  .want = "",
	  .unmatched = "focus " },
};

static const struct name_case hide_cases[] = {
	{ .name = "hide a function",
	  .hide = "work|gc",
	  .want = "main;leaf 1\nmain;fast;leaf 2\nmain;malloc 4\n"
		  "main;0x100020 8\nsweep 16 pod=a\n" },
	{ .name = "hide an inlined function by its file",
	  .hide = "fast.go",
	  .want = "main;work;leaf 1\nmain;work;leaf 2\nmain;malloc 4\n"
		  "main;0x100020 8\ngc;gc;sweep 16 pod=a\n" },
	{ .name = "hide a mapping",
	  .hide = "libc",
	  .want = "main;work;leaf 1\nmain;work>fast;leaf 2\nmain 4\nmain 8\n"
		  "gc;gc;sweep 16 pod=a\n" },
	{ .name = "a sample of hidden frames alone is gone",
	  .hide = "gc|sweep|malloc|main",
	  .want = "work;leaf 1\nwork>fast;leaf 2\n0x100020 8\n" },
	{ .name = "show",
	  .show = "^main$|fast",
	  .want = "main 1\nmain;fast 2\nmain 4\nmain 8\n" },
	{ .name = "show a mapping: lines of it that match by no name, too",
	  .show = "libc",
	  .want = "malloc 4\n" },
	{ .name = "show nothing",
	  .show = "nowhere",
	  .want = "",
	  .unmatched = "show " },
	{ .name = "hide and show",
	  .hide = "leaf",
	  .show = "a",
	  .want = "main 1\nmain;fast 2\nmain;malloc 4\nmain 8\n" },
	{ .name = "focus sees the frames that hide removes",
	  .focus = "fast",
	  .hide = "fast",
	  .want = "main;work;leaf 2\n" },
	{ .name = "each filter without a match is named, in order",
	  .focus = "x1",
	  .ignore = "x2",
	  .hide = "x3",
	  .show = "x4",
	  .show_from = "x5",
	  .want = "",
	  .unmatched = "focus ignore hide show show_from " },
};

static const struct name_case show_from_cases[] = {
	{ .name = "show_from cuts what called the match",
	  .show_from = "work",
	  .want = "work;leaf 1\nwork>fast;leaf 2\n" },
	{ .name = "the outermost match counts",
	  .show_from = "gc|sweep",
	  .want = "gc;gc;sweep 16 pod=a\n" },
	{ .name = "show_from an inlined function cuts its caller",
	  .show_from = "fast",
	  .want = "fast;leaf 2\n" },
	{ .name = "show_from a mapping keeps all lines",
	  .show_from = "libc",
	  .want = "malloc 4\n0x100020 8\n" },
	{ .name = "show_from comes after hide",
	  .hide = "work",
	  .show_from = "work.go|leaf",
	  .want = "leaf 1\nleaf 2\n" },
	{ .name = "show_from what is not there",
	  .show_from = "nowhere",
	  .want = "",
	  .unmatched = "show_from " },
};

Test(name_filters, samples_are_chosen_by_their_frames)
{
	for (size_t i = 0; i < ARRAY_SIZE(focus_cases); i++)
		run_case(&focus_cases[i]);
}

Test(name_filters, frames_are_hidden_and_shown)
{
	for (size_t i = 0; i < ARRAY_SIZE(hide_cases); i++)
		run_case(&hide_cases[i]);
}

Test(name_filters, stacks_begin_at_the_outermost_match)
{
	for (size_t i = 0; i < ARRAY_SIZE(show_from_cases); i++)
		run_case(&show_from_cases[i]);
}

Test(name_filters, each_expression_of_focus_must_match)
{
	static const struct {
		const char *options;
		const char *want;
	} cases[] = {
		{ "focus=b", "a;b 1\na;b;c 2\n" },
		{ "focus=b&focus=c", "a;b;c 2\n" },
		{ "focus=b&focus=b", "a;b 1\na;b;c 2\n" },
		{ "focus=b&focus=d", "" },
		{ "ignore=c&ignore=d", "a;b 1\n" },
		{ "hide=a&hide=c", "b 3\nd 4\n" },
		{ "show=a&show=c", "a 5\na;c 2\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(prints("a;b 1\na;b;c 2\na;d 4\n", "folded",
				 cases[i].options, cases[i].want),
			  "%s", cases[i].options);
}

Test(name_filters, too_many_expressions_are_refused)
{
	struct report_options o;
	struct err err = { .msg = "" };

	report_options_init(&o);
	for (int i = 0; i < FILTER_TEXTS; i++)
		cr_expect(
			!report_option(&o, str_of("focus"), str_of("a"), &err));
	cr_expect(report_option(&o, str_of("focus"), str_of("a"), &err) ==
		  ERR_INVALID);
	cr_expect(check_str(str_of(err.msg),
			    "focus can be given at most 8 times"));
}

Test(name_filters, a_sample_without_frames_is_removed)
{
	struct sketch s = sketch_init("samples/count", "main 1\n- 2\n");
	struct no_match none = { 0 };

	cr_assert(s.p->samples.count == 2);
	cr_assert(!filter_names(s.p, &(struct name_filter){ 0 }, &all_permitted,
				&none, NULL));
	cr_expect(sketch_is(s.p, "no frames", "main 1\n"));
	cr_expect(!none.count);
	sketch_fini(&s);
}

Test(name_filters, values_and_labels_stay_with_their_samples)
{
	struct sketch s = sketch_init("samples/count cpu/nanoseconds",
				      "a 1 10 x=1\nb 2 20\nc 3 30 x=2 y#4ms\n"
				      "a 4 40 x=3\n");
	struct no_match none = { 0 };
	struct name_filter f = { .ignore = { str_of("b") } };

	cr_assert(!filter_names(s.p, &f, &all_permitted, &none, NULL));
	cr_expect(sketch_is(s.p, "rows",
			    "a 1 10 x=1\nc 3 30 x=2 y#4ms\na 4 40 x=3\n"));
	sketch_fini(&s);
}

Test(name_filters, malformed_expressions_are_named)
{
	static const struct {
		const char *name;
		struct name_filter f;
	} table[] = {
		{ "focus", { .focus = { { "(", 1 } } } },
		{ "ignore", { .ignore = { { "[a", 2 } } } },
		{ "hide", { .hide = { { "a**", 3 } } } },
		{ "show_from", { .show_from = { "\\", 1 } } },
		{ "show", { .show = { { "(?=a)", 5 } } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init("samples/count", stacks);
		struct no_match none = { 0 };
		struct err err = { 0 };

		cr_expect(filter_names(s.p, &table[i].f, &all_permitted, &none,
				       &err) == ERR_INVALID);
		cr_assert(
			!strncmp(err.msg, table[i].name, strlen(table[i].name)),
			"%s: %s", table[i].name, err.msg);
		cr_expect(err.msg[strlen(table[i].name)] == ':', "%s: %s",
			  table[i].name, err.msg);
		sketch_fini(&s);
	}
}

/* Permits as many questions as `ctx` says, and refuses the next one. */
static int refuse(void *ctx, size_t bytes, struct err *err)
{
	int *left = ctx;

	(void)bytes;
	return (*left)-- ? 0 : err_set(err, ERR_TIMEOUT, "the time is up");
}

Test(name_filters, work_can_be_refused)
{
	/*
	 * The search of a name counts as REGEX_WORK units, so that there is one
	 * question for every 16 locations.
	 */
	int left = 1;
	struct limits limits = { refuse, &left };
	struct name_filter f = { .focus = { str_of("f1") } };
	struct no_match none = { 0 };
	struct buf lines = { 0 };
	struct sketch s;
	struct err err;

	for (int i = 0; i < 600; i++)
		buf_printf(&lines, "f%d 1\n", i);
	s = sketch_init("samples/count", buf_cstr(&lines));
	cr_expect(filter_names(s.p, &f, &limits, &none, &err) == ERR_TIMEOUT);
	cr_assert(strstr(err.msg, "time is up") != NULL);
	cr_expect(left == -1);
	left = 1;
	cr_expect(filter_prune_from(s.p, str_of("f1"), &limits, &err) ==
		  ERR_TIMEOUT);
	left = 600 / 16 + 1;
	cr_expect(!filter_prune_from(s.p, str_of("f1"), &limits, &err));
	buf_fini(&lines);
	sketch_fini(&s);
}

/* The first search that takes too many steps ends the filter. */
Test(name_filters, an_expression_that_takes_too_many_steps_is_an_error)
{
	const struct str hard = str_of("(a|aa|aaa)+[bc]");
	const struct name_filter filters[] = { { .focus = { hard } },
					       { .ignore = { hard } },
					       { .hide = { hard } },
					       { .show = { hard } },
					       { .show_from = hard } };
	struct buf lines = { 0 };

	for (int i = 0; i < 100; i++) {
		buf_printf(&lines, "f%d", i);
		for (int k = 0; k < 2500; k++)
			buf_byte(&lines, 'a');
		buf_str(&lines, " 1\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct sketch s =
			sketch_init("samples/count", buf_cstr(&lines));
		struct no_match none = { 0 };
		int left = 0;
		const struct limits limits = { refuse, &left };
		struct err err = { 0 };

		cr_expect(filter_names(s.p, &filters[i], &limits, &none,
				       &err) == ERR_INVALID,
			  "%zu: %s", i, err.msg);
		cr_expect(strstr(err.msg, "too many steps"), "%s", err.msg);
		sketch_fini(&s);
	}
	buf_fini(&lines);
}

/* All names are inlined into one location. */
Test(name_filters, searches_within_one_location_are_charged)
{
	const struct name_filter filters[] = { { .focus = { str_of("x") } },
					       { .ignore = { str_of("x") } },
					       { .hide = { str_of("x") } },
					       { .show = { str_of("x") } },
					       { .show_from = str_of("x") } };
	int left = 0;
	const struct limits limits = { refuse, &left };
	struct buf line = { 0 };
	struct pprof raw;
	struct sketch s;

	buf_str(&line, "f");
	for (int i = 0; i < 20; i++)
		buf_printf(&line, ">f%d", i);
	buf_str(&line, " 1\n");
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct no_match none = { 0 };

		s = sketch_init("samples/count", buf_cstr(&line));
		left = 0;
		cr_expect(filter_names(s.p, &filters[i], &limits, &none,
				       NULL) == ERR_TIMEOUT,
			  "%zu", i);
		sketch_fini(&s);
	}
	s = sketch_init("samples/count", buf_cstr(&line));
	left = 0;
	cr_expect(filter_prune_from(s.p, str_of("x"), &limits, NULL) ==
		  ERR_TIMEOUT);
	sketch_fini(&s);
	raw = sketch_raw("samples/count", buf_cstr(&line));
	raw.drop_frames = strtab_intern(&raw.strings, str_of("x"));
	s = sketch_merged(raw);
	left = 0;
	cr_expect(filter_uninteresting(s.p, &limits, NULL) == ERR_TIMEOUT);
	sketch_fini(&s);
	buf_fini(&line);
}

/* Tests of the frames that prune_from and drop_frames remove. */

Test(name_filters, what_a_function_called_is_pruned)
{
	static const struct {
		const char *name;
		const char *pattern;
		const char *want;
	} table[] = {
		{ "nothing is asked for", "", NULL },
		{ "nothing matches", "nowhere", NULL },
		{ "the function stays", "work",
		  "main;work 1\nmain;work 2\nmain;malloc 4\n"
		  "main;0x100020 8\ngc;gc;sweep 16 pod=a\n" },
		{ "an inlined function stays", "fast",
		  "main;work;leaf 1\nmain;work>fast 2\nmain;malloc 4\n"
		  "main;0x100020 8\ngc;gc;sweep 16 pod=a\n" },
		{ "the innermost match counts", "gc|main",
		  "main 1\nmain 2\nmain 4\nmain 8\ngc;gc 16 pod=a\n" },
		{ "files and mappings are no functions", "work.go|libc", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init("samples/count", stacks);

		cr_expect(!filter_prune_from(s.p, str_of(table[i].pattern),
					     &all_permitted, NULL));
		cr_expect(sketch_is(s.p, table[i].name,
				    table[i].want ? table[i].want :
						    focus_cases[0].want));
		sketch_fini(&s);
	}
}

Test(name_filters, arguments_of_functions_are_not_matched)
{
	static const struct {
		const char *function;
		const char *pattern;
		bool want;
	} table[] = {
		{ "f(int)", "^f$", true },
		{ "f(int)", "int", false },
		{ ".f", "^f$", true },
		{ "..f", "^\\.f$", true },
		{ "(anonymous namespace)::f(int)", "::f$", true },
		{ "(anonymous_namespace)::f", "f", false },
		{ "", "leaf|^$", false },
		{ "operator()(int)", "^operator\\(\\)$", true },
		{ "a::operator()::f(int)", "^a::operator\\(\\)::f$", true },
		{ "(f)", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct pprof raw = sketch_raw("samples/count", "main;f;leaf 1");
		struct sketch s;

		/* The functions are leaf, f and main. */
		raw.functions.v[1].name =
			strtab_intern(&raw.strings, str_of(table[i].function));
		s = sketch_merged(raw);
		cr_expect(!filter_prune_from(s.p, str_of(table[i].pattern),
					     &all_permitted, NULL));
		cr_expect(pprof_stack(s.p, 0)->count == (table[i].want ? 2 : 3),
			  "%s by %s", table[i].function, table[i].pattern);
		sketch_fini(&s);
	}
}

Test(name_filters, a_malformed_prune_from_is_named)
{
	struct sketch s = sketch_init("samples/count", stacks);
	struct err err;

	cr_expect(filter_prune_from(s.p, str_of("("), &all_permitted, &err) ==
		  ERR_INVALID);
	cr_expect(!strncmp(err.msg, "prune_from: ", 12), "%s", err.msg);
	cr_expect(sketch_is(s.p, "unchanged", focus_cases[0].want));
	sketch_fini(&s);
}

Test(name_filters, a_profile_says_what_is_uninteresting)
{
	static const struct {
		const char *name;
		const char *drop;
		const char *keep;
		const char *stack;
		const char *want;
	} table[] = {
		{ "no expression", "", "", "main;a;b", "main;a;b 1\n" },
		{ "to the leaf", "a", "", "main;a;b", "main 1\n" },
		{ "the whole name has to match", "a", "", "main;aa;b",
		  "main;aa;b 1\n" },
		{ "alternatives are anchored together", "a|b", "", "main;bx;b",
		  "main;bx 1\n" },
		{ "the first alternative is anchored behind, too", "a|b", "",
		  "main;ax;xb", "main;ax;xb 1\n" },
		{ "the outermost match counts", "a|b", "", "main;a;x;b",
		  "main 1\n" },
		{ "keep wins", "a.*", "ab", "main;ab;ac", "main;ab 1\n" },
		{ "a stack needs a frame that stays", "a|b", "", "a;b",
		  "a;b 1\n" },
		{ "matches before the first frame that stays", "a", "",
		  "a;main;a;b", "a;main 1\n" },
		{ "an inlined match goes, its caller stays", "in", "",
		  "main;out>in>deep;leaf", "main;out 1\n" },
		{ "a caller of inlined functions", "out", "",
		  "main;out>in;leaf", "main 1\n" },
		{ "a malformed drop_frames is ignored", "(", "", "main;a",
		  "main;a 1\n" },
		{ "a malformed keep_frames ignores both", "a", "(", "main;a",
		  "main;a 1\n" },
		{ "keep_frames alone means nothing", "", "a", "main;a",
		  "main;a 1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct pprof raw;
		struct sketch s;
		char line[64];

		snprintf(line, sizeof(line), "%s 1\n", table[i].stack);
		raw = sketch_raw("samples/count", line);
		raw.drop_frames =
			strtab_intern(&raw.strings, str_of(table[i].drop));
		raw.keep_frames =
			strtab_intern(&raw.strings, str_of(table[i].keep));
		s = sketch_merged(raw);
		cr_expect(!filter_uninteresting(s.p, &all_permitted, NULL));
		cr_expect(sketch_is(s.p, table[i].name, table[i].want));
		sketch_fini(&s);
	}
}
