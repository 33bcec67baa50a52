/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports that are read by programs: folded stacks, flame graphs,
 * speedscope, DOT, JSON, and profiles for the Go compiler.
 */
#include "pprof/report/flame_svg.h"
#include "pprof/report/pgo.h"
#include "pprof/report/report_text.h"
#include "tests/pprof/printed.h"

TestSuite(report_forms, .timeout = 30);

Test(report_forms, folded_stacks_are_sorted_and_added_up)
{
	static const struct {
		const char *lines;
		const char *query;
		const char *want;
	} table[] = {
		{ "", "", "" },
		{ "main;b 1\nmain;a 2\nmain 3\n", "",
		  "main 3\nmain;a 2\nmain;b 1\n" },
		{ "main>f;g>h 4\n", "", "main;f;g;h 4\n" },
		{ "main>f;g>h 4\n", "noinlines", "main;g 4\n" },
		{ "a;b 4 pod=x\na;b 5 pod=y\n", "", "a;b 9\n" },
		{ "a;b@x.go:1 4\na;b@x.go:2 5\n", "", "a;b 9\n" },
		{ "a;b@x.go:1 4\na;b@x.go:2 5\n", "granularity=lines",
		  "a;b x.go:1 4\na;b x.go:2 5\n" },
		/*
		 * Stacks whose values add up to 0 and stacks without a frame
		 * are left out.
		 */
		{ "a 4 pod=x\na -4 pod=y\nb 1\n- 7\n", "", "b 1\n" },
		{ "a -4\n", "", "a -4\n" },
		{ "a;0x10 1\n[/lib/so]0x100020 2\n", "",
		  "[so] 2\na;<unknown> 1\n" },
		{ "a;b 1 pod=x\na;b 2 pod=y\n", "tagroot=pod",
		  "x;a;b 1\ny;a;b 2\n" },
		{ "a;b 1\na 2\n", "hide=a", "b 1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		cr_expect(prints(table[i].lines, "folded", table[i].query,
				 table[i].want),
			  "%zu", i);
}

Test(report_forms, names_do_not_break_folded_lines)
{
	struct pprof raw = sketch_raw("samples/count", "a;b 1");
	struct sketch s;
	struct printed p;

	raw.functions.v[0].name =
		strtab_intern(&raw.strings, str_of("x;y\nz\r 5"));
	s = sketch_merged(raw);
	p = printed_of(s.p, "folded", "");
	cr_expect(printed_is(&p, "a;x_y_z_ 5 1\n"));
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, top_as_json_has_unscaled_numbers)
{
	struct sketch s = sketch_init("objects/count space/bytes",
				      "main@m.go:3;f@./a.go:1 2 4096\n"
				      "main@m.go:3 1 0\n");
	struct printed p = printed_of(s.p, "json:top", "unit=kb");

	cr_expect(printed_is(
		&p, "{\"sample_type\":\"space\",\"unit\":\"bytes\","
		    "\"total\":4096,\"rows\":["
		    "{\"name\":\"f\",\"file\":\"./a.go\",\"flat\":4096,"
		    "\"cum\":4096},"
		    "{\"name\":\"main\",\"file\":\"m.go\",\"flat\":0,"
		    "\"cum\":4096}]}"));
	printed_fini(&p);
	p = printed_of(s.p, "json:top", "sample_index=objects&nodecount=1");
	cr_expect(printed_is(&p, "{\"sample_type\":\"objects\",\"unit\":"
				 "\"count\",\"total\":3,\"rows\":["
				 "{\"name\":\"f\",\"file\":\"./a.go\","
				 "\"flat\":2,\"cum\":2}]}"));
	printed_fini(&p);
	sketch_fini(&s);
}

#define SPEEDSCOPE(frames, unit, samples, weights, end)                   \
	"{\"$schema\":\"https://www.speedscope.app/"                      \
	"file-format-schema.json\",\"exporter\":\"everprof\",\"shared\":" \
	"{\"frames\":[" frames "]},\"profiles\":[{\"type\":\"sampled\","  \
	"\"name\":\"t\",\"unit\":\"" unit "\",\"samples\":[" samples "]," \
	"\"weights\":[" weights "],\"startValue\":0,\"endValue\":" end "}]}"

Test(report_forms, speedscope_refers_to_frames_by_number)
{
	static const struct {
		const char *type;
		const char *lines;
		const char *want;
	} table[] = {
		{ "t/nanoseconds", "",
		  SPEEDSCOPE("", "nanoseconds", "", "", "0") },
		/*
		 * Frames are numbered in the order in which they are met. The
		 * leaf location of a stack comes first, so that is c, b, a.
		 */
		{ "t/bytes", "a@x.go:1;b>c 5\na@x.go:1 3\n",
		  SPEEDSCOPE("{\"name\":\"c\"},{\"name\":\"b\"},"
			     "{\"name\":\"a\",\"file\":\"x.go\"}",
			     "bytes", "[2,1,0],[2]", "5,3", "8") },
		{ "t/count", "a -5\nb 2\n- 9\n",
		  SPEEDSCOPE("{\"name\":\"a\"},{\"name\":\"b\"}", "none", "[1]",
			     "2", "2") },
		{ "t/kilobytes", "a 1\n",
		  SPEEDSCOPE("{\"name\":\"a\"}", "none", "[0]", "1", "1") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init(table[i].type, table[i].lines);
		struct printed p = printed_of(s.p, "speedscope", "");

		cr_expect(printed_is(&p, table[i].want), "%zu", i);
		printed_fini(&p);
		sketch_fini(&s);
	}
}

/* Of each side, what is above 0 in it. */
Test(report_forms, a_difference_is_two_profiles_in_speedscope)
{
	struct sketch base = sketch_init("t/count", "m;a 3\nm;b 5\n");
	struct sketch now = sketch_init("t/count", "m;a 1\nm 2\n");
	struct merge_diff_options o = { .label_base = true };
	struct merge *both = merge_new();
	struct printed printed;
	struct pprof *p;
	const char *text;

	cr_assert(!merge_diff(both, now.p, base.p, &o, &p, NULL));
	printed = printed_of(p, "speedscope", "");
	text = buf_cstr(&printed.out);
	cr_assert(!printed.rc, "%s", printed.err.msg);
	/* Frames: a, m, b, as leaves come first. */
	cr_expect(strstr(text, "\"name\":\"t of B\",\"unit\":\"none\","
			       "\"samples\":[[1,0],[1]],\"weights\":[1,2],"
			       "\"startValue\":0,\"endValue\":3}"),
		  "%s", text);
	cr_expect(strstr(text, "\"name\":\"t of A, the base\",\"unit\":"
			       "\"none\",\"samples\":[[1,0],[1,2]],"
			       "\"weights\":[3,5],\"startValue\":0,"
			       "\"endValue\":8}"),
		  "%s", text);
	printed_fini(&printed);
	merge_free(both);
	sketch_fini(&base);
	sketch_fini(&now);
}

Test(report_forms, a_flame_graph_is_columns_in_depth_first_order)
{
	/*
	 * The root has 10. Its children are a with 7, of which 1 is its own,
	 * and c with 3. The children of a are a second node a with 2, and b
	 * with 4. Siblings are sorted by name.
	 */
	cr_expect(prints(
		"c 3\na@x.go:1;b 4\na@x.go:1 1\na@x.go:1;a@x.go:1 2\n",
		"json:flamegraph", "",
		"{\"sample_type\":\"samples\",\"unit\":\"count\",\"total\":10,"
		"\"name\":[1,2,2,4,5],\"file\":[0,3,3,0,0],"
		"\"binary\":[0,0,0,0,0],\"parent\":[-1,0,1,1,0],"
		"\"inlined\":[0,0,0,0,0],\"self\":[0,1,2,4,3],"
		"\"total_of\":[10,7,2,4,3],"
		"\"left_out\":{\"nodes\":0,\"weight\":0},"
		"\"strings\":[\"\",\"total\",\"a\",\"x.go\",\"b\",\"c\"]}"));
	cr_expect(prints("", "json:flamegraph", "",
			 "{\"sample_type\":\"samples\",\"unit\":\"count\","
			 "\"total\":0,\"name\":[1],\"file\":[0],"
			 "\"binary\":[0],\"parent\":[-1],"
			 "\"inlined\":[0],\"self\":[0],\"total_of\":[0],"
			 "\"left_out\":{\"nodes\":0,\"weight\":0},"
			 "\"strings\":[\"\",\"total\"]}"));
}

Test(report_forms, nodes_beyond_the_limit_are_added_up_as_other)
{
	/*
	 * Three nodes are kept: the root, "a", and b, the heavier child of "a".
	 * The nodes c, d and e are added up as "(other)".
	 */
	cr_expect(prints(
		"a;b 5\na;c 4\nd 2\ne 1\n", "json:flamegraph", "max_nodes=3",
		"{\"sample_type\":\"samples\",\"unit\":\"count\",\"total\":12,"
		"\"name\":[1,2,3,2,4],\"file\":[0,0,0,0,0],"
		"\"binary\":[0,0,0,0,0],\"parent\":[-1,0,0,2,2],"
		"\"inlined\":[0,0,0,0,0],\"self\":[0,3,0,4,5],"
		"\"total_of\":[12,3,9,4,5],"
		"\"left_out\":{\"nodes\":3,\"weight\":7},"
		"\"strings\":[\"\",\"total\",\"(other)\",\"a\",\"b\"]}"));
}

/*
 * Makes a diff that keeps its two sides apart. In it, b has grown, c is new and
 * d is gone.
 */
static struct sketch sketch_diff(void)
{
	return sketch_init("samples/count", "a;b 6\na;c 2\n"
					    "a;b -4 pprof::base=true\n"
					    "d -1 pprof::base=true\n");
}

Test(report_forms, a_diff_has_columns_of_both_sides)
{
	struct sketch s = sketch_diff();
	struct printed p = printed_of(s.p, "json:flamegraph", "");

	/* The total is that of the base. */
	cr_expect(printed_is(
		&p,
		"{\"sample_type\":\"samples\",\"unit\":\"count\",\"total\":5,"
		"\"name\":[1,2,3,4,5],\"file\":[0,0,0,0,0],"
		"\"binary\":[0,0,0,0,0],\"parent\":[-1,0,1,1,0],"
		"\"inlined\":[0,0,0,0,0],\"self\":[0,0,6,2,0],"
		"\"total_of\":[8,8,6,2,0],\"self_a\":[0,0,4,0,1],"
		"\"total_of_a\":[5,4,4,0,1],"
		"\"left_out\":{\"nodes\":0,\"weight\":0},"
		"\"strings\":[\"\",\"total\",\"a\",\"b\",\"c\",\"d\"]}"));
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, a_table_of_a_diff_has_both_sides)
{
	static const struct {
		const char *options;
		bool net_total;
		const char *head;
	} cases[] = {
		/* With the label, the total is that of the base, as in pprof. */
		{ "", false, "\"total\":5" },
		/* Without: the sum of what changed, 2 for b, 2 for c, 1 for d. */
		{ "", true, "\"total\":5" },
		{ "taghide=.", true, "\"total\":5" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sketch s = sketch_diff();
		struct report_options o;
		struct printed p = { 0 };
		CLEANUP(mem_freep)
		char *want = mem_printf(
			"{\"sample_type\":\"samples\",\"unit\":\"count\",%s,"
			"\"total_a\":5,\"total_b\":8,\"rows\":["
			"{\"name\":\"b\",\"file\":\"\",\"flat\":2,\"cum\":2,"
			"\"flat_a\":4,\"cum_a\":4},"
			"{\"name\":\"c\",\"file\":\"\",\"flat\":2,\"cum\":2,"
			"\"flat_a\":0,\"cum_a\":0},"
			"{\"name\":\"d\",\"file\":\"\",\"flat\":-1,\"cum\":-1,"
			"\"flat_a\":1,\"cum_a\":1},"
			"{\"name\":\"a\",\"file\":\"\",\"flat\":0,\"cum\":4,"
			"\"flat_a\":0,\"cum_a\":4}]}",
			cases[i].head);

		printed_options(&o, cases[i].options);
		o.net_total = cases[i].net_total;
		printed_with(&p, s.p, "json:top", &o);
		cr_expect(printed_is(&p, want), "%zu", i);
		printed_fini(&p);
		sketch_fini(&s);
	}
}

Test(report_forms, a_net_total_joins_samples_that_differ_in_the_base_label)
{
	struct sketch s = sketch_init(
		"samples/count", "a 6 x=1\na 1 x=2\na -4 pprof::base=true x=1\n"
				 "a -4 pprof::base=true x=2\nb 3\n"
				 "b -3 pprof::base=true\n");
	struct printed p = { 0 };
	struct report_options o;

	/* 6 - 4, 1 - 4, and b did not change. */
	printed_options(&o, "");
	o.net_total = true;
	printed_with(&p, s.p, "json:top", &o);
	cr_expect(strstr(buf_cstr(&p.out), "\"total\":5,\"total_a\":11,"
					   "\"total_b\":10,"),
		  "%s", buf_cstr(&p.out));
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, only_base_true_marks_the_base)
{
	struct sketch s = sketch_init("samples/count",
				      "a 1 pprof::base=true x=y\n"
				      "b 1 pprof::base=false\n"
				      "c 1 pprof::base#1\nd 1 base=true\n");

	cr_expect(pprof_sample_is_base(s.p, 0));
	for (size_t i = 1; i < 4; i++)
		cr_expect(!pprof_sample_is_base(s.p, i), "%zu", i);
	sketch_fini(&s);
}

static void expect_pieces(const struct buf *out, const char *const *pieces,
			  bool want)
{
	struct str all = str_from(buf_bytes(out));

	for (; *pieces; pieces++)
		cr_expect((memmem(all.ptr, all.len, *pieces, strlen(*pieces)) !=
			   NULL) == want,
			  "%s\n%s", *pieces, want ? "missing" : "there");
}

Test(report_forms, a_drawing_has_frames_as_wide_as_their_weight)
{
	static const char *const there[] = {
		"samples: 4</text>",
		/*
		 * The root is 1,200 wide. Below it, a<b> is 900 wide and b.f
		 * 300.
		 */
		"data-x=\"0.00\" data-w=\"1200.00\" data-d=\"0\" "
		"data-n=\"total\"",
		"data-x=\"0.00\" data-w=\"900.00\" data-d=\"1\" "
		"data-n=\"a&lt;b&gt;\"",
		"data-x=\"900.00\" data-w=\"300.00\" data-d=\"1\" "
		"data-n=\"b.f\"",
		"<title>x/b.f\n1 (25.00%)</title>",
		"<script><![CDATA[(function(){",
		"]]></script>\n</svg>\n",
		/*
		 * The height is a heading of 26, two rows of 17 and a margin of
		 * 4.
		 */
		"viewBox=\"0 0 1200 64\"",
		NULL,
	};
	static const char *const absent[] = { "a<b>", "red: more", NULL };
	struct pprof raw = sketch_raw("samples/count", "a 3\nx/b.f 1");
	struct sketch s;
	struct printed p;

	raw.functions.v[0].name = strtab_intern(&raw.strings, str_of("a<b>"));
	s = sketch_merged(raw);
	p = printed_of(s.p, "flamegraph", "");
	cr_expect(!p.rc);
	expect_pieces(&p.out, there, true);
	expect_pieces(&p.out, absent, false);
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, names_in_a_drawing_lack_the_path_of_the_package)
{
	static const char *const cases[][2] = {
		{ "github.com/a/b.(*T).Get", "b.(*T).Get" },
		{ "gopkg.in/yaml%2ev3.F", "yaml%2ev3.F" },
		{ "a/b.F[c/d.T]", "b.F[c/d.T]" },
		{ "/usr/bin/python3", "python3" },
		{ "x/2y.F", "2y.F" },
		{ "x/2.F(a)", "2.F(a)" },
		{ "sort.Slice[github.com/a/b.T]",
		  "sort.Slice[github.com/a/b.T]" },
		{ "Vec3::operator/(double) const",
		  "Vec3::operator/(double) const" },
		{ "operator/(Vec3, double)", "operator/(Vec3, double)" },
		{ "fs::operator/", "fs::operator/" },
		{ "Foo{bar/baz}::run(int)", "Foo{bar/baz}::run(int)" },
		{ "impl Foo for a/b", "impl Foo for a/b" },
		{ "Enum.map/2", "Enum.map/2" },
		{ "a/", "a/" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pprof raw = sketch_raw("samples/count", "a 3");
		CLEANUP(mem_freep)
		char *want = mem_printf("data-n=\"%s\"", cases[i][1]);
		struct sketch s;
		struct printed p;

		raw.functions.v[0].name =
			strtab_intern(&raw.strings, str_of(cases[i][0]));
		s = sketch_merged(raw);
		p = printed_of(s.p, "flamegraph", "");
		cr_expect(strstr(buf_cstr(&p.out), want), "%s", cases[i][0]);
		printed_fini(&p);
		sketch_fini(&s);
	}
}

Test(report_forms, a_drawing_of_a_diff_is_red_where_it_grew)
{
	static const char *const there[] = {
		"samples: 8, was 5</text>",
		"red: more than the base",
		/*
		 * From 4 to 6, b grew by a third of 6. So the lightness is 92
		 * less a third of 40, which is cut to 78.
		 */
		"<title>b\n6 (75.00%), was 4 (80.00%)</title>",
		"fill=\"hsl(4,75%,78%)\"",
		"<title>c\n2 (25.00%), was 0 (0.00%)</title>",
		"fill=\"hsl(4,75%,52%)\"",
		"<title>d\n0 (0.00%), was 1 (20.00%)</title>",
		"fill=\"hsl(214,75%,52%)\"",
		NULL,
	};
	struct sketch s = sketch_diff();
	struct printed p = printed_of(s.p, "flamegraph", "");

	cr_expect(!p.rc);
	expect_pieces(&p.out, there, true);
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, a_call_graph_is_written_in_dot)
{
	static const char *const there[] = {
		"digraph \"everprof\" {\n",
		"Showing nodes accounting for 10, 100% of 10 total\\l",
		/*
		 * This node has 4 of 10. Its font has 8 + 16 * sqrt(4 / 6)
		 * points, rounded up.
		 */
		"N2 [label=\"\\\"b\\\\\\l\\n4 (40.00%)\" shape=box "
		"fontsize=22 tooltip=",
		"N1 [label=\"a\\n6 (60.00%)\\nof 10 (100%)\" shape=box "
		"fontsize=24",
		"N1 -> N2 [label=\" 4\" weight=41 penwidth=3 color=",
		NULL,
	};
	struct pprof raw = sketch_raw("samples/count", "a;b 4\na 6");
	struct sketch s;
	struct printed p;

	raw.functions.v[0].name =
		strtab_intern(&raw.strings, str_of("\"b\\\n\x01"));
	s = sketch_merged(raw);
	p = printed_of(s.p, "dot", "");
	cr_expect(!p.rc);
	expect_pieces(&p.out, there, true);
	cr_expect(!strcmp(buf_cstr(&p.out) + p.out.len - 4, "]\n}\n"));
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, calls_past_hidden_nodes_are_dotted)
{
	static const char *const there[] = {
		"N2 -> N3 [label=\" 5\" weight=6 penwidth=1 color=\"#",
		"\" style=\"dotted\"]\n",
		"weight=95",
		NULL,
	};
	/* "thin" has 5 of 100 and is hidden. b has 6 and is shown. */
	struct sketch s =
		sketch_init("samples/count", "main;thin;b 5\nmain;c 94\nb 1\n");
	struct printed p = printed_of(s.p, "dot", "nodefraction=0.06");

	cr_expect(!p.rc);
	expect_pieces(&p.out, there, true);
	printed_fini(&p);
	sketch_fini(&s);
}

Test(report_forms, the_call_graph_in_json_has_the_nodes_and_edges_of_dot)
{
	/* t1 and t2 are below 5 %, so the edge to c goes through hidden nodes. */
	cr_expect(prints(
		"main@m.go:1>a;b 92\nmain@m.go:1;t1;c 4\nmain@m.go:1;t2;c 4\n",
		"json:graph", "nodefraction=0.05",
		"{\"sample_type\":\"samples\",\"unit\":\"count\","
		"\"total\":100,\"nodes\":["
		"{\"name\":\"b\",\"file\":\"\",\"flat\":92,\"cum\":92},"
		"{\"name\":\"main\",\"file\":\"m.go\",\"flat\":0,"
		"\"cum\":100},"
		"{\"name\":\"c\",\"file\":\"\",\"flat\":8,\"cum\":8},"
		"{\"name\":\"a\",\"file\":\"\",\"flat\":0,\"cum\":92}],"
		"\"edges\":["
		"{\"from\":1,\"to\":3,\"weight\":92,\"inline\":true,"
		"\"residual\":false},"
		"{\"from\":1,\"to\":2,\"weight\":8,\"inline\":false,"
		"\"residual\":true},"
		"{\"from\":3,\"to\":0,\"weight\":92,\"inline\":false,"
		"\"residual\":false}]}"));
}

Test(report_forms, a_report_that_does_not_fit_is_an_error)
{
	static const char *const names[] = {
		"top",        "tree",       "peek", "traces", "folded",
		"flamegraph", "speedscope", "dot",  "source"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct sketch s = sketch_init("samples/count",
					      "main@m.go:1;work@w.go:2 5\n");
		struct printed p = { .out = buf_init(10) };
		struct report_options o;

		report_options_init(&o);
		printed_with(&p, s.p, names[i], &o);
		cr_expect(p.rc == ERR_TOOBIG, "%s: %d", names[i], p.rc);
		cr_expect(strstr(p.err.msg, "10") != NULL, "%s", p.err.msg);
		printed_fini(&p);
		sketch_fini(&s);
	}
}

/* Permits *left questions. Refuses all that follow. */
static int refuse(void *ctx, size_t bytes, struct err *err)
{
	int *left = ctx;

	(void)bytes;
	if (*left > 0) {
		(*left)--;
		return 0;
	}
	return err_set(err, ERR_TIMEOUT, "the time is up");
}

Test(report_forms, every_report_gives_up_when_it_is_told_to)
{
	static const char *const names[] = {
		"top",         "json:top",        "tree",       "traces",
		"folded",      "flamegraph",      "speedscope", "dot",
		"source",      "json:flamegraph", "peek",       "json:graph",
		"json:source",
	};
	struct buf lines = { 0 };
	struct sketch all;

	/* There is so much work that every loop asks more than once. */
	for (int i = 0; i < 5000; i++)
		buf_printf(&lines, "main@m.go:1;f%d@f.go:2 5\n", i);
	all = sketch_init("samples/count", buf_cstr(&lines));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* First all questions are permitted, then all but the last. */
		int allowed = 1 << 20;

		for (int round = 0; round < 2; round++) {
			int left = allowed;
			struct merge *m = merge_new();
			struct report_options o;
			struct printed p = { 0 };

			/* Each report changes its profile, so it gets a copy. */
			cr_assert(!merge_add(m, all.p, NULL, NULL));
			report_options_init(&o);
			o.limits = (struct limits){ refuse, &left };
			printed_with(&p, merge_finish(m), names[i], &o);
			cr_expect(p.prepared, "%s", names[i]);
			cr_expect(p.rc == (round ? ERR_TIMEOUT : 0), "%s: %d",
				  names[i], p.rc);
			allowed -= left + 1;
			printed_fini(&p);
			merge_free(m);
		}
	}
	sketch_fini(&all);
	buf_fini(&lines);
}

Test(report_forms, reports_are_found_by_name)
{
	struct err err;

	cr_expect(report_find(str_of("top"))->kind == REPORT_TOP);
	cr_expect(report_find(str_of("svg"))->kind == REPORT_DOT);
	cr_assert(!report_find(str_of("tops")));
	cr_expect(!report_find(str_of("")));
	cr_expect(report_unknown(str_of("tops"), "pprof", &err) == ERR_INVALID);
	cr_assert(strstr(err.msg, "\"tops\""));
	cr_assert(strstr(err.msg, " traces "));
	cr_expect(strstr(err.msg, " pprof"));
}

Test(report_forms, text_is_padded_by_characters)
{
	static const struct {
		const char *text;
		int width;
		const char *want;
	} table[] = {
		{ "abc", 5, "  abc" },
		{ "abc", 3, "abc" },
		{ "abc", 2, "abc" },
		{ "", 2, "  " },
		{ "\u03bcs", 4, "  \u03bcs" },
		{ "\U0001F600", 2, " \U0001F600" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct buf out = { 0 };

		report_pad(str_of(table[i].text), table[i].width, &out);
		cr_expect(check_str(str_from(buf_bytes(&out)), table[i].want));
		buf_fini(&out);
	}
}

Test(report_forms, options_that_filter_are_told_from_others)
{
	static const struct {
		const char *query;
		bool want;
	} table[] = {
		{ "", false },
		{ "nodecount=5&sort=cum&unit=ms&granularity=lines", false },
		{ "sample_index=cpu&symbol=x&noinlines&mean", false },
		{ "focus=x", true },
		{ "ignore=x", true },
		{ "hide=x", true },
		{ "show=x", true },
		{ "show_from=x", true },
		{ "prune_from=x", true },
		{ "tagfocus=x", true },
		{ "tagignore=x", true },
		{ "tagshow=x", true },
		{ "taghide=x", true },
		{ "tagroot=x", true },
		{ "focus=", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct report_options o;

		printed_options(&o, table[i].query);
		cr_expect(report_options_filter(&o) == table[i].want, "%s",
			  table[i].query);
	}
}

/* Profiles for the Go compiler. */

Test(report_forms, pgo_keeps_functions_lines_and_calls_only)
{
	struct pprof raw =
		sketch_raw("samples/count cpu/nanoseconds",
			   "[/bin/app]0x100010|main@m.go:3:1;"
			   "[/bin/app]0x100020|f@a.go:7:5 1 10 pod=a\n"
			   "[/bin/app]0x100010|main@m.go:3:1;"
			   "[/bin/app]0x100024|f@a.go:7:5 2 20 pod=b\n"
			   "[/bin/app]0x100010|main@m.go:3:1;"
			   "[/bin/app]0x100028|f@a.go:8:5 4 40\n");
	struct sketch s;
	struct merge *m = merge_new();
	struct pprof *out;

	*vec_add(&raw.comments) = strtab_intern(&raw.strings, str_of("x"));
	raw.duration_ns = 5;
	s = sketch_merged(raw);
	cr_assert(!pprof_pgo(m, s.p, &out, NULL));
	/* Without addresses and labels, two of the three stacks are equal. */
	cr_expect(sketch_is(out, "pgo", "main;f 3 30\nmain;f 4 40\n"));
	cr_assert(!out->mappings.count);
	cr_expect(!out->comments.count);
	cr_assert(out->locations.count == 3);
	cr_expect(out->functions.count == 2);
	for (size_t i = 0; i < out->locations.count; i++) {
		cr_assert(!out->locations.v[i].address);
		cr_expect(out->locations.v[i].mapping == PPROF_NONE);
	}
	cr_expect(out->duration_ns == 5);
	merge_free(m);
	sketch_fini(&s);
}

Test(report_forms, pgo_refuses_what_the_compiler_would)
{
	static const struct {
		const char *types;
		const char *lines;
		const char *why; /* NULL: accepted */
	} table[] = {
		{ "samples/count", "f@a.go:7:5 1\n", NULL },
		{ "x/y cpu/nanoseconds", "f@a.go:7:5 1 1\n", NULL },
		{ "cpu/microseconds", "f@a.go:7:5 1\n", "cpu/nanoseconds" },
		{ "inuse_space/bytes", "f@a.go:7:5 1\n", "samples/count" },
		{ "samples/bytes", "f@a.go:7:5 1\n", "samples/count" },
		{ "samples/count", "f@a.go:7 1\ng@b.go:1 1\n", "start" },
		{ "samples/count", "f@a.go:7 1\ng@b.go:1:1 1\n", NULL },
		{ "samples/count", "f@a.py:7:5 1\ng@b.c:1:1 1\n",
		  "Go program" },
		{ "samples/count", "f@a.py:7:5 1\ng@b.go:1:1 1\n", NULL },
		{ "samples/count", "0x10;0x20 1\n", NULL },
		{ "samples/count", "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s = sketch_init(table[i].types, table[i].lines);
		struct merge *m = merge_new();
		struct pprof *out = NULL;
		struct err err = { 0 };
		int rc = pprof_pgo(m, s.p, &out, &err);

		cr_expect(rc == (table[i].why ? ERR_INVALID : 0), "%zu", i);
		cr_expect(!table[i].why || strstr(err.msg, table[i].why),
			  "%zu: %s", i, err.msg);
		cr_expect(rc || out);
		merge_free(m);
		sketch_fini(&s);
	}
}
