/* SPDX-License-Identifier: Apache-2.0 */
/* Flame trees: their directions and beginnings, and what they say of frames. */
#include "pprof/report/flame.h"

#include "tests/pprof/printed.h"

TestSuite(flame, .timeout = 30);

/* Append the text "name self/total" of each node, indented by its depth. */
static void draw(const struct flame *f, const struct report *r, struct buf *out)
{
	for (size_t i = 1; i < f->v.count; i++) {
		const struct flame_node *n = &f->v.v[i];

		buf_printf(out, "%*s%.*s%s %" PRId64 "/%" PRId64 "\n",
			   (int)n->depth - 1, "", STR_ARG(flame_name(r, n)),
			   n->inlined ? "*" : "", n->self, n->total);
	}
}

/* Whether the tree of a sketch, with options, looks like `want`. */
static bool is_drawn(const char *sketch, const char *options,
		     enum flame_walk walk, const char *want)
{
	struct sketch s = sketch_init("samples/count", sketch);
	struct report_options o;
	struct report r;
	struct flame f;
	struct buf out = { 0 };
	bool same;

	printed_options(&o, options);
	cr_assert(!report_init(&r, REPORT_FLAMEGRAPH, s.p, &o, NULL));
	cr_assert(!flame_init(&f, &r, walk, o.max_nodes, NULL));
	draw(&f, &r, &out);
	same = check_str(str_of(buf_cstr(&out)), want);
	buf_fini(&out);
	flame_fini(&f);
	report_fini(&r);
	sketch_fini(&s);
	return same;
}

static const char stacks[] = "m;a;b 1\nm;a;c 2\nm;b 4\nn;c;a;b 8\n";

Test(flame, trees_grow_in_four_directions)
{
	cr_expect(is_drawn(stacks, "", FLAME_INWARDS,
			   "m 0/7\n a 0/3\n  b 1/1\n  c 2/2\n b 4/4\n"
			   "n 0/8\n c 0/8\n  a 0/8\n   b 8/8\n"));
	cr_expect(is_drawn(stacks, "", FLAME_OUTWARDS,
			   "b 0/13\n a 0/9\n  c 0/8\n   n 8/8\n  m 1/1\n"
			   " m 4/4\nc 0/2\n a 0/2\n  m 2/2\n"));
	cr_expect(is_drawn(stacks, "pivot=^a$", FLAME_CALLEES,
			   "a 0/11\n b 9/9\n c 2/2\n"));
	cr_expect(is_drawn(stacks, "pivot=^a$", FLAME_CALLERS,
			   "a 0/11\n c 0/8\n  n 8/8\n m 3/3\n"));
}

Test(flame, the_outermost_match_is_the_pivot)
{
	const char *recursive = "m;a;x;a;b 1\nm;b 2\n";

	cr_expect(is_drawn(recursive, "pivot=^a$", FLAME_CALLEES,
			   "a 0/1\n x 0/1\n  a 0/1\n   b 1/1\n"));
	cr_expect(is_drawn(recursive, "pivot=^a$", FLAME_CALLERS,
			   "a 0/1\n m 1/1\n"));
	cr_expect(is_drawn(recursive, "pivot=a|b", FLAME_CALLEES,
			   "a 0/1\n x 0/1\n  a 0/1\n   b 1/1\nb 2/2\n"));
}

Test(flame, a_frame_is_inlined_if_it_is_in_all_calls)
{
	cr_expect(is_drawn("m>a>b 1\nm;c 2\nm>c 4\n", "", FLAME_INWARDS,
			   "m 0/7\n a* 0/1\n  b* 1/1\n c 6/6\n"));
	cr_expect(is_drawn("m>a;b 1\n", "", FLAME_OUTWARDS,
			   "b 0/1\n a* 0/1\n  m 1/1\n"));
	cr_expect(
		is_drawn("m>a>b 1\n", "noinlines=1", FLAME_INWARDS, "m 1/1\n"));
}

Test(flame, under_keeps_one_box)
{
	cr_expect(is_drawn(stacks, "under=m", FLAME_INWARDS,
			   "m 0/7\n a 0/3\n  b 1/1\n  c 2/2\n b 4/4\n"));
	cr_expect(is_drawn(stacks, "under=m&under=a&under=c", FLAME_INWARDS,
			   "m 0/2\n a 0/2\n  c 2/2\n"));
	/* The path is found in inlined frames, and in what filters leave. */
	cr_expect(is_drawn("m>a>b 1\nm>a 2\nm>c 4\n", "under=m&under=a",
			   FLAME_INWARDS, "m 0/3\n a* 2/3\n  b* 1/1\n"));
	cr_expect(is_drawn(stacks, "hide=^m$&under=a", FLAME_INWARDS,
			   "a 0/3\n b 1/1\n c 2/2\n"));
}

Test(flame, under_is_a_filter_of_every_report)
{
	struct sketch s = sketch_init("samples/count", stacks);
	struct printed p = printed_of(s.p, "folded", "under=m&under=a");

	cr_expect(printed_is(&p, "m;a;b 1\nm;a;c 2\n"));
	printed_fini(&p);
	sketch_fini(&s);
	s = sketch_init("samples/count", stacks);
	p = printed_of(s.p, "folded", "under=a");
	cr_expect(check_str(str_of(buf_cstr(&p.unmatched)), "under "));
	printed_fini(&p);
	sketch_fini(&s);
}

Test(flame, json_has_callers_of_the_pivot_beside_its_callees)
{
	cr_expect(prints(
		"[/bin/x]m;a;b 1\nm;a 2\n", "json:flamegraph", "pivot=^a$",
		"{\"sample_type\":\"samples\",\"unit\":\"count\",\"total\":3,"
		"\"name\":[1,2,3],\"file\":[0,0,0],\"binary\":[0,0,0],"
		"\"parent\":[-1,0,1],\"inlined\":[0,0,0],\"self\":[0,2,1],"
		"\"total_of\":[3,3,1],\"left_out\":{\"nodes\":0,\"weight\":0},"
		"\"callers\":{\"name\":[1,2,4],\"file\":[0,0,0],"
		"\"binary\":[0,0,5],\"parent\":[-1,0,1],\"inlined\":[0,0,0],"
		"\"self\":[0,0,3],\"total_of\":[3,3,3],"
		"\"left_out\":{\"nodes\":0,\"weight\":0}},"
		"\"strings\":[\"\",\"total\",\"a\",\"b\",\"m\",\"/bin/x\"]}"));
}

Test(flame, a_pivot_that_matches_nothing_is_an_error)
{
	static const struct {
		const char *options;
		int rc;
		const char *message;
	} cases[] = {
		{ "pivot=z", ERR_NOTFOUND, "no frame matches the pivot" },
		{ "pivot=(", ERR_INVALID, "pivot:" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sketch s = sketch_init("samples/count", stacks);
		struct printed p =
			printed_of(s.p, "json:flamegraph", cases[i].options);

		cr_expect(p.rc == cases[i].rc);
		cr_expect(strstr(p.err.msg, cases[i].message), "%s", p.err.msg);
		printed_fini(&p);
		sketch_fini(&s);
	}
}

/* The tree of `stacks` with weights on two sides, and where the paths end. */
static bool sides_are(int64_t max_nodes, const char *want,
		      const uint32_t want_ends[4])
{
	struct sketch s = sketch_init("samples/count", stacks);
	const int64_t base[] = { 1, 2, 4, 0 };
	const int64_t now[] = { 10, 0, 40, 0 };
	uint32_t ends[4];
	struct flame_sides sides = { base, now, ends };
	struct report_options o;
	struct report r;
	struct flame f;
	struct buf out = { 0 };
	bool same;

	report_options_init(&o);
	cr_assert(!report_init(&r, REPORT_FLAMEGRAPH, s.p, &o, NULL));
	cr_assert(!flame_init_sides(&f, &r, FLAME_INWARDS, max_nodes, &sides,
				    NULL));
	for (size_t i = 0; i < f.v.count; i++)
		buf_printf(&out, "%.*s %" PRId64 "-%" PRId64 "\n",
			   STR_ARG(flame_name(&r, &f.v.v[i])), f.v.v[i].total_a,
			   f.v.v[i].total);
	same = f.has_base && check_str(str_of(buf_cstr(&out)), want) &&
	       !memcmp(ends, want_ends, sizeof(ends));
	buf_fini(&out);
	flame_fini(&f);
	report_fini(&r);
	sketch_fini(&s);
	return same;
}

Test(flame, samples_of_both_sides_know_where_their_paths_end)
{
	/* A sample without weight on any side has no path. */
	cr_expect(sides_are(
		0, "total 7-50\nm 7-50\na 3-10\nb 1-10\nc 2-0\nb 4-40\n",
		(uint32_t[]){ 3, 4, 5, PPROF_NONE }));
	/* What has no room ends where it was folded. */
	cr_expect(sides_are(3, "total 7-50\nm 7-50\n(other) 3-10\nb 4-40\n",
			    (uint32_t[]){ 2, 2, 3, PPROF_NONE }));
}
