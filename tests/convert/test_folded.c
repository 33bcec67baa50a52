/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks become a profile of pprof. */
#include "convert/folded/folded_convert.h"

#include "pprof/proto/decode.h"
#include "tests/check.h"

#define MEMORY ((size_t)4 << 20)

/* The samples that came, as folded stacks again. */
struct caught {
	struct buf text;
	size_t profiles;
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

/* Write a stack, the outermost function first. */
static void write_stack(struct buf *out, const struct pprof *p,
			const struct pprof_run *stack)
{
	for (uint32_t i = stack->count; i--;) {
		const struct pprof_location *l =
			&p->locations.v[p->frames.v[stack->first + i]];
		uint32_t f = p->lines.v[l->lines.first].function;

		buf_printf(out, "%.*s%s",
			   STR_ARG(pprof_str(p, p->functions.v[f].name)),
			   i ? ";" : "");
	}
}

static int store(void *ctx, const struct labels_builder *labels UNUSED,
		 struct bytes profile, bool *refused, struct err *err)
{
	struct caught *c = ctx;
	struct decoder *d = decoder_new(MEMORY);
	struct pprof *p;
	int rc = decoder_run(d, profile, &p, err);

	cr_expect(!rc, "%s", err->msg);
	c->profiles++;
	*refused = false;
	for (size_t i = 0; !rc && i < p->samples.count; i++) {
		write_stack(&c->text, p, pprof_stack(p, i));
		buf_printf(&c->text, " %lld\n",
			   (long long)pprof_values(p, i)[0]);
	}
	cr_expect(rc || (p->time_ns == 7 && p->duration_ns == 9 &&
			 p->period == 5 && p->types.count == 1));
	decoder_free(d);
	return 0;
}

static int convert(struct caught *c, struct str text, int64_t factor,
		   struct err *err)
{
	struct labels_builder none = { 0 };
	const struct folded_options o = {
		.caller = { .ctx = c,
			    .max_profile = MEMORY,
			    .max_memory = MEMORY,
			    .take = take,
			    .check = check,
			    .store = store },
		.head = { .types[0] = { str_of("cpu"), str_of("nanoseconds") },
			  .period_type = { str_of("cpu"),
					   str_of("nanoseconds") },
			  .period = 5,
			  .time_ns = 7,
			  .duration_ns = 9 },
		.factor = factor,
		.labels = &none,
	};

	err->msg[0] = 0;
	return folded_convert(text, &o, err);
}

Test(folded, equal_stacks_are_added_and_multiplied)
{
	struct caught c = { .has_time = true };
	struct err err;
	int rc = convert(&c,
			 str_of("main;a b;c 3\r\nmain;d 5\n\n  main;a b;c 2  \n"
				"main 0\n;;main;;e; 1\n; 4\n"),
			 10, &err);

	cr_expect(!rc, "%s", err.msg);
	cr_expect(c.profiles == 1);
	cr_expect(check_str(
		str_from(buf_bytes(&c.text)),
		"main;a b;c 50\nmain;d 50\nmain;e 10\n[unknown] 40\n"));
	buf_fini(&c.text);
}

Test(folded, bytes_that_are_no_utf8_are_replaced)
{
	struct caught c = { .has_time = true };
	struct err err;

	cr_expect(!convert(&c, str_of("ma\xffin;\xc3\xa4 1\n"), 1, &err));
	cr_expect(
		check_str(str_from(buf_bytes(&c.text)), "ma?in;\xc3\xa4 1\n"));
	buf_fini(&c.text);
}

Test(folded, a_line_that_is_no_stack_is_named)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{ "main 1\nmain;work\n", "line 2 is no folded stack" },
		{ "main 1.5\n", "line 1 is no folded stack" },
		{ "main -1\n", "line 1 is no folded stack" },
		{ "main", "line 1 is no folded stack" },
		{ "main 9223372036854775807\n",
		  "the number of line 1 is too large" },
		{ "a 900000000000000000\na 900000000000000000\n",
		  "with line 2, the numbers of a stack add up" },
		{ "", "no line with a stack" },
		{ "\n\n", "no line with a stack" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct caught c = { .has_time = true };
		struct err err;
		int rc = convert(&c, str_of(cases[i].text), 10, &err);

		cr_expect(rc == ERR_INVALID, "%s", cases[i].text);
		cr_expect(strstr(err.msg, cases[i].message), "%s", err.msg);
		cr_expect(!c.profiles);
	}
}

Test(folded, stacks_time_and_memory_are_limited)
{
	struct caught c = { .has_time = true };
	struct buf text = { 0 };
	struct err err;

	for (int i = 0; i <= FOLDED_FRAMES_MAX; i++)
		buf_str(&text, "f;");
	buf_str(&text, " 1\n");
	cr_expect(convert(&c, str_from(buf_bytes(&text)), 1, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "more than 4096 functions"), "%s", err.msg);
	buf_reset(&text);
	for (int i = 0; i < 100000; i++)
		buf_printf(&text, "function%d %d\n", i, i);
	cr_expect(convert(&c, str_from(buf_bytes(&text)), 1, &err) ==
		  ERR_TOOBIG);
	c.has_time = false;
	cr_expect(convert(&c, str_from(buf_bytes(&text)), 1, &err) ==
		  ERR_TIMEOUT);
	cr_expect(!c.profiles);
	buf_fini(&text);
}
