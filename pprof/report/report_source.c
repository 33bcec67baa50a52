/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the weight of each source line, function by function, as pprof's -list
 * does. The text of a line is shown if its file is found below source_root.
 */
#include "pprof/report/report_forms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/printable.h"
#include "model/regex.h"
#include "pprof/profile/measure.h"
#include "pprof/report/report.h"
#include "pprof/report/report_graph.h"
#include "pprof/report/report_text.h"
#include "pprof/report/source_text.h"

/* Size in bytes up to which a source file is shown. */
#define SOURCE_MAX (4 * MIB)
#define AROUND     4  /* lines shown before and after a line with weight */
#define FUNCTIONS  20 /* default number of functions listed */

/* A function in a file, and its lines with weight. */
struct routine {
	struct str name;
	struct str file;
	uint32_t first; /* index of its first line in listing.lines */
	uint32_t count;
	int64_t flat;
	int64_t cum;
};

/* A source line with weight: a node at the granularity of lines. */
struct line {
	struct str name;
	struct str file;
	int64_t number;
	int64_t flat;
	int64_t cum;
};

/*
 * Order of lines: by function, file and number. The lines of a function are
 * adjacent, which take_routines() relies on.
 */
static int report_source_by_place(const void *a, const void *b)
{
	const struct line *x = a;
	const struct line *y = b;
	int order = str_cmp(x->name, y->name);

	if (!order)
		order = str_cmp(x->file, y->file);
	if (!order)
		order = (x->number > y->number) - (x->number < y->number);
	return order;
}

/*
 * Order of functions: by flat value, then by cumulative value, largest first;
 * names break ties.
 */
static int by_flat(const void *a, const void *b)
{
	const struct routine *x = a;
	const struct routine *y = b;
	int64_t v = graph_abs(x->flat);
	int64_t w = graph_abs(y->flat);
	int order;

	if (v != w)
		return v > w ? -1 : 1;
	v = graph_abs(x->cum);
	w = graph_abs(y->cum);
	if (v != w)
		return v > w ? -1 : 1;
	order = str_cmp(x->name, y->name);
	return order ? order : str_cmp(x->file, y->file);
}

/* State of the report. */
struct listing {
	const struct report *r;
	VEC(struct line) lines;
	VEC(struct routine) routines;
	size_t skipped; /* nodes that match, but whose line is no line number */
	struct growth_meter meter;
	struct source_root root;
};

/*
 * Collect the nodes whose function matches the expression `symbol` (NULL: all).
 */
static int take_lines(struct listing *l, const struct graph *g,
		      const struct regex *symbol, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < g->shown.count && !rc; i++) {
		const struct graph_node *n = &g->node[g->shown.v[i]];
		const struct node *node = &l->r->nodes.v.v[g->shown.v[i]];
		struct str name = pprof_str(l->r->p, node->key.name);

		rc = limits_meter(&l->r->o->limits, &l->meter, REGEX_WORK, 0,
				  err);
		if (!name.len || (symbol && !regex_matches(symbol, name)))
			continue;
		/*
		 * Skip numbers that cannot be lines of a source file: some
		 * writers pack line and column into this number.
		 */
		if (node->key.line < 0 || node->key.line > INT32_MAX) {
			l->skipped++;
			continue;
		}
		*vec_add(&l->lines) = (struct line){
			.name = name,
			.file = pprof_str(l->r->p, node->key.file),
			.number = node->key.line,
			.flat = n->flat,
			.cum = n->cum,
		};
	}
	if (l->lines.count)
		qsort(l->lines.v, l->lines.count, sizeof(*l->lines.v),
		      report_source_by_place);
	return rc;
}

/* Group the sorted lines by function, then sort the functions. */
static void take_routines(struct listing *l)
{
	for (uint32_t i = 0; i < l->lines.count; i++) {
		const struct line *line = &l->lines.v[i];
		struct routine *last =
			l->routines.count ?
				&l->routines.v[l->routines.count - 1] :
				NULL;

		if (!last || !str_eq(last->name, line->name) ||
		    !str_eq(last->file, line->file)) {
			last = vec_add(&l->routines);
			*last = (struct routine){ .name = line->name,
						  .file = line->file,
						  .first = i };
		}
		last->count++;
		last->flat = wrap_add(last->flat, line->flat);
		last->cum = wrap_add(last->cum, line->cum);
	}
	if (l->routines.count)
		qsort(l->routines.v, l->routines.count, sizeof(*l->routines.v),
		      by_flat);
}

/* The following functions write the lines of a function. */

/* Print a value in a column of 10 characters; "." stands for 0. */
static void print_column(const struct report *r, int64_t v, struct buf *out)
{
	if (v)
		report_value_column(r, v, 10, out);
	else
		buf_printf(out, "%10s", ".");
	buf_byte(out, ' ');
}

/*
 * Write one line: as text or as JSON. `l` is NULL for a line without weight;
 * `gap` says that lines before it are not shown.
 */
typedef void (*source_line_fn)(const struct report *r, const struct line *l,
			       int64_t number, struct str text, bool gap,
			       void *out);

/* source_line_fn: print a line. A gap is marked with "...". */
static void source_print_line(const struct report *r, const struct line *l,
			      int64_t number, struct str text, bool gap,
			      void *out)
{
	if (gap)
		buf_printf(out, "%10s %10s %6s\n", "", "", "...");
	print_column(r, l ? l->flat : 0, out);
	print_column(r, l ? l->cum : 0, out);
	buf_printf(out, "%6" PRId64 ":", number);
	printable_add_lines(out, text);
	buf_byte(out, '\n');
}

/*
 * source_line_fn: write a line as JSON. Gaps are not marked, because the line
 * numbers show them.
 */
static void source_write_line(const struct report *r, const struct line *l,
			      int64_t number, struct str text, bool gap,
			      void *out)
{
	(void)r;
	(void)gap;
	json_begin(out, '{');
	json_key(out, "line");
	json_int(out, number);
	json_key(out, "flat");
	json_int(out, l ? l->flat : 0);
	json_key(out, "cum");
	json_int(out, l ? l->cum : 0);
	json_key(out, "text");
	json_str(out, text);
	json_end(out, '}');
}

/*
 * Write the lines of x that have a weight and, if the source text was found,
 * AROUND lines before and after each of them.
 */
static void write_lines(const struct listing *l, const struct routine *x,
			struct bytes text, source_line_fn write, void *out)
{
	struct source_cursor cursor = { .rest = str_from(text) };
	const struct line *v = l->lines.v + x->first;
	int64_t shown = 0; /* number of the line written last */

	for (uint32_t i = 0; i < x->count; i++) {
		int64_t first = text.len ? v[i].number - AROUND : v[i].number;
		int64_t last = text.len ? v[i].number + AROUND : v[i].number;

		/* Stop before the next line that has a weight. */
		if (i + 1 < x->count && last >= v[i + 1].number)
			last = v[i + 1].number - 1;
		if (first <= shown)
			first = shown + 1;
		for (int64_t n = first < 1 ? 1 : first; n <= last; n++) {
			bool gap = shown && n > shown + 1;

			write(l->r, n == v[i].number ? &v[i] : NULL, n,
			      source_line(&cursor, n), gap, out);
			shown = n;
		}
	}
}

/* Print the heading and the lines of one function. */
static void print_routine(const struct listing *l, const struct routine *x,
			  struct bytes text, struct buf *out)
{
	struct buf percent = { 0 };

	measure_percentage(&percent, x->cum, l->r->total);
	buf_str(out, "ROUTINE ======================== ");
	printable_add(out, x->name);
	buf_str(out, " in ");
	printable_add(out, x->file);
	buf_byte(out, '\n');
	report_value_column(l->r, x->flat, 10, out);
	buf_byte(out, ' ');
	report_value_column(l->r, x->cum, 10, out);
	buf_printf(out, " (flat, cum) %s of Total\n", buf_cstr(&percent));
	write_lines(l, x, text, source_print_line, out);
	buf_fini(&percent);
}

/* Write one function as JSON. */
static void write_routine(const struct listing *l, const struct routine *x,
			  struct bytes text, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, x->name);
	json_key(j, "file");
	json_str(j, x->file);
	json_key(j, "flat");
	json_int(j, x->flat);
	json_key(j, "cum");
	json_int(j, x->cum);
	json_key(j, "found");
	json_bool(j, text.len);
	json_key(j, "lines");
	json_begin(j, '[');
	write_lines(l, x, text, source_write_line, j);
	json_end(j, ']');
	json_end(j, '}');
}

/* Where the report is written: exactly one of the two members is set. */
struct source_output {
	struct buf *text;
	struct json *json;
};

/* Write one function, with the text of its file if it is found. */
static int source_write_routine(struct listing *l, const struct routine *x,
				const struct source_output *out,
				struct err *err)
{
	struct buf text = buf_init(SOURCE_MAX);
	int rc = source_root_read(&l->root, x->file, &text, err);

	if (out->text)
		print_routine(l, x, buf_bytes(&text), out->text);
	else
		write_routine(l, x, buf_bytes(&text), out->json);
	if (!rc)
		rc = limits_meter(&l->r->o->limits, &l->meter, x->count, 0,
				  err);
	buf_fini(&text);
	return rc;
}

/* Return how many functions are shown: as many as the option nodecount says. */
static size_t routines_shown(const struct listing *l)
{
	int64_t max = l->r->o->node_count;

	if (max < 0)
		max = FUNCTIONS;
	return max && (size_t)max < l->routines.count ? (size_t)max :
							l->routines.count;
}

/* Print the total and the heaviest functions. */
static int report_source_print(struct listing *l,
			       const struct source_output *out, struct err *err)
{
	size_t count = routines_shown(l);
	int rc = 0;

	buf_str(out->text, "Total: ");
	report_value(l->r, l->r->total, out->text);
	buf_byte(out->text, '\n');
	for (size_t i = 0; i < count && !rc; i++)
		rc = source_write_routine(l, &l->routines.v[i], out, err);
	if (count < l->routines.count)
		buf_printf(
			out->text,
			"%zu more functions are not shown: raise nodecount to see them\n",
			l->routines.count - count);
	return rc;
}

/*
 * Write the heaviest functions as JSON, and the number of functions left out.
 */
static int report_source_write(struct listing *l,
			       const struct source_output *out, struct err *err)
{
	size_t count = routines_shown(l);
	int rc = 0;

	json_begin(out->json, '{');
	report_head_json(l->r, out->json);
	json_key(out->json, "functions");
	json_begin(out->json, '[');
	for (size_t i = 0; i < count && !rc; i++)
		rc = source_write_routine(l, &l->routines.v[i], out, err);
	json_end(out->json, ']');
	json_key(out->json, "more");
	json_int(out->json, (int64_t)(l->routines.count - count));
	json_end(out->json, '}');
	return rc;
}

/* Find the lines and functions, and write them. */
static int list_source(struct report *r, const struct source_output *out,
		       struct err *err)
{
	struct listing *l = mem_new(struct listing);
	struct regex *symbol = NULL;
	struct graph g = { 0 };
	int rc = 0;

	l->r = r;
	if (r->o->symbol.len)
		rc = regex_new_search(r->o->symbol, &symbol, err);
	if (rc) {
		mem_free(l);
		return err_wrap(err, rc, "symbol");
	}
	source_root_init(&l->root, r);
	rc = report_graph(r, &g, err);
	if (!rc)
		rc = take_lines(l, &g, symbol, err);
	take_routines(l);
	if (!rc)
		rc = regex_check_steps(symbol, "symbol", err);
	/* Like pprof, report an error if no function matches the symbol. */
	if (!rc && symbol && !l->routines.count)
		rc = err_set(
			err, ERR_NOTFOUND,
			l->skipped ?
				"the functions that match have no usable line numbers (the writer of the profile may have packed line and column into one number): %.*s" :
				"no matches found for regexp: %.*s",
			STR_ARG(r->o->symbol));
	else if (!rc)
		rc = out->text ? report_source_print(l, out, err) :
				 report_source_write(l, out, err);
	graph_fini(&g);
	regex_free(symbol);
	vec_fini(&l->lines);
	vec_fini(&l->routines);
	mem_free(l);
	return rc;
}

int report_source(struct report *r, struct buf *out, struct err *err)
{
	int rc = list_source(r, &(struct source_output){ .text = out }, err);

	return rc ? rc : report_size(out, err);
}

int report_source_json(struct report *r, struct json *j, struct err *err)
{
	return list_source(r, &(struct source_output){ .json = j }, err);
}
