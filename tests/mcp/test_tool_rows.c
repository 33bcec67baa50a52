/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for assistants: which rows they have, and what becomes of hostile names. */
#include "mcp/tools/tool_rows.h"

#include "tests/check.h"

Test(tool_rows, names_stay_in_their_cells)
{
	static const struct {
		const char *name;
		const char *cell;
	} cases[] = {
		{ "main.work", "main.work" },
		{ "", "\"\"" },
		{ "std::map<int, int>", "\"std::map<int, int>\"" },
		{ "say \"no\"", "\"say \"\"no\"\"\"" },
		{ "a\nb\x1b[2J\x7f", "a\\nb\\x1b[2J\\x7f" },
		{ "\xff\xc3\xa4", "\"\\xff\xc3\xa4\"" },
		{ "# total 5", "\"# total 5\"" },
		{ "#total\xc2\xa0"
		  "5",
		  "\"#total\xc2\xa0"
		  "5\"" },
		{ "a\xe2\x80\xa8# b", "\"a\\u2028# b\"" },
		{ "a\xf3\xa0\x81\x81", "a\\ue0041" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tool_rows t;
		char want[64];

		tool_rows_init(&t, "name,n", 0, 10, 1000);
		cr_assert(tool_rows_begin(&t));
		tool_rows_text(&t, str_of(cases[i].name));
		tool_rows_number(&t, 7);
		cr_expect(tool_rows_end(&t));
		snprintf(want, sizeof(want), "name,n\n%s,7\n", cases[i].cell);
		cr_expect(check_str(str_from(buf_bytes(&t.text)), want));
		tool_rows_fini(&t);
	}
}

Test(tool_rows, long_names_are_cut)
{
	struct buf name = { 0 };
	struct tool_rows t;

	for (int i = 0; i < ROWS_NAME_MAX + 1; i++)
		buf_byte(&name, 'x');
	tool_rows_init(&t, "name", 0, 10, 1000);
	cr_assert(tool_rows_begin(&t));
	tool_rows_text(&t, str_from(buf_bytes(&name)));
	cr_expect(tool_rows_end(&t));
	cr_expect(t.text.len ==
		  strlen("name\n") + ROWS_NAME_MAX + strlen("...\n"));
	buf_fini(&name);
	tool_rows_fini(&t);
}

/* Add rows of 4 bytes, and return how many are shown. */
static int64_t add_rows(struct tool_rows *t, int count)
{
	for (int i = 0; i < count; i++) {
		if (!tool_rows_begin(t))
			continue;
		tool_rows_number(t, 100 + i);
		(void)tool_rows_end(t);
	}
	return t->shown;
}

Test(tool_rows, rows_are_cut_by_page_and_by_budget)
{
	struct tool_rows t;

	tool_rows_init(&t, "n", 2, 3, 1000);
	cr_expect(add_rows(&t, 10) == 3 && t.seen == 10);
	cr_expect(
		check_str(str_from(buf_bytes(&t.text)), "n\n102\n103\n104\n"));
	tool_rows_fini(&t);
	/* Two bytes of the head, and two rows. */
	tool_rows_init(&t, "n", 0, 100, 2 + 4 + 4 + 3);
	cr_expect(add_rows(&t, 10) == 2 && t.seen == 10);
	cr_expect(check_str(str_from(buf_bytes(&t.text)), "n\n100\n101\n"));
	tool_rows_fini(&t);
}

/* A page without rows would send its reader to itself. */
Test(tool_rows, the_first_row_is_there_even_if_it_is_cut)
{
	struct buf line = { 0 };
	struct tool_rows t;

	tool_rows_init(&t, "n", 1, 10, 30);
	cr_expect(!tool_rows_begin(&t));
	cr_assert(tool_rows_begin(&t));
	tool_rows_names(
		&t, str_of("a;b;c;x;\"d\";efghijklmnopqrstuvwxyz;0123456789"),
		';', 5);
	cr_expect(tool_rows_end(&t));
	cr_assert(tool_rows_begin(&t) == false);
	cr_expect(check_str(str_from(buf_bytes(&t.text)),
			    "n\n\"a;b;...2 more...;\"\"d\"\"...\"\n"));
	tool_rows_line(&t, "stacks", &line);
	cr_expect(check_str(str_from(buf_bytes(&line)),
			    "# stacks 2 to 2 of 3; more: offset=2"));
	buf_fini(&line);
	tool_rows_fini(&t);
}

Test(tool_rows, the_line_of_the_rows_says_how_to_go_on)
{
	static const struct {
		int64_t offset;
		int count;
		const char *want;
	} cases[] = {
		{ 0, 3, "# rows 1 to 3 of 3" },
		{ 0, 9, "# rows 1 to 5 of 9; more: offset=5" },
		{ 7, 9, "# rows 8 to 9 of 9" },
		{ 9, 9,
		  "# rows: none of 9: the offset is behind the last one" },
		{ 0, 0, "# rows: none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf line = { 0 };
		struct tool_rows t;

		tool_rows_init(&t, "n", cases[i].offset, 5, 1000);
		(void)add_rows(&t, cases[i].count);
		tool_rows_line(&t, "rows", &line);
		cr_expect(check_str(str_from(buf_bytes(&line)), cases[i].want));
		buf_fini(&line);
		tool_rows_fini(&t);
	}
}

Test(tool_rows, numbers_are_short)
{
	struct tool_rows t;

	tool_rows_init(&t, "n", 0, 10, 1000);
	cr_assert(tool_rows_begin(&t));
	tool_rows_scaled(&t, 12.3456);
	tool_rows_scaled(&t, 0);
	tool_rows_percent(&t, 1, 3);
	tool_rows_percent(&t, 1, 0);
	cr_expect(tool_rows_end(&t));
	cr_expect(
		check_str(str_from(buf_bytes(&t.text)), "n\n12.35,0,33.3,\n"));
	tool_rows_fini(&t);
}
