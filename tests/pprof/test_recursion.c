/* SPDX-License-Identifier: Apache-2.0 */
/* The option `recursion`: recursive functions are shown once. */
#include "pprof/filter/recursion.h"

#include "tests/pprof/printed.h"

static const struct limits all_permitted;

TestSuite(recursion, .timeout = 30);

Test(recursion, frames_of_recursive_calls_are_removed)
{
	static const struct {
		const char *stack;
		const char *direct;
		const char *all;
	} cases[] = {
		{ "a;b;c", "a;b;c", "a;b;c" },
		{ "a;a;a", "a", "a" },
		{ "m;a;a;b", "m;a;b", "m;a;b" },
		{ "a;b;a;b;c", "a;b;a;b;c", "a;b;c" },
		{ "a;b;b;a", "a;b;a", "a" },
		{ "a;b;c;b;d;c", "a;b;c;b;d;c", "a;b;d;c" },
		/* Inlined functions, within a location and across locations. */
		{ "m>a>a>b", "m>a>b", "m>a>b" },
		{ "a>b;b>c", "a>b;c", "a>b;c" },
		{ "a>b>a", "a>b>a", "a" },
		{ "a>b;a>c;d", "a>b;a>c;d", "a;c;d" },
		/* Addresses without a function are never recursive. */
		{ "0x10;0x10;a", "0x10;0x10;a", "0x10;0x10;a" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep)
		char *before = mem_printf("%s 1\n", cases[i].stack);
		CLEANUP(mem_freep)
		char *direct = mem_printf("%s 1\n", cases[i].direct);
		CLEANUP(mem_freep)
		char *all = mem_printf("%s 1\n", cases[i].all);
		struct sketch s = sketch_init("samples/count", before);

		cr_expect(!filter_recursion(s.p, RECURSION_DIRECT,
					    &all_permitted, NULL));
		cr_expect(sketch_is(s.p, cases[i].stack, direct));
		sketch_fini(&s);
		s = sketch_init("samples/count", before);
		cr_expect(!filter_recursion(s.p, RECURSION_ALL, &all_permitted,
					    NULL));
		cr_expect(sketch_is(s.p, cases[i].stack, all));
		sketch_fini(&s);
	}
}

Test(recursion, equal_parts_of_a_location_are_copied_once)
{
	struct sketch s = sketch_init("samples/count",
				      "m;a>b;b>c 1\nn;a>b;b>c 2\nb>c 4\n");
	size_t locations = s.p->locations.count;

	cr_expect(
		!filter_recursion(s.p, RECURSION_DIRECT, &all_permitted, NULL));
	cr_expect(s.p->locations.count == locations + 1);
	cr_expect(sketch_is(s.p, "copies", "m;a>b;c 1\nn;a>b;c 2\nb>c 4\n"));
	sketch_fini(&s);
}

Test(recursion, it_comes_after_the_filters_of_frames)
{
	cr_expect(prints("a;x;a;b 1\n", "folded", "hide=x&recursion=direct",
			 "a;b 1\n"));
	cr_expect(prints("a;x;a;b 1\n", "folded", "recursion=direct",
			 "a;x;a;b 1\n"));
	cr_expect(prints("a;x;a;b 1\n", "folded", "recursion=all", "a;b 1\n"));
}

/* A budget that ends after a number of requests. */
static int end_soon(void *ctx, size_t bytes, struct err *err)
{
	int *left = ctx;

	(void)bytes;
	return (*left)-- > 0 ? 0 : err_set(err, ERR_LIMIT, "no memory");
}

Test(recursion, a_deep_stack_is_charged_while_it_is_read)
{
	struct buf text = { 0 };
	int left = 1;
	struct limits limits = { end_soon, &left };
	struct sketch s;

	for (int i = 0; i < 9000; i++)
		buf_printf(&text, "%sf%d", i ? ";" : "", i % 7);
	buf_str(&text, " 1\n");
	s = sketch_init("samples/count", buf_cstr(&text));
	cr_expect(filter_recursion(s.p, RECURSION_ALL, &limits, NULL) ==
		  ERR_LIMIT);
	cr_expect(left == -1);
	left = 100;
	cr_expect(!filter_recursion(s.p, RECURSION_ALL, &limits, NULL));
	cr_expect(s.p->stacks.v[s.p->samples.v[0].stack].count < 7);
	sketch_fini(&s);
	buf_fini(&text);
}
