/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces report: every sample with its labels, value and stack, as pprof's
 * -traces.
 */
#include "pprof/report/report_forms.h"

#include <stdlib.h>

#include "base/printable.h"
#include "pprof/profile/measure.h"
#include "pprof/report/report.h"
#include "pprof/report/report_text.h"

/* The line that pprof prints between samples. */
static const char separator[] =
	"-----------+-------------------------------------------------------\n";

/* Lines of labels, collected to be sorted before they are printed. */
struct lines {
	struct arena arena;
	VEC(struct str) v;
};

/* Order by text: pprof sorts the printed lines of labels. */
static int traces_by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Append a numeric label. Its unit may be any text of the profile. */
static void traces_add_number(int64_t v, struct str unit, struct buf *out)
{
	struct buf text = { 0 };

	measure_label(&text, v, unit, str_of("auto"));
	printable_add(out, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/* Add the line "key: value value" for `count` labels that share a key. */
static void traces_add_line(const struct report *r, const struct pprof_label *v,
			    uint32_t count, struct lines *lines)
{
	const struct pprof *p = r->p;
	uint32_t unit = tag_unit(&r->units, v->key);
	struct buf text = { 0 };

	report_pad(pprof_str(p, v->key), 10, &text);
	buf_str(&text, ": ");
	for (uint32_t i = 0; i < count; i++) {
		struct str s = pprof_str(p, v[i].str);

		buf_byte(&text, ' ');
		if (v[i].is_number)
			traces_add_number(v[i].num, pprof_str(p, unit), &text);
		else
			printable_add(&text, s);
	}
	buf_byte(&text, '\n');
	*vec_add(&lines->v) =
		arena_str(&lines->arena, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/*
 * Print a sample's numeric labels if `numbers` is true, else its text labels. A
 * label set is sorted, so that the labels with the same key are adjacent.
 */
static void traces_print_labels(const struct report *r, struct pprof_run set,
				bool numbers, struct buf *out)
{
	const struct pprof_label *v = r->p->labels.v + set.first;
	struct lines lines = { 0 };
	uint32_t n;

	for (uint32_t i = 0; i < set.count; i += n) {
		n = 1;
		while (i + n < set.count && v[i + n].key == v[i].key &&
		       v[i + n].is_number == v[i].is_number)
			n++;
		if (v[i].is_number == numbers)
			traces_add_line(r, &v[i], n, &lines);
	}
	if (lines.v.count)
		qsort(lines.v.v, lines.v.count, sizeof(*lines.v.v),
		      traces_by_text);
	for (size_t i = 0; i < lines.v.count; i++)
		buf_add(out, lines.v.v[i].ptr, lines.v.v[i].len);
	vec_fini(&lines.v);
	arena_fini(&lines.arena);
}

/*
 * Print one frame. The caller has printed the first column of the line already.
 */
static void traces_print_frame(const struct report *r, uint32_t node,
			       bool inlined, struct buf *out)
{
	struct str name = r->nodes.v.v[node].text;

	buf_str(out, "   ");
	printable_add(out, name);
	buf_str(out, inlined ? " (inline)\n" : "\n");
}

/*
 * Print labels, value and stack of a sample, innermost frame first. Only the
 * first frame has the value in front of it.
 */
static int print_sample(const struct report *r, size_t i, struct buf *out,
			struct growth_meter *meter, struct err *err)
{
	const struct pprof *p = r->p;
	const struct pprof_run *stack = pprof_stack(p, i);
	struct pprof_run set = p->label_sets.v[p->samples.v[i].labels];
	int64_t value = report_weight(r, i);
	int rc = 0;

	buf_str(out, separator);
	traces_print_labels(r, set, false, out);
	traces_print_labels(r, set, true, out);
	if (r->o->mean)
		value = graph_mean(value, pprof_values(p, i)[0]);
	for (uint32_t k = 0; k < stack->count && !rc; k++) {
		uint32_t location = p->frames.v[stack->first + k];
		struct pprof_run lines = r->nodes.locations.v[location];

		for (uint32_t n = 0; n < lines.count; n++) {
			if (!k && !n)
				report_value_column(r, value, 10, out);
			else
				buf_printf(out, "%10s", "");
			/* All lines of a location but the last are inlined. */
			traces_print_frame(r,
					   r->nodes.of_lines.v[lines.first + n],
					   n + 1 != lines.count, out);
		}
		rc = limits_meter(&r->o->limits, meter, 1, 0, err);
	}
	return rc;
}

int report_traces_text(struct report *r, struct buf *out, struct err *err)
{
	struct growth_meter meter = { 0 };
	int rc = 0;

	report_profile_labels(r, out);
	/*
	 * Stop when the output is too large; report_size() then returns the
	 * error.
	 */
	for (size_t i = 0; i < r->p->samples.count && !rc && !out->over; i++) {
		if (pprof_stack(r->p, i)->count)
			rc = print_sample(r, i, out, &meter, err);
		if (!rc)
			rc = limits_meter(&r->o->limits, &meter, 1, 0, err);
	}
	buf_str(out, separator);
	return rc ? rc : report_size(out, err);
}
