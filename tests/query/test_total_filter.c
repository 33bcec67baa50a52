/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters total_min, total_max and total_outside. */
#include "query/select/total_filter.h"

#include "base/budget.h"
#include "base/mem.h"
#include "model/types.h"
#include "tests/check.h"

TestSuite(total_filter, .timeout = 30);

/* Parse a filter from the text of a form. */
static int parse(struct total_filter *f, struct arena *a, const char *form,
		 const char *suffix, struct err *err)
{
	struct params p = { 0 };

	cr_assert(params_add_form(&p, a, str_of(form)));
	return total_filter_parse(f, &p, suffix, err);
}

Test(total_filter, parameters_are_checked)
{
	static const struct {
		const char *form;
		const char *suffix;
		const char *message; /* NULL: the parameters are right */
		bool set;
	} cases[] = {
		{ "query=x", "", NULL, false },
		{ "total_min=5", "", NULL, true },
		{ "total_min=-5&total_max=7&total_outside=1", "", NULL, true },
		{ "total_min=", "", NULL, false },
		{ "total_min_a=5", "_a", NULL, true },
		{ "total_min_a=5", "_b", NULL, false },
		{ "total_min=5.5", "", "\"total_min\" must be a whole number",
		  false },
		{ "total_max_b=1s", "_b", "\"total_max_b\" must be", false },
		{ "total_min=8&total_max=7", "",
		  "\"total_min\" is larger than \"total_max\"", false },
		{ "total_outside=1", "", "\"total_outside\" requires", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena a = { 0 };
		struct total_filter f;
		struct err err = { .msg = "" };
		int rc = parse(&f, &a, cases[i].form, cases[i].suffix, &err);

		cr_expect(rc == (cases[i].message ? ERR_INVALID : 0), "%s: %s",
			  cases[i].form, err.msg);
		if (cases[i].message)
			cr_expect(strstr(err.msg, cases[i].message), "%s",
				  err.msg);
		else
			cr_expect(f.set == cases[i].set, "%s", cases[i].form);
		arena_fini(&a);
	}
}

/* Profiles with the totals 1, 2, 3 … of two types; every third has 0. */
struct profiles {
	struct totals_row rows[9];
	int64_t totals[18];
	struct buf encoded;
	struct bytes sets[1];
	struct totals_view view;
};

static void profiles_init(struct profiles *p, const char *first,
			  const char *second, int64_t duration_ns)
{
	struct typeset *t = mem_new(struct typeset);

	*p = (struct profiles){ 0 };
	t->types[0] = (struct value_type){ str_of(first), str_of("x") };
	t->types[1] = (struct value_type){ str_of(second), str_of("x") };
	t->default_type = str_of(second);
	t->count = 2;
	typeset_encode(t, &p->encoded);
	mem_free(t);
	p->sets[0] = buf_bytes(&p->encoded);
	for (uint32_t i = 0; i < ARRAY_SIZE(p->rows); i++) {
		p->rows[i] = (struct totals_row){ .ms = i,
						  .duration_ns = duration_ns,
						  .first = 2 * i };
		p->totals[2 * i] = 100;
		p->totals[2 * i + 1] = i % 3 ? i : 0;
	}
	p->view = (struct totals_view){ .rows = p->rows,
					.count = ARRAY_SIZE(p->rows),
					.totals = p->totals,
					.typesets = p->sets,
					.typeset_count = 1 };
}

Test(total_filter, rows_are_selected_by_their_total)
{
	static const struct {
		const char *form;
		const char *want; /* times of the profiles */
	} cases[] = {
		{ "query=x", "012345678" },
		{ "total_min=4", "4578" },
		{ "total_max=2", "01236" },
		{ "total_min=2&total_max=5", "245" },
		{ "total_min=2&total_max=5&total_outside=1", "013678" },
		{ "total_min=100&sample_index=samples", "012345678" },
		{ "total_min=101&sample_index=0", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct budget memory = { .max = 1 << 20 };
		struct query_work work = { .memory = &memory };
		struct arena a = { 0 };
		struct total_filter f;
		struct total_rows rows;
		struct profiles p;
		struct buf got = { 0 };

		profiles_init(&p, "samples", "cpu", 1);
		cr_assert(!parse(&f, &a, cases[i].form, "", NULL));
		cr_expect(
			!total_filter_reduce(&f, &work, &p.view, &rows, NULL));
		for (size_t k = 0; k < p.view.count; k++)
			buf_printf(&got, "%d", (int)p.view.rows[k].ms);
		cr_expect(check_str(str_of(buf_cstr(&got)), cases[i].want),
			  "%s", cases[i].form);
		total_rows_fini(&rows);
		cr_expect(!work.taken);
		buf_fini(&got);
		buf_fini(&p.encoded);
		arena_fini(&a);
	}
}

Test(total_filter, counters_unknown_types_and_little_memory_are_refused)
{
	static const struct {
		const char *form;
		const char *type;
		int64_t memory;
		int rc;
		const char *message;
	} cases[] = {
		{ "total_min=1", "alloc_space", 1 << 20, ERR_INVALID,
		  "its values count everything since the process started" },
		{ "total_min=1&sample_index=no", "cpu", 1 << 20, ERR_INVALID,
		  "no" },
		{ "total_min=1", "cpu", 10, ERR_LIMIT, "" },
		{ "total_min=1", "inuse_space", 1 << 20, 0, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct budget memory = { .max = cases[i].memory };
		struct query_work work = { .memory = &memory };
		struct arena a = { 0 };
		struct total_filter f;
		struct total_rows rows;
		struct profiles p;
		struct err err = { .msg = "" };

		profiles_init(&p, "samples", cases[i].type, 0);
		cr_assert(!parse(&f, &a, cases[i].form, "", NULL));
		cr_expect(total_filter_reduce(&f, &work, &p.view, &rows,
					      &err) == cases[i].rc,
			  "%zu: %s", i, err.msg);
		cr_expect(strstr(err.msg, cases[i].message), "%s", err.msg);
		total_rows_fini(&rows);
		cr_expect(!work.taken);
		buf_fini(&p.encoded);
		arena_fini(&a);
	}
}
