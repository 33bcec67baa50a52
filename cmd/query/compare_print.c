/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/query/compare_print.h"

#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "pprof/profile/measure.h"

enum {
	/* Rows of the table of a pull request, and those that open by a click. */
	MARKDOWN_ROWS = 10,
	MARKDOWN_MORE = 20,
	/* Rows of the table on a terminal that are no more than noise. */
	TEXT_NOISE_ROWS = 10,
	/* Longest name in Markdown, in bytes. */
	MARKDOWN_NAME = 300,
	TYPE_SHOWN = 100, /* longest sample type, in bytes */
};

/* How values of a comparison are written. */
struct compare_units {
	const char *by;
	struct str unit;
	bool per_second;
	bool cores; /* nanoseconds in a second */
};

static double answer_number(json_t *object, const char *key)
{
	json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *answer_string(json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static bool is_on(json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* The count of a side. */
static long long answer_count(json_t *data, const char *key, size_t side)
{
	return json_integer_value(
		json_array_get(json_object_get(data, key), side));
}

static struct compare_units units_of(json_t *data)
{
	struct compare_units u = { .by = answer_string(data, "by"),
				   .unit = str_of(
					   answer_string(data, "unit")) };

	/* An unknown unit can be any text, so it is not printed. */
	if (!measure_is_unit(u.unit))
		u.unit = str_of("count");

	/* The level of a counter is its increase in a second. */
	u.per_second = !strcmp(u.by, "rate") ||
		       (!strcmp(u.by, "level") &&
			!strcmp(answer_string(data, "kind"), "counter") &&
			answer_number(data, "bucket_seconds") > 0);
	u.cores = u.per_second && str_is(u.unit, "nanoseconds");
	return u;
}

/* Append a value in its unit. */
static void print_value(const struct compare_units *u, double v,
			struct buf *out)
{
	if (!strcmp(u->by, "share")) {
		buf_printf(out, "%.3g%%", 100 * v);
	} else if (u->cores) {
		buf_printf(out, "%.3g cores", v / 1e9);
	} else if (fabs(v) < 10 && !measure_compatible(u->unit, str_of("B")) &&
		   !measure_compatible(u->unit, str_of("ns"))) {
		buf_printf(out, "%.3g", v);
	} else {
		measure_label(out, measure_integer(round(v)), u->unit,
			      str_of("auto"));
	}
	if (u->per_second && !u->cores)
		buf_str(out, "/s");
}

/*
 * Append a part of a base value in percent, with its sign if `is_change`; nothing
 * has no percentage.
 */
static void print_percent(bool is_change, double v, double base,
			  struct buf *out)
{
	if (!(base > 0) || !isfinite(v))
		buf_str(out, "-");
	else if (is_change)
		buf_printf(out, "%+.1f%%", 100 * v / base);
	else
		buf_printf(out, "%.1f%%", 100 * v / base);
}

/* Append a cell of `width` columns, aligned to the right. */
static void print_cell(struct buf *out, size_t width, struct buf *cell)
{
	buf_printf(out, "%*s ", (int)width, buf_cstr(cell));
	buf_reset(cell);
}

/* One row of the table: the cumulative value, and the flat one behind it. */
static void print_function(const struct compare_units *u, json_t *row,
			   struct buf *out)
{
	json_t *cum = json_object_get(row, "cum");
	json_t *flat = json_object_get(row, "flat");
	double base = answer_number(cum, "a");
	struct buf cell = { 0 };

	print_value(u, base, &cell);
	print_cell(out, 11, &cell);
	print_value(u, answer_number(cum, "b"), &cell);
	print_cell(out, 11, &cell);
	print_percent(true, answer_number(cum, "delta"), base, &cell);
	print_cell(out, 9, &cell);
	print_percent(false, answer_number(cum, "interval"), base, &cell);
	print_cell(out, 8, &cell);
	print_percent(false, answer_number(cum, "visible"), base, &cell);
	print_cell(out, 9, &cell);
	print_value(u, answer_number(flat, "delta"), &cell);
	print_cell(out, 12, &cell);
	printable_add(out, str_of(answer_string(row, "name")));
	buf_byte(out, '\n');
	buf_fini(&cell);
}

static bool row_is_sure(json_t *row)
{
	return is_on(json_object_get(row, "cum"), "sure") ||
	       is_on(json_object_get(row, "flat"), "sure");
}

static bool row_is_tested(json_t *row)
{
	return is_on(json_object_get(row, "cum"), "tested");
}

/* How many rows are sure; they come first. */
static size_t count_sure(json_t *data)
{
	json_t *rows = json_object_get(data, "rows");
	size_t n = 0;

	while (n < json_array_size(rows) &&
	       row_is_sure(json_array_get(rows, n)))
		n++;
	return n;
}

/* Append what was compared, in one line. */
static void print_head(json_t *data, struct buf *out)
{
	bool runs = !(answer_number(data, "bucket_seconds") > 0);

	printable_add(out, str_clip(str_of(answer_string(data, "sample_type")),
				    TYPE_SHOWN));
	buf_printf(out, " by %s: ", answer_string(data, "by"));
	if (runs)
		buf_printf(out, "%lld files against %lld",
			   answer_count(data, "profiles", 1),
			   answer_count(data, "profiles", 0));
	else
		buf_printf(
			out,
			"%lld profiles of %lld series in %lld blocks of %.4g s against %lld profiles of %lld series in %lld blocks",
			answer_count(data, "profiles", 1),
			answer_count(data, "instances", 1),
			answer_count(data, "buckets", 1),
			answer_number(data, "bucket_seconds"),
			answer_count(data, "profiles", 0),
			answer_count(data, "instances", 0),
			answer_count(data, "buckets", 0));
	buf_str(out, " (the base)\n");
}

/* Append why the verdicts may be less than they seem; each is a line. */
static void print_doubts(json_t *data, struct buf *out)
{
	bool runs = !(answer_number(data, "bucket_seconds") > 0);

	if (is_on(data, "few_buckets"))
		buf_str(out,
			runs ? "Fewer than 5 files on a side: nothing is called a change.\n" :
			       "The ranges are too short: nothing is called a change.\n");
	if (is_on(data, "bursty"))
		buf_str(out,
			"The load changes so slowly that these time ranges do not average it out: take longer time ranges.\n");
	if (is_on(data, "drift"))
		buf_str(out,
			"These values are a state, such as memory in use, which drifts even if no program changes: nothing is called a change.\n");
	if (is_on(data, "few_instances"))
		buf_printf(
			out,
			"There are few instances, so the differences may be those of the machines, not of the programs.\n");
}

/* Append one sentence about what changed, if that can be known. */
static void print_verdict(json_t *data, size_t sure, struct buf *out)
{
	if (is_on(data, "few_buckets") || is_on(data, "drift"))
		buf_str(out, "It cannot be told what changed.\n");
	else if (sure)
		buf_printf(out, "%zu function%s changed by more than noise.\n",
			   sure, sure == 1 ? "" : "s");
	else
		buf_printf(
			out,
			"No function changed by more than noise (%lld values were tested).\n",
			json_integer_value(json_object_get(data, "tested")));
}

void compare_print_text(json_t *data, struct buf *out)
{
	struct compare_units u = units_of(data);
	json_t *rows = json_object_get(data, "rows");
	size_t sure = count_sure(data);
	size_t noise = 0;
	json_t *row;
	size_t i;

	print_head(data, out);
	print_verdict(data, sure, out);
	print_doubts(data, out);
	buf_printf(out, "%11s %11s %9s %8s %9s %12s %s\n", "base", "new",
		   "change", "+-", "visible", "own change", "function");
	json_array_foreach(rows, i, row)
	{
		if (i < sure) {
			print_function(&u, row, out);
			continue;
		}
		if (!row_is_tested(row) || noise >= TEXT_NOISE_ROWS)
			continue;
		if (!noise++)
			buf_str(out, "-- no more than noise:\n");
		print_function(&u, row, out);
	}
}

/*
 * Append a name as code, in which nothing is markup: a backquote would end it, and a
 * bar the cell of the table around it. Line breaks are escaped.
 */
static void markdown_name(struct str name, struct buf *out)
{
	struct str shown = str_clip(name, MARKDOWN_NAME);
	struct buf text = { 0 };

	printable_add(&text, shown);
	buf_byte(out, '`');
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.ptr[i];

		if (c == '|')
			buf_str(out, "¦");
		else
			buf_byte(out, c == '`' ? '\'' : c);
	}
	buf_byte(out, '`');
	if (shown.len < name.len)
		buf_str(out, "…");
	buf_fini(&text);
}

static void markdown_row(const struct compare_units *u, json_t *row,
			 struct buf *out)
{
	json_t *cum = json_object_get(row, "cum");
	double base = answer_number(cum, "a");

	buf_str(out, "| ");
	markdown_name(str_of(answer_string(row, "name")), out);
	buf_str(out, " | ");
	print_value(u, base, out);
	buf_str(out, " | ");
	print_value(u, answer_number(cum, "b"), out);
	buf_str(out, " | ");
	print_percent(true, answer_number(cum, "delta"), base, out);
	buf_str(out, " ± ");
	print_percent(false, answer_number(cum, "interval"), base, out);
	buf_printf(out, " | %.2g |\n", answer_number(cum, "p_all"));
}

static const char markdown_table[] =
	"\n| function | before | after | change | p |\n|---|--:|--:|--:|--:|\n";

/* Append the rows [first, end), as far as there are any that were tested. */
static void markdown_rows(const struct compare_units *u, json_t *rows,
			  size_t first, size_t end, struct buf *out)
{
	bool any = false;

	for (size_t i = first; i < end && i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);

		if (!row_is_tested(row))
			continue;
		if (!any)
			buf_str(out, markdown_table);
		any = true;
		markdown_row(u, row, out);
	}
}

/*
 * The longest answer has the rows of both tables with names of MARKDOWN_NAME
 * bytes, each of which may be escaped to several: about 60 000 bytes.
 */
void compare_print_markdown(json_t *data, struct str verdicts, struct buf *out)
{
	struct compare_units u = units_of(data);
	json_t *rows = json_object_get(data, "rows");
	size_t sure = count_sure(data);
	size_t shown = sure < MARKDOWN_ROWS ? sure : MARKDOWN_ROWS;
	struct buf head = { 0 };

	buf_str(out, "**");
	print_verdict(data, sure, out);
	out->len--;
	buf_str(out, "**\n\n");
	print_doubts(data, out);
	while (verdicts.len) {
		struct str line = str_cut(verdicts, '\n', &verdicts);

		buf_str(out, "\n- ");
		markdown_name(line, out);
	}
	buf_byte(out, '\n');
	markdown_rows(&u, rows, 0, shown, out);
	buf_str(out,
		"\n<details><summary>The next functions, and how this was compared</summary>\n");
	markdown_rows(&u, rows, shown, shown + MARKDOWN_MORE, out);
	buf_byte(out, '\n');
	print_head(data, &head);
	markdown_name(str_trim(str_from(buf_bytes(&head))), out);
	buf_str(out, "\n\n");
	buf_fini(&head);
	buf_printf(
		out,
		"± is the interval of 95 %%; p is corrected for all %lld values that were tested (Holm), and at most %.2g for a change.\n\n</details>\n",
		json_integer_value(json_object_get(data, "tested")),
		answer_number(data, "alpha"));
}
