/* SPDX-License-Identifier: Apache-2.0 */
#include "query/history/timeline.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "query/history/timeline_fold.h"
#include "query/merge/bucket_plan.h"

enum {
	/* The significant digits of rates, which are estimates. */
	TIMELINE_DIGITS = 12,
	/* Gaps between so many profiles tell how long they mostly are. */
	FILL_SPACINGS = 64,
	/* A gap is filled if it is at most so many times as long as most are. */
	FILL_TIMES = 3,
	/* A gap of so many milliseconds is always filled. */
	FILL_LEAST_MS = 60 * 1000,
};

int timeline_init(struct timeline *t, const struct timeline_options *o,
		  struct err *err)
{
	uint64_t span = (uint64_t)o->to - (uint64_t)o->from;

	*t = (struct timeline){ .o = o };
	if (o->step_ms <= 0)
		return err_set(err, ERR_INVALID,
			       "parameter \"step\" must be above 0");
	if (span / (uint64_t)o->step_ms >= TIMELINE_POINTS_MAX)
		return err_set(
			err, ERR_INVALID,
			"parameter \"step\": a series may have at most %d points: use a larger step or a shorter time range",
			TIMELINE_POINTS_MAX);
	t->steps = time_steps_of(o->from, o->to, o->step_ms);
	/* What has a mean needs a time of which it is the mean. */
	if (o->from == o->to && (o->rate || o->fill_ms))
		t->steps.to = time_steps_add(o->to, o->step_ms);
	t->types = mem_new(struct typeset);
	return 0;
}

void timeline_range(const struct timeline_options *o, int64_t *from,
		    int64_t *to)
{
	int64_t before = o->fill_ms;

	/*
	 * A profile that began before the range may last into it, and a counter
	 * has grown since the profile before.
	 */
	if ((o->rate || o->mean) && before < TIMELINE_REACH_MS)
		before = TIMELINE_REACH_MS;
	*from = time_steps_add(o->from, -before);
	*to = time_steps_add(o->to, o->fill_ms);
}

static void group_fini(struct timeline_group *g)
{
	labels_unref(g->labels);
	for (size_t i = 0; i < g->lines.count; i++) {
		mem_free(g->lines.v[i].values);
		mem_free(g->lines.v[i].known);
		mem_free(g->lines.v[i].profiles);
		mem_free(g->lines.v[i].covered);
		mem_free(g->lines.v[i].held);
		mem_free(g->lines.v[i].held_until);
		mem_free(g->lines.v[i].held_since);
		mem_free(g->lines.v[i].first);
		mem_free(g->lines.v[i].end);
		mem_free(g->lines.v[i].sum);
		mem_free(g->lines.v[i].count);
		mem_free(g->lines.v[i].seconds);
	}
	for (size_t i = 0; i < g->lines.count; i++)
		buckets_fini(&g->lines.v[i].buckets);
	vec_fini(&g->lines);
	table_fini(&g->index);
}

void timeline_fini(struct timeline *t)
{
	for (size_t i = 0; i < t->groups.count; i++)
		group_fini(&t->groups.v[i]);
	vec_fini(&t->groups);
	arena_fini(&t->text);
	table_fini(&t->index);
	vec_fini(&t->places);
	mem_free(t->types);
}

/*
 * Account for `work` units of work, and for the memory of the groups and lines,
 * to which the caller has added what it is about to allocate.
 */
static int timeline_meter(struct timeline *t, size_t work, struct err *err)
{
	return limits_meter(&t->o->limits, &t->meter, work, t->memory, err);
}

/*
 * Find the labels of the group that a series belongs to. *out is NULL when the
 * series has none of the group_by labels; otherwise it is a reference that the
 * caller owns.
 */
static int group_labels(const struct timeline *t, struct labels *labels,
			struct labels **out, struct err *err)
{
	struct labels_builder b = { 0 };
	struct str rest = t->o->group_by;
	int rc = 0;

	*out = NULL;
	if (!rest.len) {
		*out = labels_ref(labels);
		return 0;
	}
	while (rest.len) {
		struct str name = str_cut(rest, ',', &rest);

		if (name.len)
			labels_set(&b, name, labels_get(labels, name));
	}
	if (b.count)
		rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/*
 * Compare the labels of group i with `key`, for the hash table. NULL means the
 * group without labels.
 */
static bool same_group(const void *ctx, uint32_t i, const void *key)
{
	const struct timeline *t = ctx;
	const struct labels *a = t->groups.v[i].labels;
	const struct labels *b = key;

	if (!a || !b)
		return a == b;
	return bytes_eq(labels_bytes(a), labels_bytes(b));
}

/*
 * Find or create the group with these labels; NULL means the group without
 * labels. Takes over the caller's reference. Returns NULL when the group does
 * not exist and `admit` is false. The result is valid until the next group is
 * added.
 */
static struct timeline_group *find_group(struct timeline *t,
					 struct labels *labels, bool admit)
{
	uint64_t hash = labels ? labels->hash : 0;
	uint32_t i = table_find(&t->index, hash, same_group, t, labels);

	if (i != TABLE_NONE || !admit) {
		labels_unref(labels);
		return i == TABLE_NONE ? NULL : &t->groups.v[i];
	}
	table_add(&t->index, hash, (uint32_t)t->groups.count);
	*vec_add(&t->groups) = (struct timeline_group){ .labels = labels };
	t->memory += sizeof(struct timeline_group);
	return &t->groups.v[t->groups.count - 1];
}

/* Return the memory of a new line with a name of this length, in bytes. */
static size_t line_memory(const struct timeline *t, size_t name_len)
{
	size_t numbers = t->o->mean ? 2 : 1;

	return t->steps.count * (9 * sizeof(double) + sizeof(bool) +
				 numbers * sizeof(uint32_t)) +
	       sizeof(struct timeline_line) + 2 * sizeof(*t->index.slots) +
	       arena_room(name_len + 1);
}

/*
 * Add a line for a sample type to a group, with an element for each step, after
 * asking the limits for its memory.
 */
static int timeline_add_line(struct timeline *t, struct timeline_group *g,
			     struct str name, enum value_kind kind,
			     struct err *err)
{
	size_t n = t->steps.count;
	int rc;

	t->memory += line_memory(t, name.len);
	rc = timeline_meter(t, 1, err);
	if (rc)
		return rc;
	table_add(&g->index, hash_key(bytes_of(name)),
		  (uint32_t)g->lines.count);
	*vec_add(&g->lines) = (struct timeline_line){
		.name = arena_str(&t->text, name),
		.kind = kind,
		.values = mem_zalloc(n, sizeof(double)),
		.known = mem_zalloc(n, sizeof(bool)),
		.profiles = t->o->mean ? mem_zalloc(n, sizeof(uint32_t)) : NULL,
		.covered = mem_zalloc(n, sizeof(double)),
		.held = mem_zalloc(n, sizeof(double)),
		.held_until = mem_zalloc(n, sizeof(double)),
		.held_since = mem_zalloc(n, sizeof(double)),
		.first = mem_zalloc(n, sizeof(double)),
		.end = mem_zalloc(n, sizeof(double)),
		.sum = mem_zalloc(n, sizeof(double)),
		.count = mem_zalloc(n, sizeof(uint32_t)),
		.seconds = mem_zalloc(n, sizeof(double)),
	};
	return 0;
}

/* Compare the name of line i with `key`, for the hash table. */
static bool same_line(const void *ctx, uint32_t i, const void *key)
{
	const struct timeline_group *g = ctx;
	const struct str *name = key;

	return str_eq(g->lines.v[i].name, *name);
}

/* Set *out to the number of the line of a sample type; creates the line. */
static int find_line(struct timeline *t, struct timeline_group *g,
		     const struct value_type *type, enum value_kind kind,
		     uint32_t *out, struct err *err)
{
	/*
	 * The name is built in a buffer that knows its length, because types
	 * and units may contain any byte.
	 */
	struct buf text = { 0 };
	struct str name;
	uint32_t i;
	int rc = 0;

	buf_add(&text, type->type.ptr, type->type.len);
	buf_byte(&text, '/');
	buf_add(&text, type->unit.ptr, type->unit.len);
	name = str_from(buf_bytes(&text));
	i = table_find(&g->index, hash_key(bytes_of(name)), same_line, g,
		       &name);
	if (i == TABLE_NONE) {
		i = (uint32_t)g->lines.count;
		rc = timeline_add_line(t, g, name, kind, err);
	} else if (!g->lines.v[i].has_last) {
		/*
		 * One series may count from its start, and another one what
		 * happened in each interval: both are increases.
		 */
		g->lines.v[i].kind = kind;
	}
	if (!rc)
		*out = i;
	buf_fini(&text);
	return rc;
}

/*
 * Set t->places to the indices of the lines for the sample types of a row (the
 * time and totals of one profile). All rows with this type set have the same
 * lines.
 */
static int find_lines(struct timeline *t, struct timeline_group *g,
		      const struct totals_view *v, const struct totals_row *row,
		      struct err *err)
{
	int rc = typeset_decode(v->typesets[row->typeset], t->types, err);

	t->places.count = 0;
	for (size_t k = 0; k < t->types->count && !rc; k++) {
		const struct value_type *type = &t->types->types[k];

		rc = find_line(
			t, g, type,
			value_kind(type->type, querier_counts_interval(v, row)),
			vec_add(&t->places), err);
	}
	return rc;
}

/*
 * Whether any counter decreased since the previous profile. If so, the process
 * has restarted, and all its counters began again at 0.
 */
static bool timeline_has_restarted(const struct timeline *t,
				   const struct timeline_group *g,
				   const int64_t *now)
{
	for (size_t k = 0; k < t->places.count; k++) {
		const struct timeline_line *l = &g->lines.v[t->places.v[k]];

		if (l->kind == KIND_COUNTER && l->has_last && now[k] < l->last)
			return true;
	}
	return false;
}

/* Whether a line gets buckets. */
static bool has_buckets(const struct timeline *t, const struct timeline_line *l)
{
	return t->o->buckets && l->kind != KIND_COUNTER;
}

/*
 * Put a profile's total into the distribution of totals: the first pass notes
 * it for the bounds of the buckets, the second pass counts it.
 */
static void timeline_put_in_bucket(const struct timeline *t,
				   struct timeline_line *l, int64_t ms,
				   int64_t now)
{
	if (!has_buckets(t, l) || !time_steps_has(&t->steps, ms))
		return;
	if (t->counting)
		buckets_count(&l->buckets, time_steps_at(&t->steps, ms), now);
	else
		buckets_note(&l->buckets, now);
}

/*
 * Return what a profile's total `now` adds. For a counter, it is the increase
 * since the previous profile. `restarted` is true if the process restarted in
 * between: the increase is then all of `now`. The first value of a counter adds
 * nothing, because its increase is unknown.
 */
static double timeline_value(struct timeline_line *l, int64_t now,
			     bool restarted)
{
	double v = (double)now;

	if (l->kind == KIND_COUNTER)
		v = !l->has_last ? 0 : restarted ? v : v - (double)l->last;
	l->last = now;
	l->has_last = true;
	return v;
}

/*
 * Add all profiles of one series to the scratch fields of the group's lines.
 * The lines are looked up again only when the type set changes.
 */
static int add_rows(struct timeline *t, struct timeline_group *g,
		    const struct totals_view *v,
		    const struct coverage_node *node, struct err *err)
{
	uint32_t typeset = UINT32_MAX;
	int rc = 0;

	for (size_t i = 0; i < v->count && !rc; i++) {
		const struct totals_row *row = &v->rows[i];
		const int64_t *now = v->totals + row->first;
		struct fold_row at = fold_row_of(t, v, i, node);
		bool restarted;

		if (row->typeset != typeset)
			rc = find_lines(t, g, v, row, err);
		if (!rc)
			rc = timeline_meter(
				t, 1 + t->places.count * (1 + at.steps), err);
		if (rc)
			break;
		typeset = row->typeset;
		assert(g->lines.v || !t->places.count);
		restarted = v->restarts ? v->restarts[i] :
					  timeline_has_restarted(t, g, now);
		for (size_t k = 0; k < t->places.count; k++) {
			struct timeline_line *l = &g->lines.v[t->places.v[k]];
			double value = timeline_value(l, now[k], restarted);

			timeline_put_in_bucket(t, l, row->ms, now[k]);
			if (!t->counting)
				fold_add_row(t, l, &at, value);
		}
	}
	return rc;
}

/* Add the series in the scratch fields of a group's lines to the lines. */
static int timeline_fold_all(struct timeline *t, struct timeline_group *g,
			     const struct coverage_node *node, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < g->lines.count && !rc; i++) {
		struct timeline_line *l = &g->lines.v[i];

		rc = timeline_meter(t, l->has_last ? t->steps.count : 1, err);
		if (!rc)
			timeline_fold(t, l, node);
	}
	return rc;
}

/* Whether any step of a group has a value. */
static bool timeline_is_known(const struct timeline *t,
			      const struct timeline_group *g)
{
	for (size_t i = 0; i < g->lines.count; i++) {
		const bool *known = g->lines.v[i].known;

		if (memchr(known, true, t->steps.count * sizeof(*known)))
			return true;
	}
	return !g->lines.count;
}

/* Drop the group that was added last. */
static void timeline_drop_last(struct timeline *t)
{
	uint32_t last = (uint32_t)t->groups.count - 1;
	struct timeline_group *g = &t->groups.v[last];

	table_remove(&t->index, g->labels ? g->labels->hash : 0, last);
	group_fini(g);
	t->groups.count--;
}

/* Whether anything of a series may be in the range. */
static bool timeline_has_value(const struct timeline *t,
			       const struct totals_view *v,
			       const struct coverage_node *node)
{
	for (size_t i = 0; i < v->count; i++) {
		if (fold_row_of(t, v, i, node).steps)
			return true;
	}
	return false;
}

/* Find out whether any profile of a series has a duration, of a millisecond at least. */
static void timeline_set_timed(struct timeline *t, const struct totals_view *v)
{
	t->is_timed = false;
	for (size_t i = 0; i < v->count && !t->is_timed; i++)
		t->is_timed = v->rows[i].duration_ns >= 1000000;
}

/* Find the largest gap of a series that is filled. */
static void timeline_set_fill(struct timeline *t, const struct totals_view *v)
{
	int64_t spacings[FILL_SPACINGS];
	size_t gaps = v->count ? v->count - 1 : 0;
	size_t count = gaps < FILL_SPACINGS ? gaps : FILL_SPACINGS;
	int64_t typical;

	t->fill_ms = t->o->fill_ms;
	t->spacing_ms = 0;
	if (!t->o->fill_typical)
		return;
	/* Of many gaps, some from everywhere. */
	for (size_t k = 0; k < count; k++) {
		size_t i = k * gaps / count;

		spacings[k] = v->rows[i + 1].ms - v->rows[i].ms;
	}
	typical = bucket_plan_spacing(spacings, count);
	if (!typical || typical > t->fill_ms / FILL_TIMES)
		return;
	t->spacing_ms = typical;
	typical *= FILL_TIMES;
	t->fill_ms = typical > FILL_LEAST_MS ? typical : FILL_LEAST_MS;
}

int timeline_add(struct timeline *t, struct labels *labels,
		 const struct totals_view *view,
		 const struct coverage_node *node, bool admit, struct err *err)
{
	size_t groups = t->groups.count;
	struct timeline_group *g;
	struct labels *of_group;
	int rc;

	timeline_set_timed(t, view);
	timeline_set_fill(t, view);
	if (!timeline_has_value(t, view, node))
		return 0;
	rc = group_labels(t, labels, &of_group, err);
	if (rc)
		return rc;
	g = find_group(t, of_group, admit);
	if (!g) {
		/* Groups that the first pass dropped have no value. */
		t->left_out = t->left_out || !t->counting;
		return 0;
	}
	rc = add_rows(t, g, view, node, err);
	if (!rc)
		rc = timeline_fold_all(t, g, node, err);
	/* Nothing of the series is in the range after all. */
	if (!rc && t->groups.count > groups && !timeline_is_known(t, g))
		timeline_drop_last(t);
	return rc;
}

/* Return the memory that the buckets will use, in bytes. */
static size_t timeline_buckets_memory(const struct timeline *t)
{
	size_t lines = 0;

	for (size_t i = 0; i < t->groups.count; i++) {
		const struct timeline_group *g = &t->groups.v[i];

		for (size_t k = 0; k < g->lines.count; k++)
			lines += has_buckets(t, &g->lines.v[k]);
	}
	return lines * t->o->buckets * t->steps.count * sizeof(uint32_t);
}

int timeline_begin_counting(struct timeline *t, struct err *err)
{
	int rc = limits_spend(&t->o->limits, timeline_buckets_memory(t), err);

	if (rc)
		return rc;
	t->counting = true;
	for (size_t i = 0; i < t->groups.count; i++) {
		struct timeline_group *g = &t->groups.v[i];

		for (size_t k = 0; k < g->lines.count; k++) {
			struct timeline_line *l = &g->lines.v[k];

			if (has_buckets(t, l))
				buckets_begin(&l->buckets, t->o->buckets,
					      t->steps.count,
					      str_ends(l->name, "/bytes"));
		}
	}
	return 0;
}

/* Return for how long in a step any series holds a value, in seconds. */
static double timeline_line_held(const struct timeline *t,
				 const struct timeline_line *l, size_t at)
{
	double seconds = l->held_until[at] + l->held_since[at] -
			 time_steps_seconds(&t->steps, at);

	return l->held_until[at] > 0 && seconds > 0 ? seconds : 0;
}

double timeline_line_value(const struct timeline *t,
			   const struct timeline_line *l, size_t at)
{
	double held = timeline_line_held(t, l, at);

	if (l->profiles)
		return l->values[at] / l->profiles[at];
	return l->values[at] + (held > 0 ? l->held[at] / held : 0);
}

/* A step without profiles is NaN, which is written as null. */
static int timeline_write_line(struct timeline *t,
			       const struct timeline_line *l, struct json *j,
			       struct err *err)
{
	json_key_str(j, l->name);
	json_begin(j, '[');
	for (size_t i = 0; i < t->steps.count; i++) {
		double v = l->known[i] ? timeline_line_value(t, l, i) :
					 (double)NAN;

		if (t->o->rate)
			json_rounded(j, v, TIMELINE_DIGITS);
		else
			json_double(j, v);
	}
	json_end(j, ']');
	return timeline_meter(t, t->steps.count, err);
}

/* Write which shares of the steps rates tell of, in hundredths. */
static int timeline_write_covered(struct timeline *t,
				  const struct timeline_group *g,
				  struct json *j, struct err *err)
{
	int rc = 0;

	json_key(j, "covered");
	json_begin(j, '{');
	for (size_t i = 0; i < g->lines.count && !rc; i++) {
		const struct timeline_line *l = &g->lines.v[i];

		json_key_str(j, l->name);
		json_begin(j, '[');
		for (size_t k = 0; k < t->steps.count; k++)
			json_rounded(j, l->covered[k], 2);
		json_end(j, ']');
		rc = timeline_meter(t, t->steps.count, err);
	}
	json_end(j, '}');
	return rc;
}

/* Write the distributions of totals. */
static int write_buckets(struct timeline *t, const struct timeline_group *g,
			 struct json *j, struct err *err)
{
	int rc = 0;

	json_key(j, "buckets");
	json_begin(j, '{');
	for (size_t i = 0; i < g->lines.count && !rc; i++) {
		if (!has_buckets(t, &g->lines.v[i]))
			continue;
		json_key_str(j, g->lines.v[i].name);
		buckets_json(&g->lines.v[i].buckets, j);
		rc = timeline_meter(t, t->o->buckets * t->steps.count, err);
	}
	json_end(j, '}');
	return rc;
}

/* Write one group as a JSON object. */
static int write_group(struct timeline *t, const struct timeline_group *g,
		       struct json *j, struct err *err)
{
	int rc = timeline_meter(t, t->steps.count, err);

	json_begin(j, '{');
	json_key(j, "labels");
	if (g->labels) {
		labels_json(g->labels, j);
	} else {
		json_begin(j, '{');
		json_end(j, '}');
	}
	json_key(j, "timestamps");
	json_begin(j, '[');
	for (size_t i = 0; i < t->steps.count; i++)
		json_int(j, time_steps_begin(&t->steps, i));
	json_end(j, ']');
	json_key(j, "totals");
	json_begin(j, '{');
	for (size_t i = 0; i < g->lines.count && !rc; i++)
		rc = timeline_write_line(t, &g->lines.v[i], j, err);
	json_end(j, '}');
	if (t->o->rate && !rc)
		rc = timeline_write_covered(t, g, j, err);
	json_key(j, "kinds");
	json_begin(j, '{');
	for (size_t i = 0; i < g->lines.count; i++) {
		json_key_str(j, g->lines.v[i].name);
		json_text(j, value_kind_name(g->lines.v[i].kind));
	}
	json_end(j, '}');
	if (t->o->buckets && !rc)
		rc = write_buckets(t, g, j, err);
	json_end(j, '}');
	return rc;
}

/*
 * Comparison for the order of the output: the group without labels first, then
 * by labels.
 */
static int timeline_by_labels(const void *a, const void *b)
{
	const struct labels *x = ((const struct timeline_group *)a)->labels;
	const struct labels *y = ((const struct timeline_group *)b)->labels;

	if (!x || !y)
		return (x != NULL) - (y != NULL);
	return labels_cmp(x, y);
}

int timeline_json(struct timeline *t, struct json *j, struct err *err)
{
	int rc = 0;

	if (t->groups.count)
		qsort(t->groups.v, t->groups.count, sizeof(*t->groups.v),
		      timeline_by_labels);
	json_begin(j, '[');
	for (size_t i = 0; i < t->groups.count && !rc; i++)
		rc = write_group(t, &t->groups.v[i], j, err);
	json_end(j, ']');
	return rc;
}
