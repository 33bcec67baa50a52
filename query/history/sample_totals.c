/* SPDX-License-Identifier: Apache-2.0 */
#include "query/history/sample_totals.h"

#include "base/hash.h"
#include "pprof/columns/columns_sum.h"
#include "pprof/merge/aggregate.h"
#include "pprof/merge/merge.h"
#include "query/select/bounded_decode.h"

void sample_totals_init(struct sample_totals *s,
			const struct sample_totals_options *o)
{
	*s = (struct sample_totals){
		.o = o,
		.limits = query_limits(o->work),
		.memory = { .work = o->work },
		.before_types = mem_new(struct typeset),
		.types = mem_new(struct typeset),
		.columns = columns_sum_new(),
		.decoder = decoder_new((size_t)o->work->memory->max),
	};
	s->types->count = 1;
	s->types->types[0] = *o->type;
	typeset_encode(s->types, &s->typeset);
	s->encoded = buf_bytes(&s->typeset);
	for (size_t i = 0; i < o->name_count; i++)
		*vec_add(&s->lacks) = false;
}

/* Forget the table. */
static void sample_totals_forget_table(struct sample_totals *s)
{
	querier_row_fini(&s->row);
	s->d = NULL;
}

/* Forget the totals of a series; groups stay known. */
static void sample_totals_reset(struct sample_totals *s)
{
	for (size_t i = 0; i < s->present.count; i++) {
		struct sample_group *g = &s->groups.v[s->present.v[i]];

		mem_free(g->totals);
		g->totals = NULL;
	}
	s->present.count = 0;
	s->rows.count = 0;
	s->restarts.count = 0;
}

void sample_totals_fini(struct sample_totals *s)
{
	if (!s->o)
		return;
	sample_totals_reset(s);
	sample_totals_forget_table(s);
	vec_fini(&s->groups);
	table_fini(&s->by_values);
	arena_fini(&s->arena);
	vec_fini(&s->present);
	vec_fini(&s->rows);
	vec_fini(&s->restarts);
	buf_fini(&s->typeset);
	mem_free(s->types);
	mem_free(s->before_types);
	vec_fini(&s->lacking);
	vec_fini(&s->lacks);
	vec_fini(&s->set_classes);
	vec_fini(&s->own_classes);
	vec_fini(&s->key_classes);
	mem_free(s->sums.sums);
	vec_fini(&s->sums.touched);
	columns_sum_free(s->columns);
	decoder_free(s->decoder);
	profile_fini(&s->fetched);
}

/* Whether a series lacks a label. */
static bool sample_totals_lacks(const struct labels *series, struct str name)
{
	return !labels_get(series, name).len;
}

bool sample_totals_needed(const struct sample_totals *s,
			  const struct labels *series)
{
	for (size_t i = 0; i < s->o->matcher_count; i++) {
		if (sample_totals_lacks(series, s->o->matchers[i].name))
			return true;
	}
	for (size_t i = 0; i < s->o->name_count; i++) {
		if (sample_totals_lacks(series, s->o->names[i]))
			return true;
	}
	return s->o->filter;
}

/* Note what a series lacks. The classes of keys depend on it. */
static void sample_totals_note_series(struct sample_totals *s,
				      const struct labels *series)
{
	size_t before = s->lacking.count;
	bool is_same;

	s->lacking.count = 0;
	vec_reserve(&s->lacking, s->o->matcher_count);
	s->lacking.count = matchers_lacking(s->o->matchers, s->o->matcher_count,
					    series, s->lacking.v);
	/* Another choice of as many matchers is rare, and costs only time. */
	is_same = s->lacking.count == before &&
		  s->lacking.count == s->o->matcher_count;
	for (size_t i = 0; i < s->o->name_count; i++) {
		bool lacks = sample_totals_lacks(series, s->o->names[i]);

		is_same &= s->lacks.v[i] == lacks;
		s->lacks.v[i] = lacks;
	}
	if (!is_same)
		sample_totals_forget_table(s);
}

/* Return the memory of everything that grows. */
static size_t sample_totals_memory(const struct sample_totals *s,
				   const struct querier *q)
{
	return s->present.count * s->of.count * sizeof(int64_t) +
	       vec_memory(&s->groups) + table_memory(&s->by_values) +
	       s->arena.used + vec_memory(&s->present) + vec_memory(&s->rows) +
	       vec_memory(&s->restarts) + vec_memory(&s->set_classes) +
	       vec_memory(&s->own_classes) + vec_memory(&s->key_classes) +
	       columns_sum_memory(s->columns) + s->sum_count * sizeof(int64_t) +
	       vec_memory(&s->sums.touched) + decoder_memory(s->decoder) +
	       s->fetched.raw.cap + querier_memory(q);
}

/* The key of a group, for the table of groups. */
struct sample_key {
	const struct sample_totals *s;
	const struct label_view *labels;
};

/* Return the value of label `i` of a group that a label set belongs to. */
static struct str sample_key_value(const struct sample_key *k, size_t i)
{
	return k->s->lacks.v[i] ?
		       label_view_text(k->labels, k->s->o->names[i]) :
		       str_of("");
}

static bool sample_key_same(const void *ctx, uint32_t number, const void *key)
{
	const struct sample_totals *s = ctx;

	for (size_t i = 0; i < s->o->name_count; i++) {
		if (!str_eq(s->groups.v[number].values[i],
			    sample_key_value(key, i)))
			return false;
	}
	return true;
}

static uint64_t sample_key_hash(const struct sample_key *k)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < k->s->o->name_count; i++) {
		uint64_t parts[] = { hash, hash_key(bytes_of(
						   sample_key_value(k, i))) };

		hash = hash_key((struct bytes){ .ptr = (const uint8_t *)parts,
						.len = sizeof(parts) });
	}
	return hash;
}

/* Find or add the group of a label set. */
static uint32_t sample_totals_group(struct sample_totals *s,
				    const struct label_view *labels)
{
	const struct sample_key key = { s, labels };
	uint64_t hash = sample_key_hash(&key);
	uint32_t number =
		table_find(&s->by_values, hash, sample_key_same, s, &key);
	struct str *values;

	if (number != TABLE_NONE)
		return number;
	values = arena_array(&s->arena, struct str, s->o->name_count + 1);
	for (size_t i = 0; i < s->o->name_count; i++)
		values[i] = arena_str(&s->arena, sample_key_value(&key, i));
	number = (uint32_t)s->groups.count;
	table_add(&s->by_values, hash, number);
	*vec_add(&s->groups) = (struct sample_group){ .values = values };
	return number;
}

/* Find the class of a label set, and append it to a list of classes. */
static int sample_totals_judge_set(struct sample_totals *s,
				   const struct label_view *labels,
				   struct sample_classes *to, struct err *err)
{
	size_t work = s->o->name_count * 2 * label_view_count(labels);
	bool counts =
		label_view_match(labels, s->lacking.v, s->lacking.count, &work);

	*vec_add(to) = counts ? sample_totals_group(s, labels) :
				COLUMNS_NO_CLASS;
	return limits_meter(&s->limits, &s->meter, work, 0, err);
}

/* Make room for a sum of each group. */
static void sample_totals_grow_sums(struct sample_totals *s)
{
	size_t count = s->groups.count;

	if (count <= s->sum_count)
		return;
	count += count / 2;
	s->sums.sums = mem_realloc(s->sums.sums, count, sizeof(int64_t));
	memset(s->sums.sums + s->sum_count, 0,
	       (count - s->sum_count) * sizeof(int64_t));
	s->sum_count = count;
}

/* Take the keys whose samples the filter has left out of all sums. */
static void sample_totals_drop_keys(struct sample_totals *s,
				    const struct merge *keys, size_t samples,
				    const struct pprof *left)
{
	bool *counts = mem_zalloc(samples + 1, sizeof(bool));

	for (size_t i = 0; i < left->samples.count; i++)
		counts[left->values.v[i] - 1] = true;
	for (uint32_t k = 0; k < s->key_classes.count; k++) {
		if (!counts[merge_place(keys, k)])
			s->key_classes.v[k] = COLUMNS_NO_CLASS;
	}
	mem_free(counts);
}

/*
 * Let the filter remove samples. What it takes of the budget is for this profile only.
 */
static int sample_totals_run_filter(struct sample_totals *s, struct pprof *p,
				    struct err *err)
{
	int64_t before = s->o->work->taken;
	int rc = s->o->filter(s->o->filter_ctx, p, err);

	if (s->o->work->taken > before)
		query_give(s->o->work, s->o->work->taken - before);
	return rc;
}

/* Pass the stacks of all keys of a table through the filter. */
static int sample_totals_filter_keys(struct sample_totals *s,
				     const struct querier_row *r,
				     struct err *err)
{
	struct merge *keys = merge_new();
	int rc = columns_sum_all_keys(s->columns, r->rows, r->row, keys, err);

	if (!rc) {
		struct pprof *p = merge_number(keys, 0);
		size_t samples = p->samples.count;

		rc = sample_totals_run_filter(s, p, err);
		if (!rc)
			sample_totals_drop_keys(s, keys, samples, p);
	}
	merge_free(keys);
	return rc;
}

/* The same, within the memory of the query. */
static int sample_totals_filter_table(struct sample_totals *s,
				      const struct querier_row *r,
				      struct err *err)
{
	int64_t most = (int64_t)columns_keys_memory(s->d);
	int rc = query_take(s->o->work, most, err);

	if (rc)
		return rc;
	rc = sample_totals_filter_keys(s, r, err);
	query_give(s->o->work, most);
	return rc;
}

/*
 * Find the classes of the keys of the table of a row, which is taken over; the last
 * row must not have the same table.
 */
static int sample_totals_use_table(struct sample_totals *s,
				   struct querier_row r, struct err *err)
{
	const struct dictionary *d = columns_keys_of_rows(r.rows);
	size_t sets = columns_keys_set_count(d);
	int rc = 0;

	sample_totals_forget_table(s);
	s->row = r;
	s->d = d;
	s->set_classes.count = 0;
	s->key_classes.count = 0;
	for (uint32_t i = 0; i < sets && !rc; i++) {
		struct label_view labels = columns_keys_labels(d, i);

		rc = sample_totals_judge_set(s, &labels, &s->set_classes, err);
	}
	for (uint32_t k = 0; k < columns_keys_count(d) && !rc; k++)
		*vec_add(&s->key_classes) =
			s->set_classes.v[columns_keys_set(d, k)];
	if (!rc && s->o->filter)
		rc = sample_totals_filter_table(s, &r, err);
	if (rc)
		sample_totals_forget_table(s);
	return rc;
}

/* Add the values of sample type `at` of a profile to the sums. */
static int sample_totals_sum_profile(struct sample_totals *s,
				     const struct pprof *p, size_t at,
				     struct err *err)
{
	int rc = 0;

	s->own_classes.count = 0;
	for (uint32_t i = 0; i < p->label_sets.count && !rc; i++) {
		struct label_view labels = label_view_of(p, i);

		rc = sample_totals_judge_set(s, &labels, &s->own_classes, err);
	}
	sample_totals_grow_sums(s);
	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		uint32_t class = s->own_classes.v[p->samples.v[i].labels];
		int64_t value = pprof_values(p, i)[at];

		if (!value || class == COLUMNS_NO_CLASS)
			continue;
		*vec_add(&s->sums.touched) = class;
		s->sums.sums[class] = wrap_add(s->sums.sums[class], value);
	}
	return rc;
}

/* The same for what the filter leaves of a profile, within the memory. */
static int sample_totals_sum_filtered(struct sample_totals *s,
				      const struct pprof *p, struct err *err)
{
	const struct value_type period = {
		pprof_str(p, p->period_type.type),
		pprof_str(p, p->period_type.unit),
	};
	int64_t most = 2 * (int64_t)pprof_memory(p);
	struct merge *m;
	int rc = query_take(s->o->work, most, err);

	if (rc)
		return rc;
	m = merge_new();
	merge_project(m, s->o->type, &period);
	rc = merge_add(m, p, NULL, err);
	if (!rc) {
		struct pprof *own = merge_finish(m);

		rc = sample_totals_run_filter(s, own, err);
		if (!rc && own->types.count)
			rc = sample_totals_sum_profile(s, own, 0, err);
	}
	merge_free(m);
	query_give(s->o->work, most);
	return rc;
}

/* Add a profile that has to be decoded. */
static int sample_totals_decode(struct sample_totals *s, struct querier *q,
				size_t series, int64_t ms, size_t at,
				struct err *err)
{
	struct pprof *p;
	int rc = querier_fetch(q, series, ms, &s->fetched, err);

	if (rc)
		return rc;
	rc = bounded_decode(s->decoder, s->o->work->memory,
			    buf_bytes(&s->fetched.raw), &p, err);
	if (rc)
		return rc;
	if (at >= p->types.count)
		return err_set(
			err, ERR_CORRUPT,
			"a profile has fewer sample types than its metadata");
	return s->o->filter ? sample_totals_sum_filtered(s, p, err) :
			      sample_totals_sum_profile(s, p, at, err);
}

/* Add a row to the sums, which is taken over. */
static int sample_totals_add_row(struct sample_totals *s, struct querier_row r,
				 size_t at, struct err *err)
{
	bool is_known = s->d == columns_keys_of_rows(r.rows);
	int rc = 0;

	if (!columns_keys_can_sum(r.rows, r.row)) {
		querier_row_fini(&r);
		return ERR_UNSUPPORTED;
	}
	if (!is_known)
		rc = sample_totals_use_table(s, r, err);
	if (rc)
		return rc;
	sample_totals_grow_sums(s);
	if (!columns_keys_add(r.rows, r.row, at, s->key_classes.v, &s->sums))
		rc = err_set(
			err, ERR_CORRUPT,
			"a chunk has other sample types than its metadata");
	if (is_known)
		querier_row_fini(&r);
	return rc;
}

/* Add a profile to the sums. */
static int sample_totals_add(struct sample_totals *s, struct querier *q,
			     size_t series, int64_t ms, size_t at,
			     struct err *err)
{
	bool types[TYPES_MAX] = { false };
	struct querier_row r;
	int rc;

	types[at] = true;
	rc = querier_rows(q, series, ms, types, &r, err);
	if (!rc)
		rc = sample_totals_add_row(s, r, at, err);
	return rc == ERR_UNSUPPORTED ?
		       sample_totals_decode(s, q, series, ms, at, err) :
		       rc;
}

/* Whether a counter that profiles with these types have, too, has decreased. */
static bool sample_totals_has_decreased(const struct sample_totals *s,
					const struct typeset *types,
					const int64_t *before,
					const int64_t *now, size_t k)
{
	const struct value_type *type = &s->types->types[k];

	for (size_t i = 0; i < types->count; i++) {
		if (str_eq(types->types[i].type, type->type) &&
		    str_eq(types->types[i].unit, type->unit))
			return now[k] < before[i];
	}
	return false;
}

/* Whether the process has restarted between two rows: any counter tells. */
static bool sample_totals_has_restarted(const struct sample_totals *s,
					const struct totals_row *before,
					const struct totals_row *row)
{
	const struct totals_view *t = &s->of;
	bool counts_interval = querier_counts_interval(t, row);
	const struct typeset *types = s->types;

	if (before->typeset != row->typeset) {
		types = s->before_types;
		if (typeset_decode(t->typesets[before->typeset],
				   s->before_types, NULL))
			return false;
	}
	for (size_t k = 0; k < s->types->count; k++) {
		if (value_kind(s->types->types[k].type, counts_interval) ==
			    KIND_COUNTER &&
		    sample_totals_has_decreased(s, types,
						t->totals + before->first,
						t->totals + row->first, k))
			return true;
	}
	return false;
}

/* Move the sums of a row to the totals of the groups. */
static int sample_totals_take_sums(struct sample_totals *s, struct querier *q,
				   size_t row, struct err *err)
{
	int rc;

	for (size_t i = 0; i < s->sums.touched.count; i++) {
		uint32_t number = s->sums.touched.v[i];
		struct sample_group *g = &s->groups.v[number];
		int64_t sum = s->sums.sums[number];

		s->sums.sums[number] = 0;
		if (!sum)
			continue;
		if (!g->totals) {
			rc = reading_memory_account(
				&s->memory,
				sample_totals_memory(s, q) +
					s->of.count * sizeof(int64_t),
				err);
			if (rc)
				return rc;
			g->totals = mem_zalloc(s->of.count, sizeof(int64_t));
			*vec_add(&s->present) = number;
		}
		g->totals[row] = sum;
	}
	s->sums.touched.count = 0;
	return reading_memory_account(&s->memory, sample_totals_memory(s, q),
				      err);
}

/* Decode the types of a row, and find the sample type in them. */
static int sample_totals_find_type(struct sample_totals *s,
				   const struct totals_row *row,
				   struct err *err)
{
	int rc;

	if (row->typeset == s->typeset_index)
		return 0;
	rc = typeset_decode(s->of.typesets[row->typeset], s->types, err);
	for (size_t i = 0; !rc && i < s->types->count; i++) {
		const struct value_type *t = &s->types->types[i];

		if (str_eq(t->type, s->o->type->type) &&
		    str_eq(t->unit, s->o->type->unit)) {
			s->typeset_index = row->typeset;
			s->type_at = i;
			return 0;
		}
	}
	return rc ? rc :
		    err_set(err, ERR_INVALID,
			    "a profile lacks the requested sample type");
}

/*
 * Read row number `i`; one that is damaged is left out. *before is the last row that
 * was read, NULL: none was.
 */
static int sample_totals_read_row(struct sample_totals *s, struct querier *q,
				  size_t series, size_t i,
				  const struct totals_row **before,
				  struct err *err)
{
	const struct totals_row *row = &s->of.rows[i];
	struct totals_row own = *row;
	bool restarted;
	struct err why;
	int rc = sample_totals_find_type(s, row, err);

	if (rc)
		return rc;
	restarted = *before && sample_totals_has_restarted(s, *before, row);
	rc = sample_totals_add(s, q, series, row->ms, s->type_at, &why);
	if (rc == ERR_CORRUPT || rc == ERR_NOTFOUND || rc == ERR_IO) {
		if (!s->damaged++)
			s->damage = why;
		return 0;
	}
	if (rc)
		return err_set(err, rc, "%s", why.msg);
	own.typeset = 0;
	own.first = (uint32_t)s->rows.count;
	*vec_add(&s->rows) = own;
	*vec_add(&s->restarts) = restarted;
	*before = row;
	return sample_totals_take_sums(s, q, own.first, err);
}

int sample_totals_read(struct sample_totals *s, struct querier *q, size_t i,
		       const struct totals_view *t, struct err *err)
{
	const struct totals_row *before = NULL;
	int rc = 0;

	reading_memory_watch(&s->memory, q);
	sample_totals_reset(s);
	sample_totals_note_series(s, querier_labels(q, i));
	s->of = *t;
	s->typeset_index = UINT32_MAX;
	for (size_t k = 0; k < t->count && !rc; k++) {
		rc = query_check_deadline(s->o->work, err);
		if (!rc)
			rc = sample_totals_read_row(s, q, i, k, &before, err);
	}
	return rc ? rc :
		    matchers_check_steps(s->lacking.v, s->lacking.count, err);
}

struct totals_view sample_totals_view(const struct sample_totals *s,
				      uint32_t group)
{
	return (struct totals_view){
		.rows = s->rows.v,
		.count = s->rows.count,
		.totals = s->groups.v[group].totals,
		.typesets = &s->encoded,
		.typeset_count = 1,
		.restarts = s->restarts.v,
		.increments = s->of.increments,
		.interval_ms = s->of.interval_ms,
	};
}
