/* SPDX-License-Identifier: Apache-2.0 */
/* The tools stacks and source, whose answers are lines of a report. */
#include "mcp/tools/tools.h"

#include <stdlib.h>

#include "base/vec.h"
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

/*
 * Return a stack of at most `max` functions: of a deeper one, the middle is replaced by
 * the number of its functions.
 */
static struct str tool_stacks_cut(struct arena *arena, struct str functions,
				  size_t max)
{
	size_t depth = str_count(functions, ';') + 1;
	size_t left = max / 2;
	struct str rest = functions;
	struct buf out = { 0 };
	struct str text;

	if (depth <= max)
		return functions;
	for (size_t i = 0; i < depth; i++) {
		struct str name = str_cut(rest, ';', &rest);

		if (i == left)
			buf_printf(&out, "...%zu more...;", depth - max);
		if (i >= left && i < left + depth - max)
			continue;
		buf_add(&out, name.ptr, name.len);
		if (i + 1 < depth)
			buf_byte(&out, ';');
	}
	text = arena_str(arena, str_from(buf_bytes(&out)));
	buf_fini(&out);
	return text;
}

/* Add the cell of a stack, of which each name was cut, so that it may be long. */
static void tool_stacks_cell(struct tool_rows *rows, struct str functions)
{
	struct buf *row = &rows->row;

	buf_str(row, ",\"");
	while (functions.len) {
		struct str name = str_cut(functions, ';', &functions);
		struct buf clean = { 0 };

		tool_rows_name(&clean, name, ROWS_NAME_MAX);
		for (size_t i = 0; i < clean.len; i++) {
			if (clean.ptr[i] == '"')
				buf_byte(row, '"');
			buf_byte(row, clean.ptr[i]);
		}
		buf_fini(&clean);
		if (functions.len)
			buf_byte(row, ';');
	}
	buf_byte(row, '"');
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
		tool_stacks_cell(
			&rows, tool_stacks_cut(c->arena, s->functions, depth));
		if (tool_rows_end(&rows))
			shown += s->value;
	}
	tool_report_head(t, &rows, shown);
	buf_add(c->text, rows.text.ptr, rows.text.len);
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
	rc = t->request.type->write(&t->report, &text, err);
	/* The text, and the list of its lines. */
	if (!rc)
		rc = query_take(c->work, (int64_t)text.cap * 2, err);
	if (!rc) {
		tool_stacks_split(str_from(buf_bytes(&text)), &stacks);
		tool_stacks_write(t, &stacks);
	}
	vec_fini(&stacks.v);
	buf_fini(&text);
	tool_report_close(t);
	return rc;
}

/* Append the lines that fit, and say how many do not. */
static void tool_stacks_lines(struct tool_report *t, struct str text)
{
	struct tool_call *c = t->call;
	struct tool_rows rows = { .max_bytes = tool_call_room(c),
				  .limit = INT64_MAX };

	while (text.len) {
		struct str line = str_cut(text, '\n', &text);

		if (!tool_rows_begin(&rows))
			continue;
		tool_rows_name(&rows.row, line, ROWS_NAME_MAX);
		(void)tool_rows_end(&rows);
	}
	tool_report_head(t, &rows, -1);
	buf_add(c->text, rows.text.ptr, rows.text.len);
	tool_rows_fini(&rows);
}

int tool_source(struct tool_call *c, struct err *err)
{
	struct tool_report *t;
	struct buf text = { 0 };
	int rc = tool_report_open(c, "source", false, &t, err);

	if (rc)
		return rc;
	rc = t->request.type->write(&t->report, &text, err);
	if (!rc)
		rc = query_take(c->work, (int64_t)text.cap, err);
	if (!rc)
		tool_stacks_lines(t, str_from(buf_bytes(&text)));
	buf_fini(&text);
	tool_report_close(t);
	return rc;
}
