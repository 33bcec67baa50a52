/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report.h"

#include <inttypes.h>
#include <time.h>

#include "pprof/filter/module_version.h"
#include "pprof/filter/prune.h"
#include "pprof/filter/tagroot.h"
#include "pprof/profile/measure.h"
#include "pprof/report/flame_svg.h"
#include "pprof/report/net_total.h"
#include "pprof/report/report_flamegraph.h"
#include "pprof/report/report_forms.h"

/* Largest number of frames in the stacks of all samples together. */
#define STEPS_MAX ((uint64_t)400 * 1000 * 1000)
#define TEXT      "text/plain; charset=utf-8"

static const struct report_type types[] = {
	{ .name = "top",
	  .kind = REPORT_TOP,
	  .for_people = true,
	  .content_type = TEXT,
	  .write = report_top_text,
	  .json = report_top_json },
	{ .name = "tree",
	  .kind = REPORT_TREE,
	  .for_people = true,
	  .content_type = TEXT,
	  .write = report_tree_text },
	{ .name = "peek",
	  .kind = REPORT_PEEK,
	  .for_people = true,
	  .content_type = TEXT,
	  .write = report_tree_text },
	{ .name = "traces",
	  .kind = REPORT_TRACES,
	  .for_people = true,
	  .by_sample = true,
	  .content_type = TEXT,
	  .write = report_traces_text },
	{ .name = "folded",
	  .kind = REPORT_FOLDED,
	  .content_type = TEXT,
	  .write = report_folded },
	{ .name = "flamegraph",
	  .kind = REPORT_FLAMEGRAPH,
	  .content_type = "image/svg+xml",
	  .write = report_flamegraph_svg,
	  .json = report_flamegraph_json },
	{ .name = "speedscope",
	  .kind = REPORT_SPEEDSCOPE,
	  .by_sample = true,
	  .content_type = "application/json",
	  .file = "everprof.speedscope.json",
	  .write = report_speedscope },
	{ .name = "graph",
	  .kind = REPORT_DOT,
	  .content_type = "application/json",
	  .json = report_calls_json },
	{ .name = "dot",
	  .kind = REPORT_DOT,
	  .content_type = "text/vnd.graphviz; charset=utf-8",
	  .write = report_dot },
	{ .name = "svg",
	  .kind = REPORT_DOT,
	  .content_type = "image/svg+xml",
	  .write = report_svg },
	{ .name = "source",
	  .kind = REPORT_SOURCE,
	  .text_first = true,
	  .for_people = true,
	  .content_type = TEXT,
	  .write = report_source,
	  .json = report_source_json },
};

void report_list_names(struct buf *out, const char *separator)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		buf_printf(out, "%s%s", i ? separator : "", types[i].name);
}

/* The message lists the names of all reports, then the text `others`. */
int report_unknown(struct str name, const char *others, struct err *err)
{
	struct buf names = { 0 };

	report_list_names(&names, " ");
	err_set(err, ERR_INVALID, "unknown report \"%.*s\": use one of %s %s",
		STR_ARG(name), buf_cstr(&names), others);
	buf_fini(&names);
	return ERR_INVALID;
}

const struct report_type *report_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (str_is(name, types[i].name))
			return &types[i];
	}
	return NULL;
}

/*
 * The total of the report: the sum of the absolute values of all samples. As in
 * pprof, only the samples of the base count in a diff, but all samples count if
 * the sum of the base is 0.
 */
static int64_t sum_total(const struct report *r)
{
	const struct pprof *p = r->p;
	int64_t total = 0;
	int64_t div = 0;
	int64_t base_total = 0;
	int64_t base_div = 0;

	if (r->o->net_total)
		return report_net_total(r);
	for (size_t i = 0; i < p->samples.count; i++) {
		int64_t v = graph_abs(report_weight(r, i));
		int64_t d = r->o->mean ? pprof_values(p, i)[0] : 0;

		total = wrap_add(total, v);
		div = wrap_add(div, d);
		if (pprof_sample_is_base(p, i)) {
			base_total = wrap_add(base_total, v);
			base_div = wrap_add(base_div, d);
		}
	}
	return base_total > 0 ? graph_mean(base_total, base_div) :
				graph_mean(total, div);
}

/*
 * Compute the totals: that of the report and, of a diff that keeps its sides
 * apart, those of the sides.
 */
static void sum_totals(struct report *r)
{
	const struct pprof *p = r->p;

	r->total = sum_total(r);
	r->total_a = 0;
	r->total_b = 0;
	if (!pprof_has_base(p))
		return;
	for (size_t i = 0; i < p->samples.count; i++) {
		int64_t v = report_weight(r, i);

		if (pprof_sample_is_base(p, i))
			r->total_a =
				wrap_add(r->total_a, (int64_t) - (uint64_t)v);
		else
			r->total_b = wrap_add(r->total_b, v);
	}
}

/*
 * Apply all filters in pprof's order. Each filter may remove samples or frames.
 */
static int apply_filters(struct report *r, struct err *err)
{
	const struct report_options *o = r->o;
	int rc = filter_names(r->p, &o->names, &o->limits, &r->unmatched, err);

	if (!rc)
		rc = filter_tags(r->p, &o->tags, &r->units, &r->unmatched,
				 &o->limits, err);
	if (!rc)
		rc = filter_tag_names(r->p, &o->tags, &o->limits, err);
	if (!rc)
		rc = filter_prune_from(r->p, o->prune_from, &o->limits, err);
	return rc ? rc : filter_recursion(r->p, o->recursion, &o->limits, err);
}

/*
 * Apply filters and compute the total. As in pprof, percentages refer to the
 * whole profile or, with the option relative_percentages, to the filtered
 * profile: then the total is computed after filtering.
 */
static int report_prepare(struct report *r, struct err *err)
{
	bool rooted = true;
	int rc = filter_uninteresting(r->p, &r->o->limits, err);

	if (rc)
		return rc;
	/* Expressions are searched for in the names that are shown. */
	if (r->o->ignore_versions)
		module_version_remove(r->p);
	tag_units_find(r->p, &r->units);
	if (r->o->tagroot.len)
		rc = pprof_tagroot(r->p, r->o->tagroot, r->out_unit,
				   &r->o->limits, &rooted, err);
	if (!rooted)
		r->unmatched.names[r->unmatched.count++] = "tagroot";
	if (!rc && r->o->relative)
		rc = apply_filters(r, err);
	if (rc)
		return rc;
	sum_totals(r);
	return r->o->relative ? 0 : apply_filters(r, err);
}

/*
 * Refuse profiles whose stacks have too many frames in total: a location may
 * have thousands of inlined lines, and a stack thousands of such locations, so
 * that a profile of a few kilobytes could take hours to process
 * (docs/decisions.md, 42).
 */
static int report_check_steps(const struct report *r, struct err *err)
{
	const struct pprof *p = r->p;
	uint64_t steps = 0;
	int rc = 0;

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		const struct pprof_run *s = pprof_stack(p, i);

		for (uint32_t k = 0; k < s->count; k++)
			steps += r->nodes.locations.v[p->frames.v[s->first + k]]
					 .count;
		if (steps > STEPS_MAX)
			rc = err_set(
				err, ERR_LIMIT,
				"the stacks of the profile have more than %" PRIu64
				" frames in total: filter them, for example with \"focus\"",
				STEPS_MAX);
	}
	return rc;
}

/* The memory of the report, in bytes, without the profile. */
static size_t report_memory(const struct report *r)
{
	return nodes_memory(&r->nodes) + r->units.count * sizeof(uint32_t);
}

int report_init(struct report *r, enum report_kind kind, struct pprof *p,
		const struct report_options *o, struct err *err)
{
	int rc;

	*r = (struct report){
		.p = p, .o = o, .kind = kind, .rate_seconds = o->rate_seconds
	};
	rc = pprof_type_index(p, o->sample_index, &r->value, err);
	if (rc)
		return rc;
	/*
	 * Check all options before report_prepare(), which changes the profile.
	 */
	r->type = pprof_str(p, p->types.v[r->value].type);
	r->unit = pprof_str(p, p->types.v[r->value].unit);
	r->out_unit = o->unit.len ? o->unit : str_of("minimum");
	if (o->unit.len && !str_eq(o->unit, r->unit) &&
	    !measure_is_unit(o->unit))
		return err_set(
			err, ERR_INVALID,
			"unknown unit \"%.*s\": use one of B kB MB GB TB PB, ns us ms s hrs, count, the unit of the profile, or minimum (a suitable one)",
			STR_ARG(o->unit));
	rc = pprof_tagroot_check(o->tagroot, "tagroot", err);
	if (rc)
		return rc;
	if (o->divide_by == 0)
		return err_set(err, ERR_INVALID, "divide_by must not be 0");
	rc = report_prepare(r, err);
	if (!rc) {
		/*
		 * A listing of source lines needs one node per line, whatever
		 * granularity was asked for.
		 */
		nodes_init(&r->nodes, p,
			   kind == REPORT_SOURCE ? GRANULARITY_LINES :
						   o->granularity,
			   o->noinlines);
		rc = report_check_steps(r, err);
	}
	if (!rc)
		rc = report_keep_under(r, err);
	if (!rc && o->relative)
		sum_totals(r);
	if (!rc)
		rc = limits_spend(&o->limits, report_memory(r), err);
	if (rc)
		report_fini(r);
	return rc;
}

void report_fini(struct report *r)
{
	nodes_fini(&r->nodes);
	tag_units_fini(&r->units);
}
