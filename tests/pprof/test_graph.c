/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph: which frames are one node, what nodes and calls weigh, what
 * trimming leaves, and in which order; the numbers are added up by hand.
 */
#include "pprof/graph/graph.h"
#include "pprof/graph/graph_order.h"
#include "tests/pprof/sketch.h"

TestSuite(nodes, .timeout = 30);
TestSuite(graph, .timeout = 30);

static const struct limits all_permitted;

/* Nodes. */

/*
 * Expects the texts of all nodes to be `want`, in the order in which the nodes
 * are met.
 */
static void expect_nodes(const char *lines, enum granularity g, bool noinlines,
			 const char *want)
{
	struct sketch s = sketch_init("samples/count", lines);
	struct nodes n;
	struct buf got = { 0 };

	nodes_init(&n, s.p, g, noinlines);
	for (size_t i = 0; i < n.v.count; i++)
		buf_printf(&got, "%s%.*s", i ? "|" : "",
			   STR_ARG(n.v.v[i].text));
	cr_expect(check_str(str_of(buf_cstr(&got)), want), "granularity %d",
		  (int)g);
	nodes_fini(&n);
	buf_fini(&got);
	sketch_fini(&s);
}

/*
 * Nodes are met from the leaf of a stack to its root, and inlined functions
 * before their callers.
 */
static const char frames[] =
	"[/bin/app]0x100010|f@x/a.go:3:1>g@x/b.go:5:4;"
	"[/bin/app]0x100020|f@x/a.go:7:1 1\n"
	"[/bin/app]0x100030|f@y/a.go:3:1;[/lib/so]0x200040;0x50 2\n";

Test(nodes, a_granularity_decides_what_is_one_node)
{
	expect_nodes(frames, GRANULARITY_FUNCTIONS, false,
		     "f|g|<unknown>|[so]");
	expect_nodes(frames, GRANULARITY_FILEFUNCTIONS, false,
		     "f x/a.go|g x/b.go|<unknown>|[so]|f y/a.go");
	expect_nodes(frames, GRANULARITY_LINES, false,
		     "f x/a.go:7|g x/b.go:5|f x/a.go:3|<unknown>|[so]|"
		     "f y/a.go:3");
	expect_nodes(frames, GRANULARITY_ADDRESSES, false,
		     "0000000000100020 f x/a.go:7|"
		     "0000000000100010 g x/b.go:5|"
		     "0000000000100010 f x/a.go:3|0000000000000050 <unknown>|"
		     "0000000000200040 [so]|0000000000100030 f y/a.go:3");
	/*
	 * Here nodes have no function names. Nodes of one file are then told
	 * apart by the start lines of their functions, as in pprof; both
	 * functions of x/a.go start in line 1.
	 */
	expect_nodes(frames, GRANULARITY_FILES, false,
		     "x/a.go|x/b.go|<unknown>|[so]|y/a.go");
}

Test(nodes, without_inlines_a_location_is_its_outermost_function)
{
	expect_nodes(frames, GRANULARITY_FUNCTIONS, true, "f|<unknown>|[so]");
	expect_nodes("a>b>c;d>e 1\n", GRANULARITY_FUNCTIONS, true, "d|a");
	expect_nodes("a>b>c;d>e 1\n", GRANULARITY_FUNCTIONS, false,
		     "e|d|c|b|a");
}

Test(nodes, file_names_are_cleaned_as_by_gos_path_clean)
{
	static const struct {
		const char *file;
		const char *want;
	} table[] = {
		{ "a/b.go", "a/b.go" },
		{ "a//b.go", "a/b.go" },
		{ "./a.go", "a.go" },
		{ "a/./b.go", "a/b.go" },
		{ "a/../b.go", "b.go" },
		{ "a/b/../../c.go", "c.go" },
		{ "../a.go", "../a.go" },
		{ "../../a.go", "../../a.go" },
		{ "a/../../b.go", "../b.go" },
		{ "../a/../b.go", "../b.go" },
		{ "/../a.go", "/a.go" },
		{ "//a//b.go", "/a/b.go" },
		{ "/a/..", "/" },
		{ "a/..", "." },
		{ ".", "." },
		{ "./", "." },
		{ "a/", "a" },
		{ "/", "/" },
		{ "..", ".." },
		{ ".hidden/x", ".hidden/x" },
		{ "a/..b", "a/..b" },
		{ "...", "..." },
		{ "/abc/def/../../..", "/" },
		{ "abc/../../././../def", "../../def" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct buf line = { 0 };
		struct buf want = { 0 };

		buf_printf(&line, "f@%s 1\n", table[i].file);
		buf_printf(&want, "f %s", table[i].want);
		expect_nodes(buf_cstr(&line), GRANULARITY_FILEFUNCTIONS, false,
			     buf_cstr(&want));
		buf_fini(&line);
		buf_fini(&want);
	}
	expect_nodes("f@a/b.go;f@a/./b.go;f@a/x/../b.go 1\n",
		     GRANULARITY_FILEFUNCTIONS, false, "f a/b.go");
}

Test(nodes, a_node_has_the_first_file_in_the_order_of_texts)
{
	struct sketch s =
		sketch_init("samples/count", "f@b.go:9:5;f@a.go:2:1;f 1\n");
	struct nodes n;

	nodes_init(&n, s.p, GRANULARITY_FUNCTIONS, false);
	cr_assert(n.v.count == 1);
	cr_expect(check_str(pprof_str(s.p, n.v.v[0].file), "a.go"));

	cr_expect(nodes_memory(&n) > 0);
	nodes_fini(&n);
	sketch_fini(&s);
}

Test(nodes, nodes_of_one_text_have_an_order)
{
	struct sketch s = sketch_init("samples/count",
				      "f@a.go:1:2;f@a.go:1:10 1\n"
				      "@a.go:1:2;@a.go:1:10 1\n");
	struct nodes n;

	/*
	 * The two nodes have the same text. They are ordered by their start
	 * lines, which are compared as text, so that 10 comes before 2.
	 */
	nodes_init(&n, s.p, GRANULARITY_FILES, false);
	cr_assert(n.v.count == 2);
	cr_expect(n.v.v[0].key.start_line == 10);
	cr_expect(str_eq(n.v.v[0].text, n.v.v[1].text));
	cr_assert(nodes_compare(&n, 0, 1) < 0);
	cr_expect(nodes_compare(&n, 1, 0) > 0);
	cr_expect(nodes_compare(&n, 1, 1) == 0);
	nodes_fini(&n);
	sketch_fini(&s);
}

Test(nodes, granularities_have_names)
{
	static const char *const names[] = { "functions", "filefunctions",
					     "files", "lines", "addresses" };
	enum granularity g;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cr_assert(!granularity_parse(str_of(names[i]), &g, NULL));
		cr_expect((size_t)g == i);
	}
	cr_expect(granularity_parse(str_of("Files"), &g, &err) == ERR_INVALID);
	cr_assert(strstr(err.msg, "\"Files\""));
	cr_expect(strstr(err.msg, "addresses"));
	cr_expect(granularity_parse(str_of(""), &g, &err) == ERR_INVALID);
}

/* Graphs. */

struct drawn {
	struct sketch s;
	struct nodes n;
	struct graph g;
};

static struct drawn *drawn_new(const char *types, const char *lines,
			       struct graph_options o)
{
	struct drawn *d = mem_new(struct drawn);

	d->s = sketch_init(types, lines);
	nodes_init(&d->n, d->s.p, GRANULARITY_FUNCTIONS, false);
	o.limits = &all_permitted;
	cr_assert(!graph_init(&d->g, d->s.p, &d->n, &o, NULL));
	return d;
}

static void drawn_free(struct drawn *d)
{
	graph_fini(&d->g);
	nodes_fini(&d->n);
	sketch_fini(&d->s);
	mem_free(d);
}

static struct str text_of(const struct drawn *d, uint32_t node)
{
	return d->n.v.v[node].text;
}

/*
 * Prints the graph: for each node "name flat/cum", then for each of its callees
 * ">name weight". A "~" replaces the ">" if frames between the two are left
 * out, and a "+" if the callee is inlined.
 */
static void print_graph(const struct drawn *d, struct buf *out)
{
	const struct graph *g = &d->g;

	for (size_t i = 0; i < g->shown.count; i++) {
		const struct graph_node *n = &g->node[g->shown.v[i]];

		buf_printf(out, "%.*s %" PRId64 "/%" PRId64,
			   STR_ARG(text_of(d, g->shown.v[i])),
			   graph_mean(n->flat, n->flat_div),
			   graph_mean(n->cum, n->cum_div));
		for (uint32_t k = 0; k < n->out.count; k++) {
			const struct graph_edge *e =
				&g->edges.v[g->lists.v[n->out.first + k]];

			buf_printf(out, " %s%.*s %" PRId64,
				   e->residual ? "~" :
				   e->inlined  ? "+" :
						 ">",
				   STR_ARG(text_of(d, e->to)),
				   graph_mean(e->weight, e->weight_div));
		}
		buf_byte(out, '\n');
	}
}

static bool is_drawn(const struct drawn *d, const char *want)
{
	struct buf got = { 0 };
	bool ok;

	print_graph(d, &got);
	ok = !strcmp(buf_cstr(&got), want);
	if (!ok)
		fprintf(stderr, "got\n%swant\n%s", buf_cstr(&got), want);
	buf_fini(&got);
	return ok;
}

static void expect_graph(const char *what, const char *lines,
			 struct graph_options o, const char *want)
{
	struct drawn *d = drawn_new("samples/count", lines, o);

	cr_expect(is_drawn(d, want), "%s", what);
	drawn_free(d);
}

Test(graph, weights_are_added_up)
{
	static const struct {
		const char *what;
		const char *lines;
		const char *want;
	} table[] = {
		{ "no samples", "", "" },
		{ "one frame", "a 5\n", "a 5/5\n" },
		{ "a leaf that is a caller elsewhere", "a;b 5\na 2\n",
		  "b 5/5\na 2/7 >b 5\n" },
		{ "two callers", "a;c 1\nb;c 2\n",
		  "c 3/3\na 0/1 >c 1\nb 0/2 >c 2\n" },
		{ "recursion counts a sample once", "a;b;a;b;a 7\n",
		  "a 7/7 >b 7\nb 0/7 >a 7\n" },
		{ "a function that calls itself has no edge for it",
		  "a;a;a 7\n", "a 7/7\n" },
		{ "inlined in every call", "a>b 1\na>b 2\n",
		  "b 3/3\na 0/3 +b 3\n" },
		{ "inlined in some calls", "a>b 1\na;b 2\n",
		  "b 3/3\na 0/3 >b 3\n" },
		{ "negative values", "a;b -5\na;c 2\n",
		  "b -5/-5\nc 2/2\na 0/-3 >b -5 >c 2\n" },
		{ "values that cancel out: no flat, no cum, not shown",
		  "a;b -5\na;c 5\n", "b -5/-5\nc 5/5\n" },
		{ "a stack without frames", "- 3\na 1\n", "a 1/1\n" },
		{ "sums wrap, as in Go", "a 9223372036854775807\na 1 x=y\n",
		  "a -9223372036854775808/-9223372036854775808\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		expect_graph(table[i].what, table[i].lines,
			     (struct graph_options){ 0 }, table[i].want);
}

Test(graph, nodes_are_ordered_by_flat_or_cum)
{
	static const char lines[] = "m;a 5\nm;b;c 5\nm;b 4\n";

	/* Nodes with equal flat values are ordered by name. */
	expect_graph("flat", lines,
		     (struct graph_options){ .order = GRAPH_FLAT },
		     "a 5/5\nc 5/5\nb 4/9 >c 5\nm 0/14 >b 9 >a 5\n");
	expect_graph("cum", lines, (struct graph_options){ .order = GRAPH_CUM },
		     "m 0/14 >b 9 >a 5\nb 4/9 >c 5\na 5/5\nc 5/5\n");
	/* The order does not depend on the sign of a value. */
	expect_graph("signs", "a -5\nb 4\nc 6\n",
		     (struct graph_options){ .order = GRAPH_FLAT },
		     "c 6/6\na -5/-5\nb 4/4\n");
}

Test(graph, a_drawing_is_ordered_by_entropy)
{
	/*
	 * The score of a node is cum * (entropy of its callers + entropy of its
	 * callees) + flat, cut to a whole number. The entropy is in bits. It is
	 * 1 bit if there are no callers, or no callees.
	 * m: 16 * (1 + H(12/16, 4/16)) = 16 * 1.811, which is cut to 28.
	 * s: 12 * (0 + H(6/12, 6/12)) = 12 * 1 = 12.
	 * a and b: 6 * (0 + 1) + 6 = 12.
	 * z: 4 * (0 + 1) + 4 = 8.
	 * Nodes with equal scores are ordered by name.
	 */
	expect_graph("entropy", "m;s;a 6\nm;s;b 6\nm;z 4\n",
		     (struct graph_options){ .order = GRAPH_ENTROPY },
		     "m 0/16 >s 12 >z 4\na 6/6\nb 6/6\ns 0/12 >a 6 >b 6\n"
		     "z 4/4\n");
}

Test(graph, means_are_divided_by_the_first_type)
{
	struct drawn *d = drawn_new(
		"count/count bytes/bytes", "m;a 2 100\nm;b 3 60\nm;a;c 0 50\n",
		(struct graph_options){ .value = 1, .mean = true });

	/*
	 * Values are divided by the counts: a has 100/2 flat and 150/2 cum, b
	 * has 60/3, and m has 210/5. The count of c is 0, so c is not divided.
	 */
	cr_expect(is_drawn(d, "a 50/75 >c 50\nb 20/20\nc 50/50\n"
			      "m 0/42 >a 75 >b 20\n"));
	cr_assert(graph_mean(7, 2) == 3);
	cr_expect(graph_mean(-7, 2) == -3);
	cr_expect(graph_mean(7, 0) == 7);
	cr_expect(graph_mean(INT64_MIN, -1) == INT64_MIN);
	cr_assert(graph_abs(INT64_MIN) == INT64_MIN);
	cr_expect(graph_abs(-3) == 3);
	drawn_free(d);
}

Test(graph, light_nodes_are_dropped)
{
	/* The total of the flat values is 100, so the limit is 10. */
	static const char lines[] = "m;a;b 60\nm;x;c 31\nm;x;y;d 9\n";
	struct graph_options o = { .node_fraction = 0.1 };
	struct drawn *d = drawn_new("samples/count", lines, o);

	cr_expect(is_drawn(d, "b 60/60\nc 31/31\na 0/60 >b 60\n"
			      "m 0/100 >a 60 >x 40\nx 0/40 >c 31\n"));
	cr_assert(d->g.dropped_nodes == 2);
	cr_expect(d->g.original_count == 5);
	drawn_free(d);
	/* A node that is exactly at the limit is kept. */
	o.node_fraction = 0.09;
	d = drawn_new("samples/count", lines, o);
	cr_assert(d->g.dropped_nodes == 0);
	cr_expect(d->g.shown.count == 7);
	drawn_free(d);
	/* The limit 9.9 is cut to 9. */
	o.node_fraction = 0.099;
	d = drawn_new("samples/count", lines, o);
	cr_expect(d->g.dropped_nodes == 0);
	drawn_free(d);
}

Test(graph, calls_through_dropped_nodes_are_residual)
{
	/*
	 * "thin" weighs 5 of 100 and is dropped. The function that it called
	 * stays connected to its caller. If "thin" is a leaf, its value is in
	 * no call of its caller.
	 */
	expect_graph("residual", "m;thin;b 5\nm;b 80\nm;c;thin 0\nm;c 15\n",
		     (struct graph_options){ .node_fraction = 0.06 },
		     "b 85/85\nc 15/15\nm 0/100 ~b 85 >c 15\n");
	expect_graph("a lost leaf", "m;thin 5\nm;b 95\n",
		     (struct graph_options){ .node_fraction = 0.06 },
		     "b 95/95\nm 0/100 >b 95\n");
}

Test(graph, light_calls_are_dropped)
{
	static const char lines[] = "m;a 90\nn;a 10\nm;b 100\n";
	struct graph_options o = { .edge_fraction = 0.1 };
	struct drawn *d = drawn_new("samples/count", lines, o);

	/*
	 * 10 % of the total, 200, are 20. The call from n to a is dropped, and
	 * the nodes n and a stay.
	 */
	cr_expect(is_drawn(d, "a 100/100\nb 100/100\nm 0/190 >b 100 >a 90\n"
			      "n 0/10\n"));
	cr_expect(d->g.dropped_edges == 1);
	drawn_free(d);
	o.edge_fraction = 0.05;
	d = drawn_new("samples/count", lines, o);
	cr_expect(d->g.dropped_edges == 0, "exactly at the limit");
	drawn_free(d);
}

Test(graph, only_the_top_nodes_are_kept)
{
	static const char lines[] = "m;a;b 4\nm;c 3\nm;d 2\n";
	struct graph_options o = { .node_count = 2 };
	struct drawn *d = drawn_new("samples/count", lines, o);

	cr_expect(is_drawn(d, "b 4/4\nc 3/3\n"));
	cr_assert(d->g.original_count == 5);
	cr_expect(d->g.dropped_nodes == 0);
	drawn_free(d);
	o.order = GRAPH_CUM;
	d = drawn_new("samples/count", lines, o);
	/*
	 * The node b is not shown. No call from a shows its value, which counts
	 * only in the cum of a and m.
	 */
	cr_expect(is_drawn(d, "m 0/9 >a 4\na 0/4\n"));
	drawn_free(d);
	o.node_count = 3;
	d = drawn_new("samples/count", lines, o);
	cr_expect(is_drawn(d, "m 0/9 >a 4\na 0/4 >b 4\nb 4/4\n"));
	drawn_free(d);
	o.node_count = 6;
	d = drawn_new("samples/count", lines, o);
	cr_expect(d->g.shown.count == 5, "more than there are");
	drawn_free(d);
}

Test(graph, negative_nodes_can_be_hidden)
{
	static const char lines[] = "m;a -5\nm;b 9\nn;c -3\n";

	/*
	 * The node n has no flat value, so its negative cum decides, and n is
	 * hidden.
	 */
	expect_graph("dropped", lines,
		     (struct graph_options){ .drop_negative = true },
		     "b 9/9\nm 0/4 >b 9 >a -5\n");
	expect_graph("kept", lines, (struct graph_options){ 0 },
		     "b 9/9\na -5/-5\nc -3/-3\nm 0/4 >b 9 >a -5\n"
		     "n 0/-3 >c -3\n");
}

Test(graph, redundant_calls_are_left_out_of_drawings)
{
	/*
	 * "thin" is dropped, so that residual edges lead from m to b and c. b
	 * can also be reached by m;a;b, so the edge from m to b is left out. c
	 * can be reached in no other way.
	 */
	static const char lines[] =
		"m;a;b 50\nm;thin;b 3\nm;thin;c 3\nm;c;d 44\n";
	struct graph_options o = { .order = GRAPH_ENTROPY,
				   .node_fraction = 0.07 };
	struct drawn *d = drawn_new("samples/count", lines, o);
	size_t dropped = 0;

	for (size_t i = 0; i < d->g.edges.count; i++) {
		const struct graph_edge *e = &d->g.edges.v[i];

		dropped += e->dropped;
		cr_expect(e->dropped == (str_is(text_of(d, e->from), "m") &&
					 str_is(text_of(d, e->to), "b")));
	}
	cr_expect(dropped == 1);
	drawn_free(d);
	o.order = GRAPH_FLAT;
	d = drawn_new("samples/count", lines, o);
	for (size_t i = 0; i < d->g.edges.count; i++)
		cr_expect(!d->g.edges.v[i].dropped, "tables show all calls");
	drawn_free(d);
}

static int refuse(void *ctx, size_t bytes, struct err *err)
{
	int *left = ctx;

	(void)bytes;
	return (*left)-- ? 0 : err_set(err, ERR_TIMEOUT, "the time is up");
}

Test(graph, work_can_be_refused_within_one_stack)
{
	struct buf lines = { 0 };
	struct graph_options o = { 0 };
	struct limits limits;
	struct sketch s;
	struct nodes n;
	struct graph g;
	struct err err;

	for (int i = 0; i < 10000; i++)
		buf_printf(&lines, "f%d;", i % 100);
	buf_str(&lines, "leaf 1\n");
	s = sketch_init("samples/count", buf_cstr(&lines));
	nodes_init(&n, s.p, GRANULARITY_FUNCTIONS, false);
	for (int left = 0; left < 4; left++) {
		int asked = left;

		limits = (struct limits){ refuse, &asked };
		o.limits = &limits;
		/*
		 * The limits are asked twice within the stack, after every
		 * 4,096 frames.
		 */
		cr_expect(graph_init(&g, s.p, &n, &o, &err) ==
				  (left < 2 ? ERR_TIMEOUT : 0),
			  "%d", left);
		graph_fini(&g);
	}
	nodes_fini(&n);
	buf_fini(&lines);
	sketch_fini(&s);
}
