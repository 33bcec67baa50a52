/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what each source line weighs, function by function, as pprof's -list.
 * The text of a line is shown if its file is found below source_root.
 */
#include "pprof/report/report_source.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "model/regex.h"
#include "pprof/profile/measure.h"
#include "pprof/report.h"
#include "pprof/report_graph.h"
#include "pprof/report_text.h"

/* Size in bytes up to which a source file is shown. */
#define SOURCE_MAX (4 * MIB)
#define AROUND     4  /* lines shown before and after a line with weight */
#define FUNCTIONS  20 /* default number of functions listed */

/*
 * Largest number of folders in a path that is looked up below source_root. A
 * longer path is looked up only without its first folders.
 */
#define FOLDERS_MAX 64
#define LOOK_WORK   256 /* units of work charged for one file access */

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
	struct growth_meter meter;
	char root[PATH_MAX]; /* resolved source_root, no slash at its end */
	/* Whether source_root is set and exists. */
	bool has_root;
};

/*
 * Collect the nodes whose function matches the expression `symbol` (NULL: all).
 */
static void take_lines(struct listing *l, const struct graph *g,
		       const struct regex *symbol)
{
	for (size_t i = 0; i < g->shown.count; i++) {
		const struct graph_node *n = &g->node[g->shown.v[i]];
		const struct node *node = &l->r->nodes.v.v[g->shown.v[i]];
		struct str name = pprof_str(l->r->p, node->key.name);

		if (!name.len || (symbol && !regex_matches(symbol, name)))
			continue;
		/*
		 * Skip numbers that cannot be lines of a source file: some
		 * writers pack line and column into this number.
		 */
		if (node->key.line < 0 || node->key.line > INT32_MAX)
			continue;
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

/* Finding and printing the text of source lines. */

/*
 * Whether a path must not be looked up: it is empty or too long, contains a
 * NUL, or has an element "..".
 */
static bool is_odd(struct str path)
{
	struct str rest = path;

	while (rest.len) {
		struct str e = str_cut(rest, '/', &rest);

		if (str_is(e, ".."))
			return true;
	}
	return !path.len || path.len >= PATH_MAX ||
	       memchr(path.ptr, 0, path.len);
}

/*
 * Read the file `root`/`end` into `out`. Paths come from untrusted profiles, so
 * links are resolved first, and a file outside of `root` is never opened.
 */
static bool open_source(const char *root, struct str end, struct buf *out)
{
	char path[PATH_MAX];
	char real[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%.*s", root, STR_ARG(end));

	return n > 0 && (size_t)n < sizeof(path) && realpath(path, real) &&
	       str_starts(str_of(real), str_of(root)) &&
	       real[strlen(root)] == '/' && !file_slurp(real, out, NULL);
}

/* The number of slashes in a path. */
static size_t folders_of(struct str path)
{
	size_t n = 0;

	for (size_t i = 0; i < path.len; i++)
		n += path.ptr[i] == '/';
	return n;
}

/*
 * Find the text of a source file below the root: try the whole path, then the
 * path without its first folder, without its first two folders, and so on,
 * since the program was probably built on another machine. `out` stays empty
 * when no file is found. Each try is charged to the budget.
 */
static int report_source_find_source(struct listing *l, struct str file,
				     struct buf *out, struct err *err)
{
	struct str rest = file;
	size_t folders = folders_of(file);
	int rc = 0;

	if (!l->has_root || is_odd(file))
		return 0;
	while (rest.len && !rc) {
		if (folders <= FOLDERS_MAX && open_source(l->root, rest, out))
			break;
		(void)str_cut(rest, '/', &rest);
		folders -= folders > 0;
		rc = limits_meter(&l->r->o->limits, &l->meter, LOOK_WORK, 0,
				  err);
	}
	return rc;
}

/*
 * Resolve source_root. The root "/" is stored as an empty string, so that root
 * + "/" is always a prefix of the paths below the root.
 */
static void find_root(struct listing *l)
{
	const char *root = l->r->o->source_root;

	l->has_root = root && realpath(root, l->root);
	if (l->has_root && !strcmp(l->root, "/"))
		l->root[0] = 0;
}

/* A text that is read line by line, forwards only. */
struct cursor {
	struct str rest;
	int64_t at; /* number of lines already read */
};

/*
 * Return line `number` (counted from 1) of the text, which must come after the
 * line read last; empty if the text has fewer lines.
 */
static struct str text_line(struct cursor *c, int64_t number)
{
	struct str line = { "", 0 };

	for (; c->at < number && c->rest.len; c->at++)
		line = str_cut(c->rest, '\n', &c->rest);
	return c->at == number ? line : str_of("");
}

/* Print a value in a column of 10 characters; "." stands for 0. */
static void print_column(const struct report *r, int64_t v, struct buf *out)
{
	if (v)
		report_value_column(r, v, 10, out);
	else
		buf_printf(out, "%10s", ".");
	buf_byte(out, ' ');
}

/* Print one line; l is NULL for context without weight. */
static void report_source_print_line(const struct report *r,
				     const struct line *l, int64_t number,
				     struct cursor *text, struct buf *out)
{
	struct str s = text_line(text, number);

	print_column(r, l ? l->flat : 0, out);
	print_column(r, l ? l->cum : 0, out);
	buf_printf(out, "%6" PRId64 ":", number);
	buf_add(out, s.ptr, s.len);
	buf_byte(out, '\n');
}

/*
 * Print the lines of x that have a weight and, if the source text was found,
 * AROUND lines before and after each of them. Gaps are marked with "...".
 */
static void print_lines(const struct listing *l, const struct routine *x,
			struct bytes text, struct buf *out)
{
	struct cursor cursor = { .rest = str_from(text) };
	const struct line *v = l->lines.v + x->first;
	int64_t shown = 0; /* number of the line printed last */

	for (uint32_t i = 0; i < x->count; i++) {
		int64_t first = text.len ? v[i].number - AROUND : v[i].number;
		int64_t last = text.len ? v[i].number + AROUND : v[i].number;

		/* Stop before the next line that has a weight. */
		if (i + 1 < x->count && last >= v[i + 1].number)
			last = v[i + 1].number - 1;
		if (first <= shown)
			first = shown + 1;
		if (shown && first > shown + 1)
			buf_printf(out, "%10s %10s %6s\n", "", "", "...");
		for (int64_t n = first < 1 ? 1 : first; n <= last; n++)
			report_source_print_line(
				l->r, n == v[i].number ? &v[i] : NULL, n,
				&cursor, out);
		shown = last;
	}
}

/* Print the heading and the lines of one function. */
static int print_routine(struct listing *l, const struct routine *x,
			 struct buf *out, struct err *err)
{
	struct buf text = buf_init(SOURCE_MAX);
	struct buf percent = { 0 };
	int rc = report_source_find_source(l, x->file, &text, err);

	measure_percentage(&percent, x->cum, l->r->total);
	buf_printf(out, "ROUTINE ======================== %.*s in %.*s\n",
		   STR_ARG(x->name), STR_ARG(x->file));
	report_value_column(l->r, x->flat, 10, out);
	buf_byte(out, ' ');
	report_value_column(l->r, x->cum, 10, out);
	buf_printf(out, " (flat, cum) %s of Total\n", buf_cstr(&percent));
	print_lines(l, x, buf_bytes(&text), out);
	if (!rc) /* charge the time to read the text to the budget, too */
		rc = limits_meter(&l->r->o->limits, &l->meter,
				  LOOK_WORK + text.len / 64 + x->count, 0, err);
	buf_fini(&text);
	buf_fini(&percent);
	return rc;
}

/*
 * Print the total and the heaviest functions, up to the number that the option
 * nodecount gives.
 */
static int report_source_print(struct listing *l, struct buf *out,
			       struct err *err)
{
	int64_t max = l->r->o->node_count;
	size_t count = l->routines.count;
	int rc = 0;

	if (max < 0)
		max = FUNCTIONS;
	if (max && (size_t)max < count)
		count = (size_t)max;
	buf_str(out, "Total: ");
	report_value(l->r, l->r->total, out);
	buf_byte(out, '\n');
	for (size_t i = 0; i < count && !rc; i++)
		rc = print_routine(l, &l->routines.v[i], out, err);
	if (count < l->routines.count)
		buf_printf(out,
			   "%zu more functions are not shown (nodecount)\n",
			   l->routines.count - count);
	return rc;
}

int report_source(struct report *r, struct buf *out, struct err *err)
{
	struct listing l = { .r = r };
	struct regex *symbol = NULL;
	struct graph g;
	int rc = 0;

	if (r->o->symbol.len)
		rc = regex_new_search(r->o->symbol, &symbol, NULL, err);
	if (rc)
		return err_wrap(err, rc, "symbol");
	find_root(&l);
	rc = report_graph(r, &g, err);
	if (!rc)
		take_lines(&l, &g, symbol);
	take_routines(&l);
	if (!rc)
		rc = regex_check_steps(symbol, "symbol", err);
	/* Like pprof, report an error if no function matches the symbol. */
	if (!rc && symbol && !l.routines.count)
		rc = err_set(err, ERR_NOTFOUND,
			     "no matches found for regexp: %.*s",
			     STR_ARG(r->o->symbol));
	else if (!rc)
		rc = report_source_print(&l, out, err);
	graph_fini(&g);
	regex_free(symbol);
	vec_fini(&l.lines);
	vec_fini(&l.routines);
	return rc ? rc : report_size(out, err);
}
