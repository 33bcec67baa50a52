/* SPDX-License-Identifier: Apache-2.0 */
#include "web/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

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
			"more than %d points a series: take a larger step, or a shorter range",
			TIMELINE_POINTS_MAX);
	t->points = (size_t)(span / (uint64_t)o->step_ms) + 1;
	t->types = mem_new(struct typeset);
	return 0;
}

static void group_fini(struct timeline_group *g)
{
	labels_unref(g->labels);
	for (size_t i = 0; i < g->lines.count; i++) {
		mem_free(g->lines.v[i].values);
		mem_free(g->lines.v[i].known);
	}
	vec_fini(&g->lines);
}

void timeline_fini(struct timeline *t)
{
	for (size_t i = 0; i < t->groups.count; i++)
		group_fini(&t->groups.v[i]);
	vec_fini(&t->groups);
	arena_fini(&t->text);
	mem_free(t->types);
	mem_free(t->sum);
	mem_free(t->count);
}

/* The labels of the group that a series is of; the caller owns a reference. */
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

static bool same_group(const struct labels *a, const struct labels *b)
{
	if (!a || !b)
		return a == b;
	return bytes_eq(labels_bytes(a), labels_bytes(b));
}

/* Takes the reference on labels (NULL: none of the labels is there). */
static struct timeline_group *find_group(struct timeline *t,
					 struct labels *labels)
{
	struct timeline_group *g;

	/* Series come in the order of labels: often it is the last one. */
	for (size_t i = t->groups.count; i > 0; i--) {
		g = &t->groups.v[i - 1];
		if (same_group(g->labels, labels)) {
			labels_unref(labels);
			return g;
		}
		if (!t->o->group_by.len)
			break;
	}
	g = vec_add(&t->groups);
	*g = (struct timeline_group){ .labels = labels };
	t->memory += sizeof(*g);
	return g;
}

static struct timeline_line *find_line(struct timeline *t,
				       struct timeline_group *g,
				       const struct value_type *type,
				       enum value_kind kind)
{
	struct timeline_line *l;
	char *name;

	for (size_t i = 0; i < g->lines.count; i++) {
		struct str n = g->lines.v[i].name;

		if (n.len == type->type.len + 1 + type->unit.len &&
		    str_starts(n, type->type) && n.ptr[type->type.len] == '/' &&
		    !memcmp(n.ptr + type->type.len + 1, type->unit.ptr,
			    type->unit.len))
			return &g->lines.v[i];
	}
	name = arena_printf(&t->text, "%.*s/%.*s", STR_ARG(type->type),
			    STR_ARG(type->unit));
	l = vec_add(&g->lines);
	*l = (struct timeline_line){
		.name = str_of(name),
		.kind = kind,
		.values = mem_zalloc(t->points, sizeof(double)),
		.known = mem_zalloc(t->points, sizeof(bool)),
	};
	t->memory += t->points * (sizeof(double) + sizeof(bool));
	return l;
}

/* A run of rows with one type set. */
struct stretch {
	const struct totals_view *view;
	size_t first;
	size_t count;
	bool has_duration;
	enum value_kind kinds[TYPES_MAX];
};

static size_t step_of(const struct timeline *t, int64_t ms)
{
	return (size_t)(((uint64_t)ms - (uint64_t)t->o->from) /
			(uint64_t)t->o->step_ms);
}

static void start_work(struct timeline *t, size_t types)
{
	size_t want = types * t->points;

	if (want > t->work) {
		mem_free(t->sum);
		mem_free(t->count);
		t->sum = mem_alloc(want * sizeof(*t->sum));
		t->count = mem_alloc(want * sizeof(*t->count));
		t->memory += (want - t->work) *
			     (sizeof(*t->sum) + sizeof(*t->count));
		t->work = want;
	}
	memset(t->sum, 0, want * sizeof(*t->sum));
	memset(t->count, 0, want * sizeof(*t->count));
}

/* What a row adds, seen after the one before it. */
static double contribution(enum value_kind kind, const int64_t *before,
			   int64_t now, bool restarted)
{
	if (kind != KIND_COUNTER)
		return (double)now;
	if (!before)
		return 0;
	return restarted ? (double)now : (double)now - (double)*before;
}

static void add_rows(struct timeline *t, const struct stretch *s)
{
	const struct totals_view *v = s->view;
	size_t types = t->types->count;

	for (size_t i = s->first; i < s->first + s->count; i++) {
		const int64_t *now = v->totals + v->rows[i].first;
		const int64_t *before =
			i > s->first ? v->totals + v->rows[i - 1].first : NULL;
		bool restarted = before && aggregate_restarted(s->kinds, before,
							       now, types);
		size_t at = step_of(t, v->rows[i].ms);

		for (size_t k = 0; k < types; k++) {
			t->sum[k * t->points + at] += contribution(
				s->kinds[k], before ? before + k : NULL, now[k],
				restarted);
			t->count[k * t->points + at]++;
		}
	}
}

static double finish_point(const struct timeline *t, enum value_kind kind,
			   double sum, uint32_t count)
{
	if (kind == KIND_STATE)
		return sum / count;
	return t->o->rate ? sum * 1000 / (double)t->o->step_ms : sum;
}

static void fold_work(struct timeline *t, struct timeline_group *g,
		      const struct stretch *s)
{
	for (size_t k = 0; k < t->types->count; k++) {
		struct timeline_line *l =
			find_line(t, g, &t->types->types[k], s->kinds[k]);

		for (size_t at = 0; at < t->points; at++) {
			uint32_t n = t->count[k * t->points + at];

			if (!n)
				continue;
			l->known[at] = true;
			l->values[at] += finish_point(
				t, s->kinds[k], t->sum[k * t->points + at], n);
		}
	}
}

static int add_stretch(struct timeline *t, struct timeline_group *g,
		       struct stretch *s, struct err *err)
{
	const struct totals_row *row = &s->view->rows[s->first];
	int rc = typeset_decode(s->view->typesets[row->typeset], t->types, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < t->types->count; i++)
		s->kinds[i] =
			value_kind(t->types->types[i].type, s->has_duration);
	start_work(t, t->types->count);
	add_rows(t, s);
	fold_work(t, g, s);
	return 0;
}

int timeline_add(struct timeline *t, struct labels *labels,
		 const struct totals_view *view, struct err *err)
{
	struct stretch s = { .view = view };
	struct timeline_group *g;
	struct labels *of_group;
	int rc;

	if (!view->count)
		return 0;
	rc = group_labels(t, labels, &of_group, err);
	if (rc)
		return rc;
	g = find_group(t, of_group);
	for (size_t i = 0; i < view->count && !rc; i += s.count) {
		const struct totals_row *first = &view->rows[i];

		s.first = i;
		s.count = 1;
		s.has_duration = first->duration_ns > 0;
		while (i + s.count < view->count &&
		       view->rows[i + s.count].typeset == first->typeset &&
		       (view->rows[i + s.count].duration_ns > 0) ==
			       s.has_duration)
			s.count++;
		rc = add_stretch(t, g, &s, err);
	}
	return rc;
}

static void write_line(const struct timeline *t, const struct timeline_line *l,
		       struct json *j)
{
	json_key_str(j, l->name);
	json_begin(j, '[');
	for (size_t i = 0; i < t->points; i++)
		json_double(j, l->known[i] ? l->values[i] : (double)NAN);
	json_end(j, ']');
}

static void write_group(const struct timeline *t,
			const struct timeline_group *g, struct json *j)
{
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
	for (size_t i = 0; i < t->points; i++)
		json_int(j, t->o->from + (int64_t)i * t->o->step_ms);
	json_end(j, ']');
	json_key(j, "totals");
	json_begin(j, '{');
	for (size_t i = 0; i < g->lines.count; i++)
		write_line(t, &g->lines.v[i], j);
	json_end(j, '}');
	json_key(j, "kinds");
	json_begin(j, '{');
	for (size_t i = 0; i < g->lines.count; i++) {
		json_key_str(j, g->lines.v[i].name);
		json_text(j, value_kind_name(g->lines.v[i].kind));
	}
	json_end(j, '}');
	json_end(j, '}');
}

static int by_labels(const void *a, const void *b)
{
	const struct labels *x = ((const struct timeline_group *)a)->labels;
	const struct labels *y = ((const struct timeline_group *)b)->labels;

	if (!x || !y)
		return (x != NULL) - (y != NULL);
	return labels_cmp(x, y);
}

void timeline_json(struct timeline *t, struct json *j)
{
	if (t->groups.count)
		qsort(t->groups.v, t->groups.count, sizeof(*t->groups.v),
		      by_labels);
	json_begin(j, '[');
	for (size_t i = 0; i < t->groups.count; i++)
		write_group(t, &t->groups.v[i], j);
	json_end(j, ']');
}
