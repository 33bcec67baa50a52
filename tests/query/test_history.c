/* SPDX-License-Identifier: Apache-2.0 */
/* Histories: functions over time, which are those of a merge of each step. */
#include "query/history/history.h"

#include "tests/query/store.h"

TestSuite(history, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* A history that is asked for, and its answer. */
struct asked {
	struct budget memory;
	struct query_work work;
	struct query_spec spec;
	struct history_options o;
	struct history h;
	int rc;
	struct err err;
};

/* Ask for the minutes from `from` to `to`, in steps of `step` minutes. */
static void ask(struct asked *x, struct store *s, const char *selector,
		int from, int to, int step)
{
	x->memory = (struct budget){ .name = "query.memory", .max = MEMORY };
	x->work.memory = &x->memory;
	if (!x->work.deadline_ns)
		x->work.deadline_ns = INT64_MAX;
	cr_assert(!selector_parse(str_of(selector), &x->spec.selector, NULL));
	x->spec.merged = true;
	x->spec.from = store_at(from);
	x->spec.to = store_at(to);
	x->o.spec = &x->spec;
	x->o.step_ms = step * 60000;
	x->o.merge.one_type = true;
	report_options_init(&x->o.report);
	x->rc = history_run(&x->h, s->db, &x->work, &x->o, &x->err);
}

static void asked_fini(struct asked *x)
{
	history_fini(&x->h);
	query_spec_fini(&x->spec);
	query_release(&x->work);
	cr_expect(!atomic_load(&x->memory.used), "memory is kept");
}

/* Whether the JSON has a text. */
static bool tells(const struct asked *x, const char *text)
{
	struct buf out = { 0 };
	struct json j = json_init(&out);
	bool found;

	cr_assert(!x->rc, "%s", x->err.msg);
	history_json(&x->h, &j);
	found = strstr(buf_cstr(&out), text);
	if (!found)
		fprintf(stderr, "no %s in\n%s\n", text, buf_cstr(&out));
	buf_fini(&out);
	return found;
}

/* Two jobs, with a profile of CPU time in most steps of 10 minutes. */
static struct store *filled(void)
{
	struct store *s = store_open();

	store_put(s, "cpu job=a", "cpu",
		  &(struct made)LASTING(store_at(0), "main>f=4 main>g=1"));
	store_put(s, "cpu job=a", "cpu",
		  &(struct made)LASTING(store_at(5), "main>f=2"));
	store_put(s, "cpu job=b", "cpu",
		  &(struct made)LASTING(store_at(5), "main>g=10"));
	store_put(s, "cpu job=a", "cpu",
		  &(struct made)LASTING(store_at(20), "main>f=7 main=1"));
	return s;
}

Test(history, each_step_is_a_merge)
{
	struct store *s = filled();
	struct asked x = { .o = { .top = 2 } };

	ask(&x, s, "cpu", 0, 30, 10);
	cr_expect(tells(&x, "\"total\":[17,null,8],\"profiles\":[3,0,1]"));
	/* f has 13 in all, g has 11. */
	cr_expect(tells(&x, "\"functions\":[{\"name\":\"f\",\"file\":"));
	cr_expect(tells(&x,
			"\"labels\":{},\"flat\":[6,null,7],"
			"\"cum\":[6,null,7],\"seconds\":[null,null,null]}"));
	cr_expect(tells(&x, "{\"name\":\"g\","));
	cr_expect(tells(&x, "\"flat\":[11,null,0],\"cum\":[11,null,0],"));
	asked_fini(&x);
	store_close(s);
}

Test(history, functions_are_chosen_by_name_or_by_weight)
{
	const struct str names[] = { str_of("g"), str_of("nobody"),
				     str_of("g") };
	struct store *s = filled();
	struct asked x = { .o = { .functions = names, .function_count = 3 } };

	ask(&x, s, "cpu", 0, 10, 10);
	cr_expect(x.h.lines.count == 2);
	cr_expect(tells(&x, "\"flat\":[11],\"cum\":[11],\"seconds\":[null]},"
			    "{\"name\":\"nobody\",\"file\":\"\",\"labels\":{},"
			    "\"flat\":[0],"));
	asked_fini(&x);
	x = (struct asked){ .o = { .top = 1, .by_cum = true } };
	ask(&x, s, "cpu", 0, 30, 30);
	cr_expect(tells(&x, "\"functions\":[{\"name\":\"main\","));
	cr_expect(tells(&x, "\"flat\":[1],\"cum\":[25],"));
	asked_fini(&x);
	store_close(s);
}

Test(history, groups_have_their_own_lines)
{
	const struct str names[] = { str_of("g") };
	struct store *s = filled();
	struct asked x = { .o = { .functions = names,
				  .function_count = 1,
				  .group_by = str_of("job") } };

	ask(&x, s, "cpu", 0, 30, 10);
	cr_expect(x.h.lines.count == 2);
	cr_expect(tells(&x, "\"labels\":{\"job\":\"a\"},\"flat\":[1,null,0]"));
	cr_expect(tells(&x, "\"labels\":{\"job\":\"b\"},\"flat\":[10,null,0]"));
	cr_expect(tells(&x, "\"total\":[17,null,8]"));
	asked_fini(&x);
	store_close(s);
}

/*
 * a has 7 in two profiles of 9 ns, and b 10 in one: both together have 1.5 in a
 * nanosecond, and 17 divided by it is 11 ns.
 */
Test(history, the_time_of_a_step_is_that_of_its_programs)
{
	struct store *s = filled();
	struct asked x = { .o = { .top = 1, .merge.looked = true } };

	ask(&x, s, "cpu", 0, 30, 10);
	cr_expect(tells(&x, "\"seconds\":[1.1e-08,null,9e-09]}"));
	asked_fini(&x);
	x = (struct asked){ .o = { .top = 1,
				   .merge.looked = true,
				   .group_by = str_of("job") } };
	ask(&x, s, "cpu", 0, 30, 10);
	cr_expect(tells(&x, "\"labels\":{\"job\":\"a\"},"
			    "\"flat\":[6,null,7],\"cum\":[6,null,7],"
			    "\"seconds\":[1.8e-08,null,9e-09]}"));
	asked_fini(&x);
	store_close(s);
}

Test(history, filters_apply_to_each_step)
{
	struct store *s = filled();
	struct asked x = { .o = { .top = 5 } };

	x.spec.totals = (struct total_filter){ .set = true,
					       .min = 6,
					       .max = INT64_MAX };
	ask(&x, s, "cpu", 0, 30, 10);
	/* Only the profiles of 10 and of 8 are left. */
	cr_expect(tells(&x, "\"total\":[10,null,8],\"profiles\":[1,0,1]"));
	asked_fini(&x);
	store_close(s);
}

Test(history, mistakes_are_refused)
{
	static const struct {
		int to;
		int step;
		size_t top;
		const char *selector;
		int rc;
		const char *message;
	} cases[] = {
		{ 30, 0, 1, "cpu", ERR_INVALID, "\"step\" must be above 0" },
		{ 401, 1, 1, "cpu", ERR_INVALID, "at most 400 steps" },
		{ 400, 1, 1, "cpu", ERR_INVALID, "at most 400 steps" },
		{ 30, 10, 51, "cpu", ERR_INVALID, "at most 50 functions" },
		{ 30, 10, 1, "none", ERR_NOTFOUND, "" },
	};
	struct store *s = filled();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asked x = { .o = { .top = cases[i].top },
				   .err = { .msg = "" } };

		ask(&x, s, cases[i].selector, 0, cases[i].to, cases[i].step);
		cr_expect(x.rc == cases[i].rc, "%zu: %d", i, x.rc);
		cr_expect(strstr(x.err.msg, cases[i].message), "%zu: %s", i,
			  x.err.msg);
		asked_fini(&x);
	}
	store_close(s);
}

Test(history, without_time_for_the_first_step_there_is_no_answer)
{
	const struct str names[] = { str_of("f") };
	struct store *s = filled();
	struct asked x = { .o = { .functions = names, .function_count = 1 },
			   .work = { .deadline_ns = 1 } };

	ask(&x, s, "cpu", 0, 30, 10);
	cr_expect(x.rc == ERR_TIMEOUT, "%d", x.rc);
	asked_fini(&x);
	store_close(s);
}

/* The test marks the third step as history_run() does when time runs out. */
Test(history, a_step_that_is_not_complete_is_left_out)
{
	const struct str names[] = { str_of("f") };
	struct store *s = filled();
	struct asked x = { .o = { .functions = names, .function_count = 1 } };
	struct arena arena = { 0 };
	const char *told[3];

	ask(&x, s, "cpu", 0, 30, 10);
	cr_assert(!x.rc);
	x.h.end = (struct err){ .code = ERR_TIMEOUT, .msg = "late" };
	x.h.profiles[2] = 0;
	cr_expect(tells(&x, "\"flat\":[6,null,null]"));
	cr_expect(history_warnings(&x.h, &arena, told, 3) == 1);
	cr_expect(strstr(told[0], "late: the later steps are left out"));
	arena_fini(&arena);
	asked_fini(&x);
	store_close(s);
}
