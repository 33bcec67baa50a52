/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file format of speedscope. Source: github.com/jlfwong/speedscope,
 * file-format-schema.json.
 */
#include "pprof/report/report_forms.h"

#include "pprof/report/report.h"

/*
 * The report's unit, or "none" if speedscope's schema does not have that unit.
 */
static const char *unit_of(const struct report *r)
{
	static const char *const known[] = { "nanoseconds", "microseconds",
					     "milliseconds", "seconds",
					     "bytes" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (str_is(r->unit, known[i]))
			return known[i];
	}
	return "none";
}

/* Write the table of frames that all samples refer to by index. */
static void write_frames(const struct report *r, struct json *j)
{
	json_key(j, "shared");
	json_begin(j, '{');
	json_key(j, "frames");
	json_begin(j, '[');
	for (size_t i = 0; i < r->nodes.v.count; i++) {
		const struct node *n = &r->nodes.v.v[i];

		json_begin(j, '{');
		json_key(j, "name");
		json_str(j, n->text);
		if (n->file) {
			json_key(j, "file");
			json_str(j, pprof_str(r->p, n->file));
		}
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}

/* Which samples a profile of the document has. */
enum speedscope_side {
	SPEEDSCOPE_ALL,
	SPEEDSCOPE_NEW, /* those of side B of a difference … */
	SPEEDSCOPE_BASE /* … and of side A */
};

/*
 * Return the weight of a sample in a profile of the document: of all samples, or of those
 * of one side of a difference, of which the base has negative values. 0: it is not
 * written. The format has no negative weights, so other samples with a value below 0 are
 * left out.
 */
static int64_t speedscope_weight(const struct report *r, size_t sample,
				 enum speedscope_side side)
{
	int64_t weight = report_weight(r, sample);
	bool is_base = side == SPEEDSCOPE_BASE;

	if (!pprof_stack(r->p, sample)->count ||
	    (side != SPEEDSCOPE_ALL &&
	     pprof_sample_is_base(r->p, sample) != is_base))
		return 0;
	if (is_base)
		weight = weight == INT64_MIN ? INT64_MAX : -weight;
	return weight > 0 ? weight : 0;
}

/*
 * Write one stack as frame indexes, outermost first. Stop as soon as the output
 * is too large, since one stack may be huge.
 */
static int write_stack(const struct report *r, size_t sample, struct json *j,
		       struct growth_meter *meter, struct err *err)
{
	const struct pprof_run *stack = pprof_stack(r->p, sample);
	const uint32_t *frames = r->p->frames.v + stack->first;

	int rc = 0;

	json_begin(j, '[');
	for (uint32_t i = stack->count; i > 0 && !rc; i--) {
		struct pprof_run lines = r->nodes.locations.v[frames[i - 1]];

		for (uint32_t k = lines.count; k > 0; k--)
			json_int(j, r->nodes.of_lines.v[lines.first + k - 1]);
		rc = j->out->over ?
			     report_size(j->out, err) :
			     limits_meter(&r->o->limits, meter, 1, 0, err);
	}
	json_end(j, ']');
	return rc;
}

/*
 * Write the arrays "samples" and "weights". Equal indexes in the two arrays
 * belong together, so both loops must skip the same samples.
 */
static int speedscope_write_samples(const struct report *r, struct json *j,
				    enum speedscope_side side, struct err *err)
{
	struct growth_meter meter = { 0 };
	int64_t sum = 0;
	int rc = 0;

	json_key(j, "samples");
	json_begin(j, '[');
	for (size_t i = 0; i < r->p->samples.count && !rc; i++) {
		if (speedscope_weight(r, i, side))
			rc = write_stack(r, i, j, &meter, err);
		if (!rc)
			rc = limits_meter(&r->o->limits, &meter, 1, 0, err);
	}
	json_end(j, ']');
	json_key(j, "weights");
	json_begin(j, '[');
	for (size_t i = 0; i < r->p->samples.count; i++) {
		int64_t weight = speedscope_weight(r, i, side);

		if (!weight)
			continue;
		json_int(j, weight);
		sum = wrap_add(sum, weight);
	}
	json_end(j, ']');
	json_key(j, "startValue");
	json_int(j, 0);
	json_key(j, "endValue");
	json_int(j, sum);
	return rc;
}

/* Write a profile, of the report's sample type. */
static int speedscope_write_profile(const struct report *r, struct json *j,
				    enum speedscope_side side, struct err *err)
{
	static const char *const names[] = {
		[SPEEDSCOPE_ALL] = "",
		[SPEEDSCOPE_NEW] = " of B",
		[SPEEDSCOPE_BASE] = " of A, the base",
	};
	struct buf name = { 0 };
	int rc;

	buf_printf(&name, "%.*s%s", STR_ARG(r->type), names[side]);
	json_begin(j, '{');
	json_key(j, "type");
	json_text(j, "sampled");
	json_key(j, "name");
	json_str(j, str_from(buf_bytes(&name)));
	json_key(j, "unit");
	json_text(j, unit_of(r));
	rc = speedscope_write_samples(r, j, side, err);
	json_end(j, '}');
	buf_fini(&name);
	return rc;
}

int report_speedscope(struct report *r, struct buf *out, struct err *err)
{
	struct json writer = json_init(out);
	struct json *j = &writer;
	bool has_base = pprof_has_base(r->p);
	int rc;

	json_begin(j, '{');
	json_key(j, "$schema");
	json_text(j, "https://www.speedscope.app/file-format-schema.json");
	json_key(j, "exporter");
	json_text(j, "everprof");
	/* The document has one profile, or one for each side of a difference. */
	write_frames(r, j);
	json_key(j, "profiles");
	json_begin(j, '[');
	rc = speedscope_write_profile(
		r, j, has_base ? SPEEDSCOPE_NEW : SPEEDSCOPE_ALL, err);
	if (!rc && has_base)
		rc = speedscope_write_profile(r, j, SPEEDSCOPE_BASE, err);
	json_end(j, ']');
	json_end(j, '}');
	return rc ? rc : report_size(out, err);
}
