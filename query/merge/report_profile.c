/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/report_profile.h"

#include "pprof/merge/aggregate.h"
#include "pprof/profile/profile_order.h"
#include "query/merge/symbolize.h"

/* How the sides of a diff are scaled; normalize=auto depends on their values. */
static enum normalize report_profile_normalize(enum normalize asked,
					       enum value_kind kind)
{
	if (asked != NORMALIZE_AUTO)
		return asked;
	return kind == KIND_FLOW    ? NORMALIZE_TOTAL :
	       kind == KIND_COUNTER ? NORMALIZE_RATE :
				      NORMALIZE_NONE;
}

/*
 * Scale the new side to the time of the base. If that makes no sense, it is an error
 * with normalize=rate, and left undone with normalize=auto.
 */
static int report_profile_scale(struct report_profile *x, enum value_kind kind,
				struct merge_diff_options *o, struct err *err)
{
	enum aggregate how = aggregate_of(x->source->o->aggregate, kind);
	const char *why = NULL;

	if (kind == KIND_STATE)
		why = "values that are a state, such as memory in use, have no rate";
	else if (!x->source->has_looked || !x->base->has_looked)
		why = "rates need a time range on both sides";
	else if (how != (kind == KIND_FLOW ? AGGREGATE_SUM : AGGREGATE_DELTA))
		why = "rates are computed from sums, or from the increase of a counter: use aggregate=auto";
	else if (!(x->source->looked_sum > 0) || !(x->base->looked_sum > 0))
		why = "it is not known for how long the programs were profiled";
	if (why && x->q->normalize == NORMALIZE_AUTO)
		return 0;
	if (why)
		return err_set(err, ERR_INVALID, "normalize=rate: %s", why);
	x->scaled = NORMALIZE_RATE;
	x->rate_seconds = x->base->looked_sum;
	o->scale = x->base->looked_sum / x->source->looked_sum;
	return 0;
}

/* Bring a profile into canonical order. */
static int report_profile_order(struct report_profile *x, struct pprof *p,
				struct err *err)
{
	struct limits limits = query_merge_limits(x->source);

	return pprof_order(p, &limits, err);
}

/* Subtract the base from the profile *p of the new side. */
static int report_profile_subtract(struct report_profile *x, struct pprof **p,
				   struct err *err)
{
	const struct report_request *q = x->q;
	double ratios[TYPES_MAX];
	struct merge_diff_options o = { .label_base = q->label_base,
					.ratios = ratios };
	enum value_kind kind;
	enum normalize how;
	size_t type = 0;
	int rc = 0;

	x->scaled = NORMALIZE_NONE;
	if (q->normalize != NORMALIZE_NONE) {
		rc = pprof_type_index(*p, q->options.sample_index, &type, err);
		if (rc)
			return rc;
		kind = value_kind(pprof_str(*p, (*p)->types.v[type].type),
				  (*p)->duration_ns > 0 ||
					  x->source->increments);
		how = report_profile_normalize(q->normalize, kind);
		o.normalize = how == NORMALIZE_TOTAL;
		if (o.normalize)
			x->scaled = NORMALIZE_TOTAL;
		if (how == NORMALIZE_RATE)
			rc = report_profile_scale(x, kind, &o, err);
	}
	/* Scaling gives what rounding takes from a sample to the next one. */
	if (!rc && o.scale > 0)
		rc = report_profile_order(x, *p, err);
	if (!rc)
		rc = query_merge_subtract(x->base, x->both, &o, p, err);
	x->factor = rc ? 1 : ratios[type];
	return rc;
}

/* Name the addresses of the profile that have no function. */
static int report_profile_name(struct report_profile *x, struct pprof *p,
			       struct err *err)
{
	struct symbolize s = { .symbolizer = x->symbolizer };
	int rc = query_merge_symbolize(x->source, &s, p, err);

	if (!rc)
		x->warning_count += symbolize_warnings(
			&s, p, x->arena, x->warnings + x->warning_count,
			REPORT_WARNINGS_MAX - x->warning_count);
	return rc;
}

/* Add the warnings of a merge. */
static void report_profile_warn(struct report_profile *x,
				const struct query_merge *g)
{
	x->warning_count += query_merge_warnings(
		g, x->arena, x->warnings + x->warning_count,
		REPORT_WARNINGS_MAX - x->warning_count);
}

int report_profile_make(struct report_profile *x, struct pprof **out,
			struct err *err)
{
	int rc = query_merge_finish(x->source, out, err);

	x->has_duration = !x->base && x->source->has_looked &&
			  x->source->looked.has_flows;
	report_profile_warn(x, x->source);
	if (!rc && x->base) {
		x->both = merge_new();
		report_profile_warn(x, x->base);
		rc = report_profile_subtract(x, out, err);
	}
	if (!rc && x->q->options.symbolize)
		rc = report_profile_name(x, *out, err);
	if (!rc && x->q->ordered)
		rc = report_profile_order(x, *out, err);
	return rc;
}

void report_profile_options(const struct report_profile *x,
			    struct report_options *out)
{
	*out = x->q->options;
	out->limits = query_merge_limits(x->source);
	out->has_duration = x->has_duration;
	out->duration_ns = x->source->looked_ns;
	/* A mean is not divided by a time. */
	out->rate_seconds = out->mean ? 0 : x->rate_seconds;
}

size_t report_profile_unmatched(const struct no_match *none,
				struct arena *arena, const char **out,
				size_t max)
{
	size_t count = none->count < max ? none->count : max;

	for (size_t i = 0; i < count; i++)
		out[i] = arena_printf(arena, "%s expression matched no samples",
				      none->names[i]);
	return count;
}

void report_profile_fini(struct report_profile *x)
{
	merge_free(x->both);
	x->both = NULL;
}
