/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/looked_time.h"

#include "pprof/merge/aggregate.h"

enum {
	/* The deadline is checked after so many profiles. */
	LOOKED_CHECK = 1024,
};

void looked_time_init(struct looked_time *l, struct tsdb *db,
		      struct query_work *work, int64_t from, int64_t to,
		      bool all)
{
	*l = (struct looked_time){ .has_coverage = all };
	coverage_init(&l->coverage, db, work, from, to);
}

void looked_time_fini(struct looked_time *l)
{
	coverage_fini(&l->coverage);
	l->has_coverage = false;
}

/* Whether heartbeats tell of the time of a profile. */
static bool looked_time_is_covered(const struct coverage_node *node,
				   const struct totals_row *row)
{
	return node && coverage_has(node, row->ms + row->duration_ns / 2000000);
}

/* Add a series that was profiled for some time. */
static void looked_time_put(struct looked_time *l, double total, double seconds)
{
	if (seconds <= 0) {
		l->unknown |= total != 0;
		return;
	}
	l->total += total;
	l->rate += total / seconds;
	l->most = seconds > l->most ? seconds : l->most;
	l->sum += seconds;
}

/*
 * Return 0 instead of an error that ends the query early: what was merged until
 * then is answered, but nobody knows the time of it.
 */
static int looked_time_late(struct looked_time *l, int rc)
{
	if (rc != ERR_TIMEOUT && rc != ERR_CLOSED)
		return rc;
	l->unknown = true;
	return 0;
}

int looked_time_find(struct looked_time *l, struct labels *series,
		     const struct coverage_node **node, struct err *err)
{
	*node = NULL;
	if (!l->has_coverage)
		return 0;
	return looked_time_late(l,
				coverage_find(&l->coverage, series, node, err));
}

/* The profiles of a series, while they are added up. */
struct looked_series {
	const struct coverage_node *node; /* NULL: it has no heartbeats */
	double total;
	double seconds;
};

/*
 * Add a profile, of which the sample type `at` is asked for. Values that do not
 * count for a time say nothing.
 */
static void looked_time_add_row(struct looked_time *l, struct looked_series *x,
				const struct totals_view *v, size_t i,
				const struct value_type *type, size_t at)
{
	const struct totals_row *row = &v->rows[i];
	enum value_kind kind =
		value_kind(type->type, querier_counts_interval(v, row));

	if (kind == KIND_COUNTER && i)
		l->sum += (double)(row->ms - v->rows[i - 1].ms) / 1e3;
	if (kind != KIND_FLOW)
		return;
	l->has_flows = true;
	x->total += (double)v->totals[row->first + at];
	if (looked_time_is_covered(x->node, row))
		return;
	/* Its values count, but nobody knows for how long. */
	if (querier_interval_ns(v, row) <= 0 && v->totals[row->first + at])
		l->unknown = true;
	x->seconds += (double)querier_interval_ns(v, row) / 1e9;
}

int looked_time_add(struct looked_time *l, const struct coverage_node *node,
		    const struct totals_view *v, struct str sample_index,
		    struct typeset *types, struct err *err)
{
	struct looked_series x = { .node = node };
	uint32_t typeset = UINT32_MAX;
	size_t at = 0;
	bool known = false;
	int rc = 0;

	for (size_t i = 0; i < v->count && !rc; i++) {
		if (v->rows[i].typeset != typeset) {
			typeset = v->rows[i].typeset;
			rc = typeset_decode(v->typesets[typeset], types, err);
			known = !rc && types->count &&
				!typeset_index(types, sample_index, &at, NULL);
		}
		if (!rc && i % LOOKED_CHECK == 0)
			rc = query_check_deadline(l->coverage.work, err);
		if (known)
			looked_time_add_row(l, &x, v, i, &types->types[at], at);
		else
			l->unknown = true;
	}
	if (node)
		x.seconds += (double)coverage_length(node) / 1e3;
	looked_time_put(l, x.total, x.seconds);
	return looked_time_late(l, rc);
}

int64_t looked_time_ns(const struct looked_time *l)
{
	double seconds = l->rate > 0 ? l->total / l->rate : l->most;

	if (l->unknown || coverage_lost(&l->coverage) || seconds > 9e9)
		return 0;
	return (int64_t)(seconds * 1e9);
}

double looked_time_sum(const struct looked_time *l)
{
	return l->unknown || coverage_lost(&l->coverage) ? 0 : l->sum;
}
