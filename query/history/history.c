/* SPDX-License-Identifier: Apache-2.0 */
#include "query/history/history.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "pprof/report/report_graph.h"
#include "query/select/time_steps.h"

/*
 * The merge of one step, with a report whose graph has the weights of all
 * functions.
 */
struct history_table {
	struct query_merge_options options;
	struct query_merge merge;
	struct report report;
	struct graph graph;
	bool reported; /* whether `report` and `graph` must be freed */
	int64_t taken; /* memory that the query held before the merge */
};

/* Free a table, and return its memory to the budget. */
static void history_table_fini(struct history *h, struct history_table *t)
{
	if (t->reported) {
		graph_fini(&t->graph);
		report_fini(&t->report);
	}
	query_merge_fini(&t->merge);
	query_give(h->work, h->work->taken - t->taken);
}

/* Keep the error of the first profile that could not be read. */
static void history_note_damage(struct history *h, const struct query_merge *g)
{
	if (!h->damaged && g->damaged)
		h->damage = g->damage;
	h->damaged += g->damaged;
}

/* Note that nothing of a step could be read. */
static void history_note_unread(struct history *h, const struct err *why)
{
	if (!h->damaged++)
		h->damage = *why;
}

/*
 * Merge the profiles of a spec, and weigh all functions. `looked`: find for how
 * long the programs were profiled, if the options of the history say so.
 */
static int history_table_make(struct history *h, struct history_table *t,
			      const struct query_spec *s, bool looked,
			      struct report_options *o, struct err *err)
{
	struct pprof *p;
	int rc;

	*t = (struct history_table){ .options = h->o->merge,
				     .taken = h->work->taken };
	t->options.looked = t->options.looked && looked;
	query_merge_init(&t->merge, h->db, h->work, &t->options);
	rc = query_merge_run(&t->merge, s, err);
	history_note_damage(h, &t->merge);
	if (!rc && t->merge.late)
		rc = err_set(err, t->merge.late_why.code, "%s",
			     t->merge.late_why.msg);
	if (!rc)
		rc = query_merge_finish(&t->merge, &p, err);
	if (rc)
		return rc;
	*o = h->o->report;
	o->limits = query_merge_limits(&t->merge);
	o->trim = false;
	o->cum = h->o->by_cum;
	rc = report_init(&t->report, REPORT_TOP, p, o, err);
	if (rc)
		return rc;
	t->reported = true;
	return report_graph(&t->report, &t->graph, err);
}

/* Return the index of a function, or SIZE_MAX. */
static size_t history_find(const struct history *h, struct str name)
{
	for (size_t i = 0; i < h->functions.count; i++) {
		if (str_eq(h->functions.v[i].name, name))
			return i;
	}
	return SIZE_MAX;
}

/* Add a function to the history, unless the history has it already. */
static void history_add(struct history *h, struct str name)
{
	if (name.len && history_find(h, name) == SIZE_MAX)
		*vec_add(&h->functions) = (struct history_function){
			.name = arena_str(&h->text, name)
		};
}

/*
 * Add the heaviest functions of the whole range. To find them, the profiles of
 * all series in the range are merged.
 */
static int add_heaviest(struct history *h, struct err *err)
{
	struct history_table t;
	struct report_options o;
	int rc;

	if (!h->o->top)
		return 0;
	rc = history_table_make(h, &t, h->o->spec, false, &o, err);
	for (size_t i = 0; !rc && i < t.graph.shown.count && i < h->o->top; i++)
		history_add(h, t.report.nodes.v.v[t.graph.shown.v[i]].text);
	history_table_fini(h, &t);
	return rc;
}

/* Add the group of a series, unless the history has the group already. */
static int add_group(struct history *h, struct labels *ls, struct err *err)
{
	struct labels_builder b = { 0 };
	struct labels *of = NULL;
	struct str rest = h->o->group_by;
	int rc;

	while (rest.len) {
		struct str name = str_cut(rest, ',', &rest);

		if (name.len)
			labels_set(&b, name, labels_get(ls, name));
	}
	rc = b.count ? labels_build(&b, &of, err) : 0;
	labels_builder_fini(&b);
	for (size_t i = 0; i < h->groups.count && !rc; i++) {
		const struct labels *have = h->groups.v[i].labels;

		if (have == of || (have && of && !labels_cmp(have, of))) {
			labels_unref(of);
			return 0;
		}
	}
	if (!rc && h->groups.count < HISTORY_FUNCTIONS_MAX) {
		*vec_add(&h->groups) = (struct history_group){ .labels = of };
		return 0;
	}
	h->groups_left_out += !rc;
	labels_unref(of);
	return rc;
}

/* Find the groups of the selected series. */
static int history_group_series(struct history *h, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	const struct query_spec *s = h->o->spec;
	int rc;

	if (!h->o->group_by.len) {
		*vec_add(&h->groups) = (struct history_group){ 0 };
		return 0;
	}
	query_open(h->work, h->db, &q);
	rc = query_select(h->work, q, s->selector.matchers, s->selector.count,
			  s->from, s->to, err);
	for (size_t i = 0; i < querier_count(q) && !rc; i++) {
		rc = add_group(h, querier_labels(q, i), err);
		if (!rc)
			rc = query_check_deadline(h->work, err);
	}
	return rc;
}

/* Make the lines: one for each group and function. */
static void history_add_lines(struct history *h)
{
	for (size_t g = 0; g < h->groups.count; g++) {
		for (size_t f = 0; f < h->functions.count; f++)
			*vec_add(&h->lines) = (struct history_line){
				.function = f,
				.group = g,
				.flat = mem_zalloc(h->steps, sizeof(int64_t)),
				.cum = mem_zalloc(h->steps, sizeof(int64_t)),
			};
	}
}

/* Take the weights of the functions from the table of one step. */
static void take_weights(struct history *h, size_t step, size_t group,
			 const struct history_table *t)
{
	const struct report *r = &t->report;
	struct history_line *lines = h->lines.v + group * h->functions.count;

	if (!h->type.len) {
		h->type = arena_str(&h->text, r->type);
		h->unit = arena_str(&h->text, r->unit);
	}
	h->total[step] = wrap_add(h->total[step], r->total);
	h->profiles[step] += t->merge.profiles;
	if (t->merge.has_looked && t->merge.looked.has_flows)
		h->groups.v[group].looked_ns[step] = t->merge.looked_ns;
	for (size_t i = 0; i < t->graph.shown.count; i++) {
		uint32_t at = t->graph.shown.v[i];
		const struct graph_node *n = &t->graph.node[at];
		size_t f = history_find(h, r->nodes.v.v[at].text);

		if (f == SIZE_MAX)
			continue;
		if (!h->functions.v[f].file.len)
			h->functions.v[f].file = arena_str(
				&h->text,
				pprof_str(r->p, r->nodes.v.v[at].file));
		lines[f].flat[step] = graph_mean(n->flat, n->flat_div);
		lines[f].cum[step] = graph_mean(n->cum, n->cum_div);
	}
}

/*
 * Write to `out` the matchers of the selector, and those that select a group.
 * Returns their number.
 */
static size_t match_group(const struct history *h, size_t group,
			  struct matcher *out)
{
	const struct selector *s = &h->o->spec->selector;
	struct str rest = h->o->group_by;
	size_t n = s->count;

	memcpy(out, s->matchers, n * sizeof(*out));
	while (rest.len) {
		struct str name = str_cut(rest, ',', &rest);
		const struct labels *ls = h->groups.v[group].labels;

		if (name.len)
			out[n++] = (struct matcher){
				.op = MATCH_EQ,
				.name = name,
				.value = ls ? labels_get(ls, name) : str_of(""),
			};
	}
	return n;
}

/* Weigh the functions of one group in one step. */
static int weigh_step(struct history *h, size_t step, size_t group,
		      struct err *err)
{
	const struct query_spec *all = h->o->spec;
	size_t max = all->selector.count + 1 + str_count(h->o->group_by, ',');
	struct matcher *matchers = mem_zalloc(max, sizeof(*matchers));
	struct query_spec s = *all;
	struct history_table t;
	struct report_options o;
	int rc;

	s.selector.matchers = matchers;
	s.selector.count = match_group(h, group, matchers);
	s.from = all->from + (int64_t)step * h->o->step_ms;
	/* A profile exactly at the end belongs to the last step. */
	s.to = step + 1 == h->steps ? all->to : s.from + h->o->step_ms - 1;
	rc = history_table_make(h, &t, &s, true, &o, err);
	if (!rc)
		take_weights(h, step, group, &t);
	if (rc == ERR_CORRUPT && !t.merge.damaged)
		history_note_unread(h, err);
	history_table_fini(h, &t);
	mem_free(matchers);
	/*
	 * A step is empty, and no error, if it has no profiles, only profiles
	 * that cannot be read, or too few profiles to compute the increase of a
	 * counter.
	 */
	return rc == ERR_NOTFOUND || rc == ERR_CORRUPT ? 0 : rc;
}

/* Clear a step that was not completed for all groups. */
static void clear_step(struct history *h, size_t step)
{
	h->total[step] = 0;
	h->profiles[step] = 0;
}

/* Weigh the functions of all groups in all steps. */
static int weigh_steps(struct history *h, struct err *err)
{
	int rc = 0;

	for (size_t step = 0; step < h->steps && !rc; step++) {
		for (size_t g = 0; g < h->groups.count && !rc; g++)
			rc = weigh_step(h, step, g, err);
		if (!rc)
			continue;
		clear_step(h, step);
		/*
		 * If time runs out in the first step, there is nothing to
		 * answer: fail.
		 */
		if (step && (rc == ERR_TIMEOUT || rc == ERR_CLOSED)) {
			h->end = *err;
			break;
		}
	}
	return h->end.code ? 0 : rc;
}

/* Check the options, and set the number of steps. */
static int history_check(struct history *h, struct err *err)
{
	const struct history_options *o = h->o;
	uint64_t span = (uint64_t)o->spec->to - (uint64_t)o->spec->from;

	if (o->step_ms <= 0)
		return err_set(err, ERR_INVALID,
			       "parameter \"step\" must be above 0");
	if (span / (uint64_t)o->step_ms >= HISTORY_STEPS_MAX)
		return err_set(
			err, ERR_INVALID,
			"parameter \"step\": a history has at most %d steps: use a larger step or a shorter time range",
			HISTORY_STEPS_MAX);
	if (o->function_count + o->top > HISTORY_FUNCTIONS_MAX)
		return err_set(
			err, ERR_INVALID,
			"a history has at most %d functions: use a smaller \"top\" or fewer parameters \"function\"",
			HISTORY_FUNCTIONS_MAX);
	h->steps = time_steps_of(o->spec->from, o->spec->to, o->step_ms).count;
	return 0;
}

/* Fail if no step has a profile. */
static int history_check_profiles(const struct history *h, struct err *err)
{
	for (size_t i = 0; i < h->steps; i++) {
		if (h->profiles[i])
			return 0;
	}
	if (h->damaged)
		return err_set(err, h->damage.code, "%s", h->damage.msg);
	return err_set(
		err, ERR_NOTFOUND,
		"no step of this time range has profiles to merge; counters, such as alloc_space, need two profiles of a series in a step: use a larger step");
}

int history_run(struct history *h, struct tsdb *db, struct query_work *work,
		const struct history_options *o, struct err *err)
{
	int rc;

	*h = (struct history){ .o = o, .db = db, .work = work };
	rc = history_check(h, err);
	if (rc)
		return rc;
	h->total = mem_zalloc(h->steps, sizeof(*h->total));
	h->profiles = mem_zalloc(h->steps, sizeof(*h->profiles));
	for (size_t i = 0; i < o->function_count; i++)
		history_add(h, o->functions[i]);
	rc = add_heaviest(h, err);
	if (!rc)
		rc = history_group_series(h, err);
	if (!rc)
		rc = query_take(work,
				(int64_t)(h->groups.count *
					  (h->functions.count * 2 + 1) *
					  h->steps * sizeof(int64_t)),
				err);
	if (rc)
		return rc;
	for (size_t g = 0; g < h->groups.count; g++)
		h->groups.v[g].looked_ns =
			mem_zalloc(h->steps, sizeof(int64_t));
	history_add_lines(h);
	rc = weigh_steps(h, err);
	return rc ? rc : history_check_profiles(h, err);
}

/* Write one number per step; null for a step without profiles. */
static void history_write_steps(const struct history *h, const char *key,
				const int64_t *v, struct json *j)
{
	json_key(j, key);
	json_begin(j, '[');
	for (size_t i = 0; i < h->steps; i++) {
		if (h->profiles[i])
			json_int(j, v[i]);
		else
			json_double(j, (double)NAN); /* null */
	}
	json_end(j, ']');
}

/* Write for how long the programs of a group were profiled in each step. */
static void history_write_seconds(const struct history *h,
				  const struct history_group *g, struct json *j)
{
	json_key(j, "seconds");
	json_begin(j, '[');
	for (size_t i = 0; i < h->steps; i++)
		json_double(j, h->profiles[i] && g->looked_ns[i] ?
				       (double)g->looked_ns[i] / 1e9 :
				       (double)NAN);
	json_end(j, ']');
}

/* Write one line. */
static void history_write_line(const struct history *h,
			       const struct history_line *l, struct json *j)
{
	const struct history_function *f = &h->functions.v[l->function];
	struct labels *labels = h->groups.v[l->group].labels;

	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, f->name);
	json_key(j, "file");
	json_str(j, f->file);
	json_key(j, "labels");
	if (labels) {
		labels_json(labels, j);
	} else {
		json_begin(j, '{');
		json_end(j, '}');
	}
	history_write_steps(h, "flat", l->flat, j);
	history_write_steps(h, "cum", l->cum, j);
	history_write_seconds(h, &h->groups.v[l->group], j);
	json_end(j, '}');
}

void history_json(const struct history *h, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "sample_type");
	json_str(j, h->type);
	json_key(j, "unit");
	json_str(j, h->unit);
	json_key(j, "timestamps");
	json_begin(j, '[');
	for (size_t i = 0; i < h->steps; i++)
		json_int(j, h->o->spec->from + (int64_t)i * h->o->step_ms);
	json_end(j, ']');
	history_write_steps(h, "total", h->total, j);
	json_key(j, "profiles");
	json_begin(j, '[');
	for (size_t i = 0; i < h->steps; i++)
		json_int(j, (int64_t)h->profiles[i]);
	json_end(j, ']');
	json_key(j, "functions");
	json_begin(j, '[');
	for (size_t i = 0; i < h->lines.count; i++)
		history_write_line(h, &h->lines.v[i], j);
	json_end(j, ']');
	json_end(j, '}');
}

size_t history_warnings(const struct history *h, struct arena *arena,
			const char **out, size_t max)
{
	size_t n = 0;

	if (h->end.code && n < max)
		out[n++] = arena_printf(
			arena, "%s: the later steps are left out", h->end.msg);
	if (h->groups_left_out && n < max)
		out[n++] = arena_printf(
			arena,
			"there are more than %d groups: %zu series are left out",
			HISTORY_FUNCTIONS_MAX, h->groups_left_out);
	if (h->damaged && n < max)
		out[n++] = arena_printf(
			arena,
			"some profiles could not be read and are left out; the first error: %s",
			h->damage.msg);
	return n;
}

void history_fini(struct history *h)
{
	for (size_t i = 0; i < h->lines.count; i++) {
		mem_free(h->lines.v[i].flat);
		mem_free(h->lines.v[i].cum);
	}
	for (size_t i = 0; i < h->groups.count; i++) {
		labels_unref(h->groups.v[i].labels);
		mem_free(h->groups.v[i].looked_ns);
	}
	vec_fini(&h->lines);
	vec_fini(&h->groups);
	vec_fini(&h->functions);
	mem_free(h->total);
	mem_free(h->profiles);
	arena_fini(&h->text);
}
