/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/total_filter.h"

#include <stdio.h>

#include "base/mem.h"
#include "pprof/merge/aggregate.h"

/*
 * Parse one bound. If the parameter is given, sets *set to true and *out to the
 * bound; otherwise leaves both unchanged.
 */
static int parse_total(const struct params *p, const char *name, bool *set,
		       int64_t *out, struct err *err)
{
	struct str s;

	if (!params_find(p, name, &s) || !s.len)
		return 0;
	*set = true;
	if (str_to_i64(s, out))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"parameter \"%s\" must be a whole number in the unit of the sample type, not \"%.*s\"",
		name, STR_ARG(s));
}

int total_filter_parse(struct total_filter *f, const struct params *p,
		       const char *suffix, struct err *err)
{
	char min[24];
	char max[24];
	char outside[24];
	int rc;

	snprintf(min, sizeof(min), "total_min%s", suffix);
	snprintf(max, sizeof(max), "total_max%s", suffix);
	snprintf(outside, sizeof(outside), "total_outside%s", suffix);
	*f = (struct total_filter){ .min = INT64_MIN, .max = INT64_MAX };
	(void)params_find(p, "sample_index", &f->sample_index);
	f->outside = params_is_on(p, outside);
	rc = parse_total(p, min, &f->set, &f->min, err);
	if (!rc)
		rc = parse_total(p, max, &f->set, &f->max, err);
	if (!rc && f->min > f->max)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"%s\" is larger than \"%s\"", min,
			     max);
	if (!rc && f->outside && !f->set)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"%s\" requires \"%s\" or \"%s\"",
			     outside, min, max);
	return rc;
}

void total_column_fini(struct total_column *c)
{
	mem_free(c->types);
	*c = (struct total_column){ 0 };
}

/* Find the filter's sample type in the profile of a row. */
static int total_column_find(struct total_column *c,
			     const struct total_filter *f,
			     const struct totals_view *v,
			     const struct totals_row *row, struct err *err)
{
	const struct value_type *type;
	int rc;

	if (!c->types)
		c->types = mem_new(struct typeset);
	c->typeset = row->typeset;
	c->per_interval = querier_counts_interval(v, row);
	rc = typeset_decode(v->typesets[row->typeset], c->types, err);
	if (!rc)
		rc = typeset_index(c->types, f->sample_index, &c->index, err);
	if (rc)
		return rc;
	type = &c->types->types[c->index];
	if (value_kind(type->type, c->per_interval) != KIND_COUNTER)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"profiles cannot be selected by their total of \"%.*s\": its values count everything since the process started",
		STR_ARG(type->type));
}

int total_filter_select(const struct total_filter *f, struct total_column *c,
			const struct totals_view *v, size_t i, bool *wanted,
			struct err *err)
{
	const struct totals_row *row = &v->rows[i];
	int64_t total;
	int rc = 0;

	*wanted = !f->set;
	if (!f->set)
		return 0;
	if (!c->types || c->typeset != row->typeset ||
	    c->per_interval != querier_counts_interval(v, row))
		rc = total_column_find(c, f, v, row, err);
	if (rc)
		return rc;
	total = v->totals[row->first + c->index];
	*wanted = (total >= f->min && total <= f->max) != f->outside;
	return 0;
}

int total_filter_reduce(const struct total_filter *f, struct query_work *work,
			struct totals_view *v, struct total_rows *rows,
			struct err *err)
{
	struct total_column c = { 0 };
	size_t count = 0;
	int rc = 0;

	*rows = (struct total_rows){ .work = work };
	if (!f->set || !v->count)
		return 0;
	rc = total_rows_make(rows, work, v->count, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < v->count && !rc; i++) {
		bool wanted = false;

		rc = total_filter_select(f, &c, v, i, &wanted, err);
		rows->v[count] = v->rows[i];
		count += wanted;
	}
	total_column_fini(&c);
	v->rows = rows->v;
	v->count = count;
	return rc;
}

int total_rows_make(struct total_rows *rows, struct query_work *work,
		    size_t count, struct err *err)
{
	size_t size = count * sizeof(*rows->v);
	int rc = query_take(work, (int64_t)size, err);

	*rows = (struct total_rows){ .work = work };
	if (rc)
		return rc;
	rows->taken = (int64_t)size;
	rows->v = mem_alloc(size);
	return 0;
}

void total_rows_fini(struct total_rows *rows)
{
	mem_free(rows->v);
	if (rows->taken)
		query_give(rows->work, rows->taken);
	*rows = (struct total_rows){ 0 };
}
