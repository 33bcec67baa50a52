/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/answer_render.h"

#include <math.h>

#include "base/wire.h"
#include "base/wire_write.h"
#include "pyroscope/answer/answer_points.h"
#include "pyroscope/answer/answer_stacks.h"
#include "pyroscope/wire/messages.h"

/* Steps of the timeline: at least this many seconds, and at most so many. */
#define STEP_MIN  15
#define STEPS_MAX 1500

/* A request whose answers are converted. */
struct rendering {
	struct pyroscope_call *call;
	const struct render_request *r; /* NULL: an uploaded file is rendered */
	bool is_diff;
	struct json j;
	struct growth_meter meter;
};

/* Run a method; its answer goes to `out`. */
static int render_run(struct rendering *x,
		      int (*run)(struct pyroscope_call *c, struct err *err),
		      struct buf *out, struct err *err)
{
	struct pyroscope_call *c = x->call;
	struct buf *json = c->out;
	int rc;

	c->out = out;
	rc = run(c, err);
	c->out = json;
	return rc ? rc : query_take(c->work, (int64_t)out->cap, err);
}

/* Account for a number or name that was written. */
static int render_meter(struct rendering *x, struct err *err)
{
	struct limits limits = query_limits(x->call->work);

	return limits_meter(&limits, &x->meter, 1, x->call->out->cap, err);
}

/* Write the values of a level, which are packed. */
static int render_level(struct rendering *x, struct bytes level,
			struct err *err)
{
	struct wire w = wire_init(level);
	struct wire_field packed = { .bytes = { .len = 0 } };
	struct wire values;
	int rc = 0;

	(void)wire_next(&w, &packed);
	values = wire_init(packed.bytes);
	json_begin(&x->j, '[');
	while (!rc && values.pos < values.end) {
		json_int(&x->j, (int64_t)wire_varint(&values));
		rc = render_meter(x, err);
	}
	json_end(&x->j, ']');
	return rc;
}

/* Return a number of a flame graph; 0: it is not there. */
static int64_t render_number(struct bytes flame, uint64_t number)
{
	struct wire w = wire_init(flame);
	struct wire_field f = { .number = 0 };

	while (wire_next(&w, &f)) {
		if (f.number == number)
			return (int64_t)f.value;
	}
	return 0;
}

/* Write the names or the levels of a flame graph as an array. */
static int render_list(struct rendering *x, struct bytes flame, bool names,
		       struct err *err)
{
	struct wire w = wire_init(flame);
	struct wire_field f = { .number = 0 };
	bool is_empty = true;
	int rc = 0;

	json_begin(&x->j, '[');
	while (!rc && wire_next(&w, &f)) {
		if (f.number == (names ? 1 : 2))
			is_empty = false;
		if (f.number == 1 && names)
			json_str(&x->j, str_from(f.bytes));
		else if (f.number == 2 && !names)
			rc = render_level(x, f.bytes, err);
		if (!rc)
			rc = render_meter(x, err);
	}
	/* Without profiles there is a root alone. */
	if (is_empty && names)
		json_text(&x->j, "total");
	if (is_empty && !names) {
		json_begin(&x->j, '[');
		for (int i = 0; i < (x->is_diff ? 7 : 4); i++)
			json_int(&x->j, 0);
		json_end(&x->j, ']');
	}
	json_end(&x->j, ']');
	return rc;
}

/* Write the members that have the flame graph. */
static int render_flame(struct rendering *x, struct bytes flame,
			struct err *err)
{
	int rc;

	json_key(&x->j, "flamebearer");
	json_begin(&x->j, '{');
	json_key(&x->j, "names");
	rc = render_list(x, flame, true, err);
	json_key(&x->j, "levels");
	if (!rc)
		rc = render_list(x, flame, false, err);
	json_key(&x->j, "numTicks");
	json_int(&x->j, render_number(flame, 3));
	json_key(&x->j, "maxSelf");
	json_int(&x->j, render_number(flame, 4));
	json_end(&x->j, '}');
	if (!x->is_diff)
		return rc;
	json_key(&x->j, "leftTicks");
	json_int(&x->j, render_number(flame, 5));
	json_key(&x->j, "rightTicks");
	json_int(&x->j, render_number(flame, 6));
	return rc;
}

/* Write what the values are, by the names that Pyroscope gives them. */
static void render_metadata(struct rendering *x, const struct value_type *value)
{
	static const char *const objects[] = { "inuse_objects", "alloc_objects",
					       "goroutine", "samples" };
	bool is_cpu = str_is(value->type, "cpu");
	struct str units = is_cpu ? str_of("samples") : value->unit;

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		if (str_is(value->type, objects[i]))
			units = str_of("objects");
	}
	json_key(&x->j, "metadata");
	json_begin(&x->j, '{');
	json_key(&x->j, "format");
	json_text(&x->j, x->is_diff ? "double" : "single");
	json_key(&x->j, "spyName");
	json_text(&x->j, "");
	json_key(&x->j, "sampleRate");
	json_int(&x->j, is_cpu ? 1000000000 : 100);
	json_key(&x->j, "units");
	json_str(&x->j, units);
	json_key(&x->j, "name");
	json_str(&x->j, value->type);
	json_end(&x->j, '}');
}

/* Read a point: its time in ms, and its value. */
static void render_point(struct bytes message, int64_t *ms, double *value)
{
	struct wire w = wire_init(message);
	struct wire_field f = { .number = 0 };

	*ms = 0;
	*value = 0;
	while (wire_next(&w, &f)) {
		if (f.number == 1)
			*value = wire_double(&f);
		else if (f.number == 2)
			*ms = (int64_t)f.value;
	}
}

/* Write the points of a series as a timeline, with 0 where there are none. */
static int render_line(struct rendering *x, struct bytes series,
		       struct err *err)
{
	const struct profile_request *q = &x->call->request;
	int64_t step_ms = (int64_t)(q->step * 1000);
	int64_t next = q->start;
	struct wire w = wire_init(series);
	struct wire_field f = { .number = 0 };
	int rc = 0;

	json_begin(&x->j, '{');
	json_key(&x->j, "startTime");
	json_int(&x->j, q->start / 1000);
	json_key(&x->j, "samples");
	json_begin(&x->j, '[');
	while (!rc && wire_next(&w, &f)) {
		double value;
		int64_t ms;

		if (f.number != 2)
			continue;
		render_point(f.bytes, &ms, &value);
		for (; next < ms; next += step_ms)
			json_int(&x->j, 0);
		json_int(&x->j, llround(value));
		next += step_ms;
		rc = render_meter(x, err);
	}
	for (; next <= q->end; next += step_ms)
		json_int(&x->j, 0);
	json_end(&x->j, ']');
	json_key(&x->j, "durationDelta");
	json_int(&x->j, (int64_t)q->step);
	json_key(&x->j, "watermarks");
	json_begin(&x->j, '{');
	json_end(&x->j, '}');
	json_end(&x->j, '}');
	return rc;
}

/* Return the first value of the labels of a series, as Pyroscope's key. */
static struct str render_group(struct bytes series)
{
	struct wire w = wire_init(series);
	struct wire_field f = { .number = 0 };
	struct str value = str_of("");

	while (wire_next(&w, &f) && f.number == 1) {
		struct wire pair = wire_init(f.bytes);

		while (wire_next(&pair, &f)) {
			if (f.number == 2)
				value = str_from(f.bytes);
		}
	}
	return value;
}

/* Write the series of the answer to SelectSeries. */
static int render_lines(struct rendering *x, struct bytes answer, bool groups,
			struct err *err)
{
	struct wire w = wire_init(answer);
	struct wire_field f = { .number = 0 };
	bool is_empty = true;
	int rc = 0;

	while (!rc && wire_next(&w, &f)) {
		is_empty = false;
		if (groups)
			json_key_str(&x->j, render_group(f.bytes));
		rc = render_line(x, f.bytes, err);
	}
	if (!groups && is_empty)
		rc = render_line(x, (struct bytes){ .len = 0 }, err);
	return rc;
}

/* Write the timeline, and those of the groups. */
static int render_timeline(struct rendering *x, struct err *err)
{
	struct profile_request *q = &x->call->request;
	int64_t seconds = (q->end - q->start) / 1000 / STEPS_MAX;
	struct request_texts group = { .v = (struct str[]){ x->r->group_by },
				       .count = 1 };
	struct buf answer = { 0 };
	int rc;

	q->step = (double)(seconds > STEP_MIN ? seconds : STEP_MIN);
	rc = render_run(x, answer_points, &answer, err);
	json_key(&x->j, "timeline");
	if (!rc)
		rc = render_lines(x, buf_bytes(&answer), false, err);
	json_key(&x->j, "groups");
	json_begin(&x->j, '{');
	if (!rc && x->r->group_by.len) {
		buf_fini(&answer);
		q->group_by = group;
		rc = render_run(x, answer_points, &answer, err);
		if (!rc)
			rc = render_lines(x, buf_bytes(&answer), true, err);
		q->group_by = (struct request_texts){ .count = 0 };
	}
	json_end(&x->j, '}');
	buf_fini(&answer);
	return rc;
}

/* Set the request of one side. */
static struct profile_request
render_side_request(const struct render_request *r, const struct render_side *s)
{
	return (struct profile_request){ .selector = s->query,
					 .start = s->from,
					 .end = s->until,
					 .max_nodes = r->max_nodes,
					 .has_max_nodes = r->max_nodes != 0 };
}

/* Write the message of one side of a difference. */
static void render_write_side(const struct render_request *r,
			      const struct render_side *s, struct buf *out)
{
	wire_write_str(out, 2, s->query);
	wire_write_number(out, 3, (uint64_t)s->from);
	wire_write_number(out, 4, (uint64_t)s->until);
	wire_write_number(out, 5, (uint64_t)r->max_nodes);
}

/* Return the flame graph of an answer; empty: there are no profiles. */
static struct bytes render_field(const struct buf *answer, uint64_t number)
{
	struct wire w = wire_init(buf_bytes(answer));
	struct wire_field f = { .number = 0 };

	while (wire_next(&w, &f)) {
		if (f.number == number)
			return f.bytes;
	}
	return (struct bytes){ .len = 0 };
}

/* Begin the answer: everything but the timeline, and the end. */
static int render_begin(struct rendering *x, const struct value_type *value,
			struct bytes flame, struct err *err)
{
	int rc;

	json_begin(&x->j, '{');
	json_key(&x->j, "version");
	json_int(&x->j, 1);
	rc = render_flame(x, flame, err);
	render_metadata(x, value);
	return rc;
}

/* Write the whole answer. */
static int render_write(struct rendering *x, const struct profile_id *id,
			struct bytes flame, struct err *err)
{
	int rc = render_begin(x, &id->value, flame, err);

	if (!rc && !x->is_diff)
		rc = render_timeline(x, err);
	json_end(&x->j, '}');
	return rc;
}

/* ERR_INVALID: a query has no profile type. */
static int render_read_id(const struct pyroscope_call *c, struct str query,
			  struct profile_query *out, struct err *err)
{
	const struct sample_label_test samples = call_sample_labels(c);
	int rc = profile_query_parse(out, &samples, str_of(""), query, err);

	if (!rc && !out->has_id)
		rc = err_set(
			err, ERR_INVALID,
			"the query has no profile type: expected TYPE{SELECTOR}");
	return rc;
}

int answer_render_file(struct pyroscope_call *c, struct bytes flame,
		       const struct value_type *value, bool is_diff,
		       struct err *err)
{
	struct rendering x = { .call = c,
			       .is_diff = is_diff,
			       .j = json_init(c->out) };
	int rc = render_begin(&x, value, flame, err);

	json_end(&x.j, '}');
	return rc;
}

int answer_render(struct pyroscope_call *c, const struct render_request *r,
		  struct err *err)
{
	struct rendering x = {
		.call = c, .r = r, .is_diff = r->is_diff, .j = json_init(c->out)
	};
	struct profile_query query;
	struct buf answer = { 0 };
	struct buf left = { 0 };
	struct buf right = { 0 };
	int rc = render_read_id(c, r->side.query, &query, err);

	c->request = render_side_request(r, &r->side);
	if (r->is_diff) {
		render_write_side(r, &r->side, &left);
		render_write_side(r, &r->right, &right);
		c->request =
			(struct profile_request){ .left = buf_bytes(&left),
						  .right = buf_bytes(&right) };
	}
	if (!rc)
		rc = render_run(&x,
				r->is_diff ? answer_diff : answer_stacktraces,
				&answer, err);
	if (!rc)
		rc = render_write(&x, &query.id, render_field(&answer, 1), err);
	profile_query_fini(&query);
	buf_fini(&answer);
	buf_fini(&left);
	buf_fini(&right);
	return rc;
}

int answer_render_dot(struct pyroscope_call *c, const struct render_request *r,
		      struct err *err)
{
	struct rendering x = { .call = c, .r = r };
	struct buf answer = { 0 };
	struct bytes text;
	int rc;

	c->request = render_side_request(r, &r->side);
	c->request.format = FORMAT_DOT;
	rc = render_run(&x, answer_stacktraces, &answer, err);
	text = render_field(&answer, 3);
	if (!rc)
		buf_add(c->out, text.ptr, text.len);
	buf_fini(&answer);
	return rc;
}
