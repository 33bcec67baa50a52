/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/answer_points.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/enc.h"
#include "base/wire_write.h"
#include "pprof/merge/merge.h"
#include "pyroscope/answer/heat_cells.h"
#include "pyroscope/answer/point_exemplars.h"
#include "pyroscope/answer/sample_filter.h"
#include "pyroscope/names/profile_uuid.h"
#include "pyroscope/names/service.h"
#include "pyroscope/wire/messages.h"
#include "query/history/sample_totals.h"
#include "query/history/timeline.h"
#include "query/merge/symbolize.h"
#include "query/select/coverage.h"

/* Heartbeats are read from so long before the profiles. */
#define POINTS_BEATS_MS 3600000

/* Largest number of steps of a heat map, as in Pyroscope. */
#define HEAT_STEPS_MAX 64

/* The longest step. */
#define STEP_MAX_MS 1e13

/* A timeline of the profiles of a request. */
struct points {
	struct pyroscope_call *call;
	struct profile_query query;
	struct timeline_options options;
	struct timeline timeline;
	struct coverage coverage;
	struct querier *q;
	struct growth_meter meter;
	/*
	 * The labels by which the timeline groups: g0, g1 … stand for those of
	 * the request, whose names may have commas.
	 */
	struct buf group_by;
	/*
	 * The labels of the request by which samples are grouped, and which of
	 * them is which; and which samples count.
	 */
	VEC(struct str) sample_names;
	VEC(uint32_t) sample_places; /* by label: UINT32_MAX: not of samples */
	struct sample_filter filter;
	struct sample_totals_options sampling;
	struct sample_totals samples;
	/* The profiles of a series that have the profile type, and scratch. */
	VEC(struct totals_row) rows;
	struct typeset *types;
	struct labels *no_labels; /* a set without any of the groups' labels */
	bool has_exemplars;       /* the request wants them */
	struct point_exemplars exemplars;
	bool is_heatmap; /* SelectHeatmap: cells in place of values */
	struct heat_cells heat;
};

/* A group with what it is sorted by. */
struct points_group {
	const struct timeline_group *group;
	const struct timeline_line *line;
	double total;
};

/* Write the name that stands for a label of group_by. */
static struct str points_name(size_t i, char out[16])
{
	snprintf(out, 16, "g%zu", i);
	return str_of(out);
}

/* Make the list of labels by which the timeline groups. */
static void points_read_groups(struct points *p)
{
	char name[16];

	/* With a comma alone, all series are one group. */
	buf_str(&p->group_by, ",");
	for (size_t i = 0; i < p->call->request.group_by.count; i++) {
		struct str text = points_name(i, name);

		buf_add(&p->group_by, text.ptr, text.len);
		buf_byte(&p->group_by, ',');
	}
	p->options.group_by = str_from(buf_bytes(&p->group_by));
}

/* Find the labels that samples may have. */
static void points_read_sample_names(struct points *p)
{
	const struct sample_label_test test = call_sample_labels(p->call);
	const struct request_texts *names = &p->call->request.group_by;

	for (size_t i = 0; i < names->count; i++) {
		bool is_possible = sample_label_is_possible(&test, names->v[i]);

		*vec_add(&p->sample_places) =
			is_possible ? (uint32_t)p->sample_names.count :
				      UINT32_MAX;
		if (is_possible)
			*vec_add(&p->sample_names) = names->v[i];
	}
}

/*
 * Keep the samples of a profile that the request selects. Its addresses get names
 * before, as those of a flame graph do.
 */
static int points_filter_samples(void *ctx, struct pprof *profile,
				 struct err *err)
{
	struct points *p = ctx;
	int64_t now = clock_mono_ns();
	int64_t left = p->call->work->deadline_ns - now;
	struct symbolize names = { .symbolizer = p->call->symbolizer,
				   .limits = p->options.limits,
				   .deadline_ns = now + left / 2 };
	int rc = profile_symbolize(&names, profile, err);

	/* Without a name, a frame would count as that of another function. */
	if (!rc && names.late.code)
		rc = err_set(err, names.late.code,
			     "functions could not be named: %s",
			     names.late.msg);
	return rc ? rc :
		    sample_filter_apply(&p->filter, profile, &p->options.limits,
					err);
}

/* Find out which samples count. */
static int points_read_samples(struct points *p, struct err *err)
{
	int rc = sample_filter_read(&p->filter, &p->call->request, err);

	if (rc)
		return rc;
	points_read_sample_names(p);
	p->sampling = (struct sample_totals_options){
		.work = p->call->work,
		.type = &p->query.id.value,
		.matchers = p->query.sample_matchers,
		.matcher_count = p->query.sample_count,
		.names = p->sample_names.v,
		.name_count = p->sample_names.count,
		.filter = sample_filter_is_set(&p->filter) ?
				  points_filter_samples :
				  NULL,
		.filter_ctx = p,
	};
	sample_totals_init(&p->samples, &p->sampling);
	return 0;
}

/* ERR_INVALID: the steps do not fit the range. */
static int points_read_steps(struct points *p, struct err *err)
{
	const struct profile_request *r = &p->call->request;
	double step_ms = r->step * 1000;
	int most = p->is_heatmap ? HEAT_STEPS_MAX : TIMELINE_POINTS_MAX;
	int64_t range;

	if (!(step_ms >= 1) || step_ms > STEP_MAX_MS)
		return err_set(
			err, ERR_INVALID,
			"the step must be at least 1 ms, and at most 300 years");
	if (__builtin_sub_overflow(r->end, r->start, &range) || range < 0)
		return err_set(err, ERR_INVALID,
			       "the start must not be after the end");
	p->options.step_ms = llround(step_ms);
	if (range / p->options.step_ms >= most)
		return err_set(
			err, ERR_INVALID,
			"the range has more than %d steps: use a step of at least %" PRId64
			" seconds",
			most, range / 1000 / most + 1);
	/* The first point is of the step that ends at the start. */
	p->options.from = time_steps_add(r->start, 1 - p->options.step_ms);
	p->options.to = r->start + (range - range % p->options.step_ms);
	p->options.mean = p->call->request.aggregation == AGGREGATION_AVERAGE;
	p->options.rate = !p->options.mean;
	return 0;
}

/* Make a set of labels that is in no group. */
static int points_no_labels(struct labels **out, struct err *err)
{
	struct labels_builder b = { 0 };
	int rc;

	labels_set(&b, str_of("none"), str_of("of them"));
	rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/* Return the value of label `i` of the request. */
static struct str points_label(const struct points *p, const struct labels *ls,
			       const struct str *of_samples, size_t i)
{
	struct str name = p->call->request.group_by.v[i];
	struct str value = service_is_label(name)   ? service_of(ls) :
			   str_is(name, LABEL_NAME) ? p->query.id.name :
						      labels_get(ls, name);
	uint32_t place = p->sample_places.v[i];

	return value.len || !of_samples || place == UINT32_MAX ?
		       value :
		       of_samples[place];
}

/*
 * Make the labels by which a series is grouped; `of_samples`: the values that its
 * samples have of p->sample_names, NULL: all of its samples count. *out is NULL if
 * the series has none of those of the request.
 */
static int points_labels(const struct points *p, const struct labels *ls,
			 const struct str *of_samples, struct labels **out,
			 struct err *err)
{
	const struct request_texts *names = &p->call->request.group_by;
	struct labels_builder b = { 0 };
	char text[16];
	int rc = 0;

	*out = NULL;
	for (size_t i = 0; i < names->count; i++) {
		struct str value = points_label(p, ls, of_samples, i);

		labels_set(&b, points_name(i, text), value);
	}
	if (b.count)
		rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/*
 * Keep only the profiles of a view that have the profile type of the request:
 * others of the series may have another period, and so another type.
 */
static int points_filter(struct points *p, struct totals_view *t,
			 struct err *err)
{
	uint32_t typeset = UINT32_MAX;
	bool is_wanted = false;
	int rc = 0;

	p->rows.count = 0;
	for (size_t i = 0; i < t->count && !rc; i++) {
		size_t at;

		if (t->rows[i].typeset != typeset) {
			typeset = t->rows[i].typeset;
			rc = typeset_decode(t->typesets[typeset], p->types,
					    err);
			is_wanted = !rc &&
				    merge_projects(p->types, &p->query.id.value,
						   &p->query.id.period, &at);
		}
		if (is_wanted)
			*vec_add(&p->rows) = t->rows[i];
	}
	t->rows = p->rows.v;
	t->count = p->rows.count;
	return rc;
}

/* Add totals of a series to the timeline. */
static int points_add_view(struct points *p, struct labels *own,
			   const struct str *of_samples,
			   const struct totals_view *t,
			   const struct coverage_node *node, struct err *err)
{
	struct labels *shown = NULL;
	int rc = points_labels(p, own, of_samples, &shown, err);

	/* A series without the labels is in the group without labels. */
	if (!rc && !shown)
		shown = labels_ref(p->no_labels);
	if (!rc && p->is_heatmap)
		rc = heat_cells_add(&p->heat, shown, own, t, &p->query.id.value,
				    err);
	else if (!rc)
		rc = timeline_add(&p->timeline, shown, t, node, true, err);
	if (!rc && !p->is_heatmap && p->has_exemplars)
		rc = point_exemplars_add(&p->exemplars, shown, own, t,
					 &p->query.id.value, err);
	labels_unref(shown);
	return rc;
}

/* Add series number `i` by the samples of its profiles. */
static int points_add_samples(struct points *p, size_t i,
			      const struct totals_view *t,
			      const struct coverage_node *node, struct err *err)
{
	struct sample_totals *s = &p->samples;
	int rc = sample_totals_read(s, p->q, i, t, err);

	for (size_t k = 0; k < s->present.count && !rc; k++) {
		uint32_t group = s->present.v[k];
		struct totals_view view = sample_totals_view(s, group);

		rc = points_add_view(p, querier_labels(p->q, i),
				     s->groups.v[group].values, &view, node,
				     err);
	}
	return rc;
}

/* Add a series to the timeline. */
static int points_add(struct points *p, size_t i, struct err *err)
{
	struct labels *own = querier_labels(p->q, i);
	const struct coverage_node *node = NULL;
	struct totals_view t = { 0 };
	int64_t from;
	int64_t to;
	int rc = coverage_find(&p->coverage, own, &node, err);

	timeline_range(&p->options, &from, &to);
	if (!rc)
		rc = querier_totals(p->q, i, from, to, &t, err);
	if (!rc)
		rc = points_filter(p, &t, err);
	if (!rc && t.count)
		rc = sample_totals_needed(&p->samples, own) ?
			     points_add_samples(p, i, &t, node, err) :
			     points_add_view(p, own, NULL, &t, node, err);
	return rc ? rc : query_check_deadline(p->call->work, err);
}

/* Find the line of the sample type of the request in a group; NULL: none. */
static const struct timeline_line *points_line(const struct points *p,
					       const struct timeline_group *g)
{
	const struct value_type *v = &p->query.id.value;

	for (size_t i = 0; i < g->lines.count; i++) {
		struct str name = g->lines.v[i].name;

		if (name.len == v->type.len + 1 + v->unit.len &&
		    str_starts(name, v->type) && name.ptr[v->type.len] == '/' &&
		    !memcmp(name.ptr + v->type.len + 1, v->unit.ptr,
			    v->unit.len))
			return &g->lines.v[i];
	}
	return NULL;
}

/* Return the value of a point. */
static double points_value(const struct points *p,
			   const struct timeline_line *l, size_t step)
{
	double v = timeline_line_value(&p->timeline, l, step);

	return l->kind == KIND_STATE || p->options.mean ?
		       v :
		       v * (double)p->options.step_ms / 1000;
}

/* Write the labels of a group: those of the request, in its order. */
static void points_write_labels(const struct points *p,
				const struct labels *group, struct buf *out)
{
	const struct request_texts *names = &p->call->request.group_by;
	struct buf value = { 0 };
	char text[16];

	for (size_t i = 0; i < names->count; i++) {
		struct str own = labels_get(group, points_name(i, text));

		buf_reset(&value);
		if (profile_id_is_label(names->v[i]))
			profile_id_part(&p->query.id, names->v[i], &value);
		else
			buf_add(&value, own.ptr, own.len);
		if (value.len)
			call_write_label(out, 1, names->v[i],
					 str_from(buf_bytes(&value)));
	}
	buf_fini(&value);
}

/* Whether the request groups by a label. */
static bool points_is_grouped(const struct points *p, struct str name)
{
	const struct request_texts *names = &p->call->request.group_by;

	for (size_t i = 0; i < names->count; i++) {
		if (str_eq(names->v[i], name))
			return true;
	}
	return false;
}

/* Write the labels of a profile by which the request does not group. */
static void points_write_rest(const struct points *p, const struct labels *ls,
			      struct buf *out)
{
	struct labels_iter it = labels_iter(ls);
	const struct str service = str_of(SERVICE_NAME);
	struct label label;

	while (labels_next(&it, &label)) {
		if (!str_starts(label.name, str_of("__")) &&
		    !points_is_grouped(p, label.name))
			call_write_label(out, 5, label.name, label.value);
	}
	if (!labels_get(ls, service).len && !points_is_grouped(p, service))
		call_write_label(out, 5, service, service_of(ls));
}

/* Write a profile as an exemplar, in field `number`. */
static void points_write_profile(const struct points *p, struct labels *series,
				 const struct profile_value *v, uint32_t number,
				 struct buf *out)
{
	const struct profile_uuid uuid = { .digest = labels_digest(series),
					   .ms = v->ms };
	char id[PROFILE_UUID_LEN + 1];
	struct buf one = { 0 };

	profile_uuid_print(&uuid, id);
	wire_write_number(&one, 1, (uint64_t)v->ms);
	wire_write_str(&one, 2, str_of(id));
	wire_write_number(&one, 4, (uint64_t)v->value);
	points_write_rest(p, series, &one);
	wire_write_bytes(out, number, buf_bytes(&one));
	buf_fini(&one);
}

/* Return the labels of a group, by which exemplars are found. */
static const struct labels *points_group_labels(const struct points *p,
						const struct timeline_group *g)
{
	return g->labels ? g->labels : p->no_labels;
}

/* Write the exemplar of a point, if there is one. */
static void points_write_exemplar(const struct points *p,
				  const struct timeline_group *g, size_t step,
				  struct buf *point)
{
	const struct point_exemplar *x =
		p->has_exemplars ?
			point_exemplars_find(&p->exemplars,
					     points_group_labels(p, g), step) :
			NULL;

	if (x)
		points_write_profile(p, x->series, &x->profile, 4, point);
}

/* Return the timestamp of a step: its end. */
static uint64_t points_step_time(const struct points *p, size_t step)
{
	return (uint64_t)time_steps_add(p->call->request.start,
					(int64_t)step * p->options.step_ms);
}

/* Write a group as the message Series. */
static int points_write(struct points *p, const struct points_group *g,
			struct err *err)
{
	struct limits limits = query_limits(p->call->work);
	struct buf series = { 0 };
	struct buf point = { 0 };
	int rc = 0;

	points_write_labels(p, points_group_labels(p, g->group), &series);
	for (size_t i = 0; i < p->timeline.steps.count && !rc; i++) {
		if (!g->line->known[i])
			continue;
		buf_reset(&point);
		wire_write_double(&point, 1, points_value(p, g->line, i));
		wire_write_number(&point, 2, points_step_time(p, i));
		points_write_exemplar(p, g->group, i, &point);
		wire_write_bytes(&series, 2, buf_bytes(&point));
		rc = limits_meter(&limits, &p->meter, 1,
				  p->call->out->len + 2 * series.len, err);
	}
	if (!rc)
		wire_write_bytes(p->call->out, 1, buf_bytes(&series));
	buf_fini(&series);
	buf_fini(&point);
	return rc;
}

/* Order groups by their totals, the largest first, then by their labels. */
static int points_cmp(const void *a, const void *b)
{
	const struct points_group *x = a;
	const struct points_group *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (!x->group->labels || !y->group->labels)
		return 0;
	return labels_cmp(x->group->labels, y->group->labels);
}

/* Write the groups, or the largest ones if the request has a limit. */
static int points_write_all(struct points *p, struct err *err)
{
	size_t count = p->timeline.groups.count;
	struct points_group *v = mem_zalloc(count + 1, sizeof(*v));
	int64_t limit = p->call->request.limit;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		const struct timeline_group *g = &p->timeline.groups.v[i];
		const struct timeline_line *l = points_line(p, g);

		if (!l)
			continue;
		v[n] = (struct points_group){ g, l, 0 };
		for (size_t k = 0; k < p->timeline.steps.count; k++)
			v[n].total += l->known[k] ? points_value(p, l, k) : 0;
		n++;
	}
	qsort(v, n, sizeof(*v), points_cmp);
	if (limit > 0 && (uint64_t)limit < n)
		n = (size_t)limit;
	for (size_t i = 0; i < n && !rc; i++)
		rc = points_write(p, &v[i], err);
	mem_free(v);
	return rc;
}

/* Write a step of a group as the message HeatmapSlot; without profiles, nothing. */
static void points_write_slot(const struct points *p, size_t group, size_t step,
			      struct buf *series)
{
	const struct heat_cells *h = &p->heat;
	struct buf slot = { 0 };
	struct buf counts = { 0 };
	uint64_t sum = 0;

	wire_write_number(&slot, 1, points_step_time(p, step));
	for (size_t row = 0; row < HEAT_CELLS_ROWS; row++) {
		const struct heat_cell *c = heat_cells_at(h, group, step, row);

		wire_write_element(&slot, 2, heat_cells_bound(h, row));
		enc_uvarint(&counts, c->count);
		sum += c->count;
	}
	wire_write_bytes(&slot, 3, buf_bytes(&counts));
	for (size_t row = 0; row < HEAT_CELLS_ROWS && p->has_exemplars; row++) {
		const struct heat_cell *c = heat_cells_at(h, group, step, row);
		const struct heat_profile *x = &h->profiles.v[c->best];

		if (c->count)
			points_write_profile(p, h->series.v[x->series],
					     &x->value, 4, &slot);
	}
	if (sum)
		wire_write_bytes(series, 2, buf_bytes(&slot));
	buf_fini(&slot);
	buf_fini(&counts);
}

/* Write a group as the message HeatmapSeries. */
static int points_write_heat(struct points *p, size_t group, struct err *err)
{
	struct limits limits = query_limits(p->call->work);
	struct buf series = { 0 };
	int rc = 0;

	points_write_labels(p, p->heat.groups.v[group].labels, &series);
	for (size_t i = 0; i < p->timeline.steps.count && !rc; i++) {
		points_write_slot(p, group, i, &series);
		rc = limits_meter(&limits, &p->meter, 1,
				  p->call->out->len + 2 * series.len, err);
	}
	if (!rc)
		wire_write_bytes(p->call->out, 1, buf_bytes(&series));
	buf_fini(&series);
	return rc;
}

/* A group of a heat map with what it is sorted by. */
struct points_heat_group {
	size_t group;
	const struct heat_group *of;
};

/* Order groups as points_cmp() does. */
static int points_heat_cmp(const void *a, const void *b)
{
	const struct heat_group *x = ((const struct points_heat_group *)a)->of;
	const struct heat_group *y = ((const struct points_heat_group *)b)->of;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return labels_cmp(x->labels, y->labels);
}

/* Write the groups of a heat map, or the largest ones if the request has a limit. */
static int points_write_heatmap(struct points *p, struct err *err)
{
	size_t n = p->heat.groups.count;
	struct points_heat_group *v = mem_zalloc(n + 1, sizeof(*v));
	int64_t limit = p->call->request.limit;
	int rc = heat_cells_count(&p->heat, err);

	for (size_t i = 0; i < n; i++)
		v[i] = (struct points_heat_group){ i, &p->heat.groups.v[i] };
	qsort(v, n, sizeof(*v), points_heat_cmp);
	if (limit > 0 && (uint64_t)limit < n)
		n = (size_t)limit;
	for (size_t i = 0; i < n && !rc; i++) {
		if (v[i].of->total > 0)
			rc = points_write_heat(p, v[i].group, err);
	}
	mem_free(v);
	return rc;
}

/* Answer with the profiles of a parsed request. */
static int points_run(struct points *p, struct err *err)
{
	struct pyroscope_call *c = p->call;
	int64_t from;
	int64_t to;
	int rc = timeline_init(&p->timeline, &p->options, err);

	if (rc)
		return rc;
	point_exemplars_init(&p->exemplars, &p->options.limits,
			     &p->timeline.steps);
	heat_cells_init(&p->heat, &p->options.limits, &p->timeline.steps);
	timeline_range(&p->options, &from, &to);
	coverage_init(&p->coverage, c->db, c->work,
		      time_steps_add(from, -POINTS_BEATS_MS), to);
	rc = call_select(c, &p->query, from, to, &p->q, err);
	querier_sequential(p->q);
	for (size_t i = 0; i < querier_count(p->q) && !rc; i++)
		rc = points_add(p, i, err);
	if (!rc)
		rc = p->is_heatmap ? points_write_heatmap(p, err) :
				     points_write_all(p, err);
	call_note_lost(c, p->q);
	if (!c->warning && p->samples.damaged)
		c->warning = arena_printf(
			c->arena,
			"%zu profiles could not be read and are left out; the first error: %s",
			p->samples.damaged, p->samples.damage.msg);
	if (!c->warning && coverage_lost(&p->coverage))
		c->warning =
			"heartbeats could not be read, so programs that were idle are missing";
	querier_close(p->q);
	coverage_fini(&p->coverage);
	return rc;
}

/* Answer a request for values, or for a heat map. */
static int points_answer(struct pyroscope_call *c, bool is_heatmap,
			 struct err *err)
{
	const struct sample_label_test samples = call_sample_labels(c);
	struct points p = { .call = c, .is_heatmap = is_heatmap };
	int rc = profile_query_parse(&p.query, &samples, c->request.type_id,
				     c->request.selector, err);

	if (!rc && !p.query.has_id)
		rc = err_set(err, ERR_INVALID, "the profile type is missing");
	if (!rc)
		rc = points_read_steps(&p, err);
	points_read_groups(&p);
	p.types = mem_new(struct typeset);
	p.has_exemplars = c->request.exemplar_type == EXEMPLARS_INDIVIDUAL;
	if (!rc)
		rc = points_no_labels(&p.no_labels, err);
	p.options.limits = query_limits(c->work);
	if (!rc)
		rc = points_read_samples(&p, err);
	if (!rc)
		rc = points_run(&p, err);
	sample_totals_fini(&p.samples);
	sample_filter_fini(&p.filter);
	vec_fini(&p.sample_names);
	vec_fini(&p.sample_places);
	point_exemplars_fini(&p.exemplars);
	heat_cells_fini(&p.heat);
	timeline_fini(&p.timeline);
	profile_query_fini(&p.query);
	labels_unref(p.no_labels);
	vec_fini(&p.rows);
	mem_free(p.types);
	buf_fini(&p.group_by);
	return rc;
}

int answer_points(struct pyroscope_call *c, struct err *err)
{
	return points_answer(c, false, err);
}

/* Grafana asks for spans as well; profiles do not say how long one took. */
int answer_heatmap(struct pyroscope_call *c, struct err *err)
{
	return c->request.query_type == HEATMAP_SPAN ?
		       0 :
		       points_answer(c, true, err);
}
