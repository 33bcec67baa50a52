/* SPDX-License-Identifier: Apache-2.0 */
/* The tools stacks and source, whose answers are lines of a report. */
#include "mcp/tools/tools.h"

#include <stdlib.h>

#include "base/vec.h"
#include "mcp/tools/tool_pattern.h"
#include "mcp/tools/tool_report.h"

/* A stack, as its functions separated by semicolons, and its value. */
struct folded_stack {
	struct str functions;
	int64_t value;
};

/* The stacks of a report. */
struct folded_stacks {
	VEC(struct folded_stack) v;
};

/* Order by value, the largest first. */
static int tool_stacks_by_value(const void *a, const void *b)
{
	int64_t x = ((const struct folded_stack *)a)->value;
	int64_t y = ((const struct folded_stack *)b)->value;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Split the lines of the report "folded". */
static void tool_stacks_split(struct str text, struct folded_stacks *out)
{
	while (text.len) {
		struct str line = str_cut(text, '\n', &text);
		const char *blank =
			line.len ? memrchr(line.ptr, ' ', line.len) : NULL;
		size_t before = blank ? (size_t)(blank - line.ptr) : 0;
		struct folded_stack s = { .functions = { line.ptr, before } };

		if (blank &&
		    str_to_i64((struct str){ blank + 1, line.len - before - 1 },
			       &s.value))
			*vec_add(&out->v) = s;
	}
	if (out->v.count)
		qsort(out->v.v, out->v.count, sizeof(*out->v.v),
		      tool_stacks_by_value);
}

/* Write the stacks as rows. */
static void tool_stacks_write(struct tool_report *t,
			      const struct folded_stacks *stacks)
{
	struct tool_call *c = t->call;
	size_t depth = (size_t)tool_call_number(c, "max_depth");
	struct tool_rows rows;
	int64_t shown = 0;

	tool_rows_init(&rows,
		       arena_printf(c->arena, "%s,%%,stack",
				    tool_report_column(t, "value")),
		       tool_call_number(c, "offset"),
		       tool_call_number(c, "limit"), tool_call_room(c));
	for (size_t i = 0; i < stacks->v.count; i++) {
		const struct folded_stack *s = &stacks->v.v[i];

		if (!tool_rows_begin(&rows))
			continue;
		tool_rows_scaled(&rows, tool_report_scale(t, s->value));
		tool_rows_percent(&rows, s->value, t->report.total);
		tool_rows_names(&rows, s->functions, ';', depth);
		if (tool_rows_end(&rows))
			shown = wrap_add(shown, s->value);
	}
	tool_report_end(t, &rows, "stacks", shown);
	tool_rows_fini(&rows);
}

int tool_stacks(struct tool_call *c, struct err *err)
{
	struct folded_stacks stacks = { 0 };
	struct tool_report *t;
	struct buf text = { 0 };
	int rc = tool_report_open(c, "folded", false, &t, err);

	if (rc)
		return rc;
	rc = tool_report_write(t, &text, err);
	/* The list of its lines has twice the memory while it grows. */
	if (!rc)
		rc = query_take(
			c->work,
			(int64_t)(str_count(str_from(buf_bytes(&text)), '\n') +
				  1) *
				2 * (int64_t)sizeof(*stacks.v.v),
			err);
	if (!rc) {
		tool_stacks_split(str_from(buf_bytes(&text)), &stacks);
		tool_stacks_write(t, &stacks);
	}
	vec_fini(&stacks.v);
	buf_fini(&text);
	tool_report_close(t);
	return rc;
}

/* Write the lines of a text as rows. */
static void tool_stacks_lines(struct tool_report *t, struct str text)
{
	struct tool_call *c = t->call;
	struct tool_rows rows = { .offset = tool_call_number(c, "offset"),
				  .limit = INT64_MAX,
				  .max_bytes = tool_call_room(c) };

	while (text.len) {
		struct str line = str_cut(text, '\n', &text);

		if (!tool_rows_begin(&rows))
			continue;
		tool_rows_line_text(&rows, line);
		(void)tool_rows_end(&rows);
	}
	tool_report_end(t, &rows, "lines", -1);
	tool_rows_fini(&rows);
}

int tool_source(struct tool_call *c, struct err *err)
{
	struct tool_report *t;
	struct buf text = { 0 };
	int rc = tool_pattern_set(c, err);

	/* The lines are cut here, and counted. */
	tool_call_set(c, "nodecount", str_of("0"));
	if (!rc)
		rc = tool_report_open(c, "source", false, &t, err);
	if (rc)
		return rc;
	if (tool_pattern_is_name(c, t->report.p))
		t->options.symbol = tool_pattern_name(c);
	rc = tool_report_write(t, &text, err);
	if (rc == ERR_NOTFOUND)
		rc = tool_pattern_unmatched(c, err);
	if (!rc)
		tool_stacks_lines(t, str_from(buf_bytes(&text)));
	buf_fini(&text);
	tool_report_close(t);
	return rc;
}
