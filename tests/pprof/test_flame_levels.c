/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame trees as the bars that Grafana reads. Each case also rebuilds the tree
 * from the bars, as Grafana does: by the parent's bar that contains a bar.
 */
#include "pprof/report/flame_levels.h"

#include "tests/pprof/printed.h"

TestSuite(flame_levels, .timeout = 30);

/* Write the bars of all levels, one level on each line. */
static void write_levels(const struct flame_levels *l, size_t numbers,
			 struct buf *out)
{
	for (size_t i = 0; i < l->starts.count; i++) {
		struct pprof_run run = flame_level(l, i);

		for (uint32_t k = 0; k < run.count; k += (uint32_t)numbers) {
			const int64_t *bar = &l->values.v[run.first + k];
			struct str name = strtab_get(
				&l->strings, (uint32_t)bar[numbers - 1] + 1);

			buf_printf(out, "%s%.*s", k ? " " : "", STR_ARG(name));
			for (size_t n = 0; n + 1 < numbers; n++)
				buf_printf(out, "%c%" PRId64, n ? ',' : ':',
					   bar[n]);
		}
		buf_str(out, "\n");
	}
	buf_printf(out, "total %" PRId64 " max %" PRId64, l->total,
		   l->max_self);
}

/* The levels of a profile, with the options of a report. */
static bool has_levels(struct pprof *p, const char *options, const char *want)
{
	struct report_options o;
	struct flame_levels l;
	struct report r;
	struct flame f;
	struct buf out = { 0 };
	bool same;

	printed_options(&o, options);
	cr_assert(!report_init(&r, REPORT_FLAMEGRAPH, p, &o, NULL));
	cr_assert(!flame_init(&f, &r, FLAME_INWARDS, o.max_nodes, NULL));
	cr_assert(!flame_levels_init(&l, &r, &f, NULL));
	write_levels(&l, f.has_base ? FLAME_BAR_DIFF : FLAME_BAR, &out);
	same = check_str(str_of(buf_cstr(&out)), want);
	buf_fini(&out);
	flame_levels_fini(&l);
	flame_fini(&f);
	report_fini(&r);
	return same;
}

static bool sketch_has_levels(const char *lines, const char *options,
			      const char *want)
{
	struct sketch s = sketch_init("samples/count", lines);
	bool same = has_levels(s.p, options, want);

	sketch_fini(&s);
	return same;
}

/* The example of Pyroscope: children come after their parent's own weight. */
Test(flame_levels, children_begin_behind_the_own_weight_of_their_parent)
{
	cr_expect(sketch_has_levels("main 1\nmain;f 6\nmain;g 3\n", "",
				    "total:0,10,0\n"
				    "main:0,10,1\n"
				    "f:1,6,6 g:0,3,3\n"
				    "total 10 max 6"));
}

Test(flame_levels, a_level_skips_what_has_no_children_in_it)
{
	cr_expect(sketch_has_levels(
		"a 5\na;x 1\nb 2\nb;x;y 4\nb;x;z 8\nc;q 16\n", "",
		"total:0,36,0\n"
		"a:0,6,5 b:0,14,2 c:0,16,0\n"
		"x:5,1,1 x:2,12,0 q:0,16,16\n"
		"y:8,4,4 z:0,8,8\n"
		"total 36 max 16"));
}

/* Where Grafana asks for the rest of the children, by this name. */
Test(flame_levels, what_is_folded_is_the_last_child)
{
	cr_expect(sketch_has_levels("m;a 1\nm;b 2\nm;z 100\n", "max_nodes=3",
				    "total:0,103,0\n"
				    "m:0,103,0\n"
				    "z:0,100,100 other:0,3,3\n"
				    "total 103 max 100"));
}

Test(flame_levels, an_empty_profile_has_a_root)
{
	cr_expect(sketch_has_levels("", "",
				    "total:0,0,0\n"
				    "total 0 max 0"));
}

/* Such bars would be hung on a wrong parent. */
Test(flame_levels, bars_without_weight_are_left_out)
{
	struct sketch s = sketch_init("n/count", "m;a 1\nm;b;c 2\nm;d 4\n");

	/* As in a difference: what one sample adds, another one takes. */
	pprof_values(s.p, 1)[0] = 0;
	pprof_values(s.p, 2)[0] = -4;
	cr_expect(has_levels(s.p, "",
			     "total:0,-3,0\n"
			     "total -3 max 0"));
	sketch_fini(&s);
}

/* A difference that keeps both sides apart; see merge_diff_options. */
Test(flame_levels, a_difference_has_both_sides)
{
	struct sketch base = sketch_init("n/count", "m;a 3\nm;b 5\n");
	struct sketch now = sketch_init("n/count", "m;a 1\nm;c 10\nm 2\n");
	struct merge_diff_options o = { .label_base = true };
	struct merge *both = merge_new();
	struct pprof *p;

	cr_assert(!merge_diff(both, now.p, base.p, &o, &p, NULL));
	cr_expect(has_levels(p, "",
			     "total:0,8,0,0,13,0\n"
			     "m:0,8,0,0,13,2\n"
			     "a:0,3,3,2,1,1 b:0,5,5,0,0,0 c:0,0,0,0,10,10\n"
			     "total 21 max 10"));
	merge_free(both);
	sketch_fini(&base);
	sketch_fini(&now);
}
