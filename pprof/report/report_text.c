/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report_text.h"

#include <time.h>

#include "base/printable.h"
#include "pprof/profile/measure.h"

#define FILTER_MAX 80 /* largest part of a filter that is printed, in bytes */

/*
 * Divide a value by the option divide_by. Negative divisors are ignored;
 * report_init() refuses 0.
 */
int64_t report_divide(const struct report *r, int64_t v)
{
	double ratio = 1 / r->o->divide_by;

	return ratio > 0 && ratio != 1 ? measure_integer((double)v * ratio) : v;
}

/* The unit may be any text of the profile. */
void report_value(const struct report *r, int64_t v, struct buf *out)
{
	struct buf text = { 0 };

	measure_label(&text, report_divide(r, v), r->unit, r->out_unit);
	printable_add(out, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/*
 * Append s, right-aligned to a width in characters: UTF-8 continuation bytes do
 * not count.
 */
void report_pad(struct str s, int width, struct buf *out)
{
	struct buf text = { 0 };

	printable_add(&text, s);
	for (size_t i = 0; i < text.len; i++)
		width -= (text.ptr[i] & 0xc0) != 0x80;
	for (; width > 0; width--)
		buf_byte(out, ' ');
	buf_add(out, text.ptr, text.len);
	buf_fini(&text);
}

/* Append a value with its unit, right-aligned. */
void report_value_column(const struct report *r, int64_t v, int width,
			 struct buf *out)
{
	struct buf text = { 0 };

	report_value(r, v, &text);
	report_pad(str_from(buf_bytes(&text)), width, out);
	buf_fini(&text);
}

/*
 * Append the five columns of the reports `top` and `tree`: flat, flat%, sum%,
 * cum, cum%. Adds `flat` to *sum, the running sum that sum% shows.
 */
void report_weight_columns(const struct report *r, int64_t flat, int64_t cum,
			   int64_t *sum, struct buf *out)
{
	*sum = wrap_add(*sum, flat);
	report_value_column(r, flat, 10, out);
	buf_byte(out, ' ');
	measure_percentage(out, flat, r->total);
	buf_byte(out, ' ');
	measure_percentage(out, *sum, r->total);
	buf_byte(out, ' ');
	report_value_column(r, cum, 10, out);
	buf_byte(out, ' ');
	measure_percentage(out, cum, r->total);
}

/* Append "name: text" and a line end. */
static void report_print_label(const char *name, struct str text,
			       struct buf *out)
{
	buf_str(out, name);
	printable_add(out, text);
	buf_byte(out, '\n');
}

/* Append the time as pprof prints it: "Time: 2006-01-02 15:04:05 UTC". */
static void print_time(int64_t ns, struct buf *out)
{
	/* Round towards minus infinity, also before 1970. */
	time_t t = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
	struct tm tm;

	gmtime_r(&t, &tm);
	buf_printf(out, "Time: %d-%02d-%02d %02d:%02d:%02d UTC\n",
		   tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		   tm.tm_min, tm.tm_sec);
}

/*
 * Append duration and total. If the values are times, also append the total as
 * a percentage of the duration, which tells how many CPUs were busy.
 */
static void print_duration(const struct report *r, int64_t duration_ns,
			   struct buf *out)
{
	struct str unit;
	double total =
		measure_scale(r->total, r->unit, str_of("nanoseconds"), &unit);

	buf_str(out, "Duration: ");
	measure_label(out, duration_ns, str_of("nanoseconds"), str_of("auto"));
	buf_str(out, ", Total samples = ");
	report_value(r, r->total, out);
	buf_byte(out, ' ');
	if (str_is(unit, "ns") && total != 0) {
		buf_byte(out, '(');
		measure_percentage(out, measure_integer(total), duration_ns);
		buf_byte(out, ')');
	}
	buf_byte(out, '\n');
}

/*
 * Append the lines about the first mapping, which is the program that was
 * profiled, unless there were several. For the kernel it is a name such as
 * [kernel], which is no file.
 */
static void print_file(const struct pprof *p, const struct pprof_mapping *m,
		       struct buf *out)
{
	struct str file = pprof_str(p, m->file);
	struct str build_id = pprof_str(p, m->build_id);

	if (p->several_programs || str_starts(file, str_of("[")))
		return;
	if (file.len)
		report_print_label("File: ", pprof_base_name(file), out);
	if (build_id.len && !p->several_builds)
		report_print_label("Build ID: ", build_id, out);
}

/*
 * Append the lines about the profile that stand above a report, as pprof's
 * ProfileLabels does.
 */
void report_profile_labels(const struct report *r, struct buf *out)
{
	const struct pprof *p = r->p;
	int64_t duration_ns = r->o->has_duration ? r->o->duration_ns :
						   p->duration_ns;
	struct str s;

	if (p->mappings.count)
		print_file(p, &p->mappings.v[0], out);
	for (size_t i = 0; i < p->comments.count; i++) {
		s = pprof_str(p, p->comments.v[i]);
		if (!str_starts(s, str_of("#")))
			report_print_label("", s, out);
	}
	if (r->type.len)
		report_print_label(
			r->o->mean ? "Type: mean_" : "Type: ", r->type, out);
	if (p->time_ns)
		print_time(p->time_ns, out);
	if (duration_ns)
		print_duration(r, duration_ns, out);
}

/*
 * Print one filter. Long filters are cut to FILTER_MAX bytes, even within a
 * character, as in pprof. The first filter has a title above it.
 */
static void print_filter(const char *name, struct str text, const char **title,
			 struct buf *out)
{
	struct buf line = { 0 };

	if (!text.len)
		return;
	buf_printf(&line, "%s=%.*s", name, STR_ARG(text));
	if (line.len > FILTER_MAX) {
		line.len = FILTER_MAX;
		buf_str(&line, "\u2026");
	}
	buf_printf(out, "%s   ", *title);
	printable_add(out, str_from(buf_bytes(&line)));
	buf_byte(out, '\n');
	*title = "";
	buf_fini(&line);
}

/* List the active filters. */
static void print_filters(const struct report *r, struct buf *out)
{
	const struct report_options *o = r->o;
	const struct {
		const char *name;
		const struct str *texts;
		size_t max;
	} filters[] = {
		{ "focus", o->names.focus, FILTER_TEXTS },
		{ "ignore", o->names.ignore, FILTER_TEXTS },
		{ "hide", o->names.hide, FILTER_TEXTS },
		{ "show", o->names.show, FILTER_TEXTS },
		{ "show_from", &o->names.show_from, 1 },
		{ "under", o->under, UNDER_MAX },
		{ "tagfocus", &o->tags.focus, 1 },
		{ "tagignore", &o->tags.ignore, 1 },
		{ "tagshow", &o->tags.show, 1 },
		{ "taghide", &o->tags.hide, 1 },
	};
	const char *title = "Active filters:\n";

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		for (size_t k = 0; k < filters[i].max; k++)
			print_filter(filters[i].name, filters[i].texts[k],
				     &title, out);
	}
}

/*
 * Append a line about nodes or edges that trimming dropped, if there are any.
 */
static void print_dropped(const struct report *r, size_t count,
			  const char *what, const char *by, double fraction,
			  struct buf *out)
{
	if (!count)
		return;
	buf_printf(out, "Dropped %zu %s%s (%s <= ", count, what,
		   count > 1 ? "s" : "", by);
	report_value(r, graph_abs(measure_integer((double)r->total * fraction)),
		     out);
	buf_str(out, ")\n");
}

/* Append v as a percentage of total, without padding. */
static void report_print_percentage(int64_t v, int64_t total, struct buf *out)
{
	struct buf text = { 0 };
	struct str s;

	measure_percentage(&text, v, total);
	s = str_trim(str_from(buf_bytes(&text)));
	buf_add(out, s.ptr, s.len);
	buf_fini(&text);
}

/*
 * Append the lines about profile and graph that stand above a report, as
 * pprof's graphTotalLabels does. If `full` is true, also append the number of
 * dropped edges.
 */
void report_graph_labels(const struct report *r, const struct graph *g,
			 bool full, struct buf *out)
{
	size_t count = g->shown.count;
	int64_t flat = 0;

	report_profile_labels(r, out);
	for (size_t i = 0; i < count; i++) {
		const struct graph_node *n = &g->node[g->shown.v[i]];

		flat = wrap_add(flat, graph_mean(n->flat, n->flat_div));
	}
	print_filters(r, out);
	buf_str(out, "Showing nodes accounting for ");
	report_value(r, flat, out);
	buf_str(out, ", ");
	report_print_percentage(flat, r->total, out);
	buf_str(out, " of ");
	report_value(r, r->total, out);
	buf_str(out, " total\n");
	if (!r->total)
		return;
	print_dropped(r, g->dropped_nodes, "node", "cum", r->o->node_fraction,
		      out);
	if (full)
		print_dropped(r, g->dropped_edges, "edge", "freq",
			      r->o->edge_fraction, out);
	if (count && count < g->original_count)
		buf_printf(out, "Showing top %zu nodes out of %zu\n", count,
			   g->original_count);
}
