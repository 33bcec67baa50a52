/* SPDX-License-Identifier: Apache-2.0 */
/* The text of perf script becomes profiles of pprof. */
#include "convert/perf/perf_convert.h"

#include "pprof/proto/decode.h"
#include "tests/check.h"

#define MEMORY ((size_t)4 << 20)

/* The profiles that came, as text. */
struct caught {
	struct buf text;
	bool has_time;
};

static int take(void *ctx UNUSED, size_t bytes UNUSED, struct err *err UNUSED)
{
	return 0;
}

static int check(void *ctx, struct err *err)
{
	struct caught *c = ctx;

	return c->has_time ? 0 : err_set(err, ERR_TIMEOUT, "no time is left");
}

/* Write the labels of a sample, its stack, and its values. */
static void write_sample(struct buf *out, const struct pprof *p, size_t i)
{
	const struct pprof_run *stack = pprof_stack(p, i);
	struct pprof_run labels = p->label_sets.v[p->samples.v[i].labels];

	for (uint32_t k = 0; k < labels.count; k++)
		buf_printf(out, "%.*s ",
			   STR_ARG(pprof_str(
				   p, p->labels.v[labels.first + k].str)));
	for (uint32_t k = stack->count; k--;) {
		const struct pprof_location *l =
			&p->locations.v[p->frames.v[stack->first + k]];
		uint32_t f = p->lines.v[l->lines.first].function;

		buf_printf(out, "%.*s%s",
			   STR_ARG(pprof_str(p, p->functions.v[f].name)),
			   k ? ";" : "");
	}
	for (size_t k = 0; k < p->types.count; k++)
		buf_printf(out, " %lld", (long long)pprof_values(p, i)[k]);
	buf_str(out, "\n");
}

static int store(void *ctx, const struct labels_builder *labels,
		 struct bytes profile, bool *refused, struct err *err)
{
	struct caught *c = ctx;
	struct decoder *d = decoder_new(MEMORY);
	struct pprof *p;
	int rc = decoder_run(d, profile, &p, err);

	cr_assert(!rc, "%s", err->msg);
	*refused = false;
	buf_printf(&c->text, "%.*s (",
		   STR_ARG(labels_builder_get(labels, str_of(LABEL_NAME))));
	for (size_t i = 0; i < p->types.count; i++)
		buf_printf(&c->text, "%s%.*s/%.*s", i ? " " : "",
			   STR_ARG(pprof_str(p, p->types.v[i].type)),
			   STR_ARG(pprof_str(p, p->types.v[i].unit)));
	buf_printf(&c->text, ") %lld ns\n", (long long)p->duration_ns);
	for (size_t i = 0; i < p->samples.count; i++)
		write_sample(&c->text, p, i);
	decoder_free(d);
	return 0;
}

static int convert(struct caught *c, const char *text, struct err *err)
{
	const struct convert_caller caller = { .ctx = c,
					       .max_profile = MEMORY,
					       .max_memory = MEMORY,
					       .take = take,
					       .check = check,
					       .store = store };

	err->msg[0] = 0;
	return perf_convert(str_of(text), &caller, err);
}

/* Expects what a text becomes. */
static void expect(const char *text, const char *want)
{
	struct caught c = { .has_time = true };
	struct err err;
	int rc = convert(&c, text, &err);

	cr_expect(!rc, "%s", err.msg);
	cr_expect(perf_convert_is(str_of(text)));
	cr_expect(check_str(str_from(buf_bytes(&c.text)), want));
	buf_fini(&c.text);
}

/* Expects that a text is refused, by a message with this part. */
static void refuse(const char *text, const char *part)
{
	struct caught c = { .has_time = true };
	struct err err;

	cr_expect(convert(&c, text, &err) == ERR_INVALID, "%s", text);
	cr_expect(strstr(err.msg, part) != NULL, "%s", err.msg);
	cr_expect(!c.text.len, "nothing is stored of it");
	buf_fini(&c.text);
}

Test(perf, equal_stacks_of_a_thread_are_added)
{
	expect("# a comment of perf script\n"
	       "\n"
	       "bash  1099 25122.000001:    1003009 cpu-clock:ppp: \n"
	       "\tffffffff81386d58 alloc_pid+0x338 ([kernel.kallsyms])\n"
	       "\t           d4353 _Fork+0x23 (/usr/lib/libc.so.6)\n"
	       "\n"
	       "bash  1099 25122.000003:    1000000 cpu-clock:ppp: \n"
	       "\tffffffff81386d58 alloc_pid+0x99 ([kernel.kallsyms])\n"
	       "\t           d4353 _Fork+0x1 (/usr/lib/libc.so.6)\n"
	       "\n"
	       "Web Content 7/8 [003] 25122.000002:  5 cpu-clock:ppp: \n"
	       "\t  1 foo(int, char (*)(int))+0x2 (/tmp/a (b)/x)\n"
	       "\t  2 bar (inlined)\n"
	       "\n",
	       "cpu-clock:ppp (samples/count cpu/nanoseconds) 2000 ns\n"
	       "bash 1099 _Fork;alloc_pid 2 2003009\n"
	       "Web Content 7 bar;foo(int, char (*)(int)) 1 5\n");
}

Test(perf, each_event_is_a_profile)
{
	expect("sh 1106 1.000000000:  4 faults:  ffff elf_load+0x28a ([k])\n"
	       "sh 1106 1.000000005:  9 cycles:u:  1 [unknown] (/usr/bin/sh)\n"
	       "sh 1106 2.500000000:  1 faults:  0 [unknown] ([unknown])\n",
	       "faults (samples/count faults/count) 1500000000 ns\n"
	       "sh 1106 elf_load 1 4\n"
	       "sh 1106 [unknown] 1 1\n"
	       "cycles:u (samples/count cycles:u/count) 0 ns\n"
	       "sh 1106 [sh] 1 9\n");
}

Test(perf, periods_and_frames_may_be_missing)
{
	expect("a 1/2 1.000000: sched:sched_switch: prev_comm=a next_pid=3\n"
	       "b 1 1.000000: sched:sched_switch:\n"
	       "\t7 main\n",
	       "sched:sched_switch (samples/count) 0 ns\n"
	       "a 1 [unknown] 1\n"
	       "b 1 main 1\n");
}

/* What "perf probe" and fields of tracepoints print is no frame. */
Test(perf, fields_of_an_event_may_end_with_a_bracket)
{
	expect("a 1 1.000000: probe:send: (ffffffff8161c8e0)\n"
	       "\tffffffff8161c8e0 send+0x0 ([k])\n"
	       "a 1 1.000000: probe:send: flags: 0x00080000 (O_RDONLY)\n",
	       "probe:send (samples/count) 0 ns\n"
	       "a 1 send 1\n"
	       "a 1 [unknown] 1\n");
}

Test(perf, other_records_and_fields_are_skipped)
{
	expect("sh 7 [001] 0.000000: PERF_RECORD_COMM: sh:7/7\n"
	       ":-1 -1 [001] 1.000000: 3 cycles:\n"
	       "\t1 f (x)\n"
	       "  main.c:12\n"
	       "\t2 g (x)\n"
	       "sh 7 0.000000: PERF_RECORD_EXIT(7:7):(7:7)\n"
	       "# 7 [001] 1.000000: 2 cycles: 3 h (x)\n"
	       "my sh 7 [001] U 1.000000: 4 cycles:\n"
	       "\tfoo(int)+0x3 (x)\n",
	       "cycles (samples/count cycles/count) 0 ns\n"
	       ":-1 -1 g;f 1 3\n"
	       "# 7 h 1 2\n"
	       "my sh 7 foo(int) 1 4\n");
}

Test(perf, names_of_scripts_and_places_of_source_are_told_apart)
{
	/* As of node --perf-basic-prof, whose names have the place in them. */
	expect("node 7 1.000000: 5 cycles:\n"
	       "\t7f01 JS:*fib /app/fib.js:1\n"
	       "\t7f02 JS:~main /app/fib.js:10:3\n"
	       "  fib.c:5 (discriminator 3)\n"
	       "\t7f03 _start\n"
	       "  shop[52a4]\n",
	       "cycles (samples/count cycles/count) 0 ns\n"
	       "node 7 _start;JS:~main /app/fib.js:10:3;JS:*fib /app/fib.js:1 1 5\n");
	/* Without addresses. */
	expect("node 7 1.000000: 5 cycles:\n"
	       "\tadd (/bin/shop)\n"
	       "  add.c:12\n"
	       "\tJS:~main /app/fib.js:10:3\n",
	       "cycles (samples/count cycles/count) 0 ns\n"
	       "node 7 JS:~main /app/fib.js:10:3;add 1 5\n");
}

Test(perf, a_line_that_is_neither_sample_nor_frame_is_named)
{
	refuse("main;work 12\n", "line 1 is no sample of perf script");
	refuse("a 1 1.000000: 5 cycles:\nmain\n", "line 2 is no sample");
	refuse("a 1 1.000000: 5 cycles:\n\nmain\n", "line 3 is no sample");
	refuse("# nothing\n", "the text has no sample");
	cr_expect(!perf_convert_is(str_of("main;work 12\n")));
	cr_expect(!perf_convert_is(str_of("")));
	cr_expect(!perf_convert_is(str_of("a 1 1.5: cycles:\n")),
		  "a time has 6 or 9 digits");
}

Test(perf, sums_that_overflow_are_refused)
{
	refuse("a 1 1.000000: 9223372036854775807 c: 1 m (x)\n"
	       "a 1 1.000000: 1 c: 1 m (x)\n",
	       "more than 64 bits");
}

Test(perf, events_are_bounded)
{
	struct buf text = { 0 };

	for (int i = 0; i <= PERF_EVENTS_MAX; i++)
		buf_printf(&text, "a 1 1.000000: 1 event%d:\n", i);
	refuse(buf_cstr(&text), "line 33 names the 33th different event");
	buf_fini(&text);
}

Test(perf, a_conversion_ends_when_its_time_is_over)
{
	struct caught c = { .has_time = false };
	struct buf text = { 0 };
	struct err err;

	for (int i = 0; i < 100000; i++)
		buf_str(&text, "a 1 1.000000: 1 c: 1 m (x)\n");
	cr_expect(convert(&c, buf_cstr(&text), &err) == ERR_TIMEOUT);
	buf_fini(&text);
}
