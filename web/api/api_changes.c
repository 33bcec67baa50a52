/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/changes: when programs changed in a time range.
 */
#include "web/api/api.h"

#include "query/history/changes.h"
#include "web/api/envelope.h"
#include "web/api/range_query.h"

/* Labels by which people usually tell versions of a program apart. */
#define LABELS_DEFAULT "version,revision,commit,image,tag,release,build"
/* Number of steps if the request gives no step. */
#define STEPS_DEFAULT 240
/* Largest number of labels. */
#define LABELS_MAX 20

/* Parse the request. The caller calls query_spec_fini() in any case. */
static int changes_parse(const struct request *r, struct query_spec *spec,
			 struct changes_options *o, size_t memory,
			 struct err *err)
{
	int rc = query_spec_parse_range(spec, &r->params, err);
	int64_t span = spec->to - spec->from;

	*o = (struct changes_options){
		.spec = spec,
		.labels = str_of(LABELS_DEFAULT),
		.decode_memory = memory,
	};
	if (!rc)
		rc = range_query_step(r, &o->step_ms, err);
	if (!rc && !o->step_ms)
		o->step_ms = span / STEPS_DEFAULT + 1;
	if (!rc && span / o->step_ms >= TIMELINE_POINTS_MAX)
		rc = err_set(
			err, ERR_INVALID,
			"parameter \"step\": the time range has more than %d steps: use a larger step or a shorter time range",
			TIMELINE_POINTS_MAX);
	(void)params_find(&r->params, "labels", &o->labels);
	if (!rc && str_count(o->labels, ',') >= LABELS_MAX)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"labels\": more than %d labels",
			     LABELS_MAX);
	return rc;
}

/* End the answer, with warnings about changes and series that were left out. */
static void changes_end(struct json *j, const struct changes *c,
			struct arena *arena, struct answer *a)
{
	const char *warnings[3] = { NULL };
	size_t n = 0;

	if (c->left_out)
		warnings[n++] = arena_printf(
			arena,
			"%zu further changes, which affect the fewest series, are left out",
			c->left_out);
	if (c->builds.series < c->builds.candidates)
		warnings[n++] = arena_printf(
			arena,
			"build IDs were read for only %zu of %zu series, so some new builds may be missing",
			c->builds.series, c->builds.candidates);
	envelope_end(j, a, warnings);
}

void api_changes(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct query_spec spec = { 0 };
	struct changes_options o;
	struct changes c = { 0 };
	struct err err;
	int rc = changes_parse(r, &spec, &o, (size_t)w->memory.max, &err);

	if (!rc)
		rc = changes_find(&c, w->o.db, &a->work, &o, &err);
	if (!rc) {
		struct json j = envelope_begin(a);

		changes_json(&c, &j);
		changes_end(&j, &c, &r->arena, a);
		rc = query_take_output(&a->work, &err);
	}
	changes_fini(&c);
	query_spec_fini(&spec);
	if (rc)
		answer_error(a, &err);
}
