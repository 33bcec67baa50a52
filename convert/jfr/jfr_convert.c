/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_convert.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "convert/jfr/jfr_chunk.h"
#include "convert/jfr/jfr_event.h"
#include "convert/jfr/jfr_labels.h"
#include "convert/jfr/jfr_names.h"
#include "convert/jfr/jfr_pools.h"
#include "convert/jfr/jfr_settings.h"

/* Stands for a stack or a function that the recording does not have. */
#define UNKNOWN "[unknown]"

/* A recording that is being converted. */
struct recording {
	const struct jfr_options *o;
	struct jfr_chunk chunk;
	struct jfr_types types;
	struct jfr_pools pools;
	struct jfr_labels labels;
	struct jfr_names *names;              /* NULL: no name was read yet */
	VEC(const struct jfr_event *) events; /* by class */
	struct jfr_settings settings;
	/* The chunk has CPU time by sample, so that samples of threads are none. */
	bool has_cpu_time;
	struct stack_build build;
	struct stack_part parts[JFR_PARTS];
	size_t chunks;
	int64_t start_ns;
	int64_t duration_ns;
	struct convert_meter meter;
	struct arena arena; /* texts of one function, or of one event */
	struct buf out;
	size_t encoding; /* bytes that the encoder may take */
};

/* Return what everything takes, in bytes. */
static size_t jfr_convert_memory(const struct recording *x)
{
	size_t parts = 0;

	for (size_t i = 0; i < JFR_PARTS; i++)
		parts += stack_part_memory(&x->parts[i]);
	return parts + jfr_types_memory(&x->types) +
	       jfr_pools_memory(&x->pools) + jfr_labels_memory(&x->labels) +
	       stack_build_memory(&x->build) + vec_memory(&x->events) +
	       x->settings.event.cap + x->arena.used + x->out.cap + x->encoding;
}

/* Implement convert_meter.look. */
static int jfr_convert_look(void *ctx, struct err *err)
{
	const struct recording *x = ctx;

	return convert_caller_look(&x->o->caller, jfr_convert_memory(x), err);
}

/* Take a setting, if its event counts. */
static void jfr_convert_setting(struct recording *x, const struct jfr_object *o)
{
	uint32_t class = jfr_types_find(&x->types, o->numbers[JFR_ID]);
	struct str of = class == TABLE_NONE ? str_of("") :
					      x->types.classes.v[class].name;
	struct str name;
	struct str value;

	if (!jfr_settings_count(of))
		return;
	name = jfr_pools_text(&x->pools, &o->texts[JFR_NAME], &x->arena,
			      &x->meter);
	value = jfr_pools_text(&x->pools, &o->texts[JFR_VALUE], &x->arena,
			       &x->meter);
	jfr_settings_take(&x->settings, of, name, value);
	arena_fini(&x->arena);
}

/* Return the interval between samples of a part. */
static int64_t jfr_convert_period(const struct recording *x, enum jfr_part part)
{
	return part == JFR_WALL ?
		       jfr_settings_wall(&x->settings, x->o->period_ns) :
		       jfr_settings_cpu(&x->settings, x->o->period_ns);
}

/* Return the text of a constant of the pool of symbols. */
static struct str jfr_convert_symbol(struct recording *x, uint64_t key)
{
	struct jfr_object o;

	if (!jfr_pools_object(&x->pools,
			      jfr_pools_find(&x->pools, JFR_SYMBOLS, key),
			      &x->meter, &o))
		return str_of("");
	if (!x->names)
		x->names = jfr_names_new();
	/* Each of the rules searches the name. */
	convert_meter_note(&x->meter, 64 * REGEX_WORK);
	return jfr_names_fold(x->names,
			      jfr_pools_text(&x->pools, &o.texts[JFR_STRING],
					     &x->arena, &x->meter),
			      &x->arena);
}

/* Return the name of a method: class, dot, method. A library is a class, too. */
static struct str jfr_convert_method(struct recording *x,
				     const struct jfr_constant *c)
{
	struct jfr_object method;
	struct jfr_object class;
	struct str of = str_of("");
	struct str name;

	if (!jfr_pools_object(&x->pools, c, &x->meter, &method))
		return str_of(UNKNOWN);
	if (jfr_pools_object(&x->pools,
			     jfr_pools_find(&x->pools, JFR_CLASSES,
					    method.numbers[JFR_TYPE]),
			     &x->meter, &class))
		of = jfr_convert_symbol(x, class.numbers[JFR_NAME]);
	name = jfr_convert_symbol(x, method.numbers[JFR_NAME]);
	if (!of.len || !name.len)
		return of.len ? of : name.len ? name : str_of(UNKNOWN);
	convert_meter_note(&x->meter, of.len + name.len);
	return str_of(arena_printf(&x->arena, "%.*s.%.*s", STR_ARG(of),
				   STR_ARG(name)));
}

/* Return the number of the function of a method. */
static uint32_t jfr_convert_function(struct recording *x, uint64_t key)
{
	struct jfr_constant *c = jfr_pools_find(&x->pools, JFR_METHODS, key);
	uint32_t function;

	if (!c)
		return stack_build_function(&x->build, str_of(UNKNOWN));
	if (c->made != TABLE_NONE)
		return c->made;
	function = stack_build_function(&x->build, jfr_convert_method(x, c));
	arena_fini(&x->arena);
	c->made = function;
	return function;
}

/* Read the frames of a stack, the innermost first. */
static int jfr_convert_frames(struct recording *x, struct jfr_reader *r,
			      uint32_t class, struct err *err)
{
	uint64_t count = jfr_reader_number(r);
	struct jfr_object frame;
	int rc = 0;

	for (uint64_t i = 0; i < count && !r->bad && !rc; i++) {
		uint32_t function;

		if (i == JFR_FRAMES_MAX) {
			function = stack_build_function(&x->build,
							str_of("[truncated]"));
			stack_build_frame(&x->build, function, 0);
			break;
		}
		jfr_types_object(&x->types, class, r, &frame);
		if (r->bad)
			break;
		function = jfr_convert_function(x, frame.numbers[JFR_METHOD]);
		stack_build_frame(&x->build, function,
				  (int32_t)frame.numbers[JFR_LINE_NUMBER]);
		convert_meter_note(&x->meter, sizeof(frame));
		rc = convert_meter_ask(&x->meter, err);
	}
	return rc;
}

/* Return the number of the stack of an event. */
static int jfr_convert_stack(struct recording *x, uint64_t key, uint32_t *out,
			     struct err *err)
{
	struct jfr_constant *c = jfr_pools_find(&x->pools, JFR_STACKS, key);
	struct jfr_object o;
	int rc = 0;

	if (c && c->made != TABLE_NONE) {
		*out = c->made;
		return 0;
	}
	if (jfr_pools_object(&x->pools, c, &x->meter, &o) &&
	    o.frame_class != TABLE_NONE)
		rc = jfr_convert_frames(x, &o.frames, o.frame_class, err);
	/* The value of a sample without a stack counts, too. */
	if (!rc && stack_build_is_empty(&x->build))
		stack_build_frame(
			&x->build,
			stack_build_function(&x->build, str_of(UNKNOWN)), 0);
	if (rc)
		return rc;
	*out = stack_build_stack(&x->build);
	if (c)
		c->made = *out;
	return 0;
}

/* Add a label of an ID in hexadecimal digits. */
static void jfr_convert_id(struct recording *x, const char *key, uint64_t high,
			   uint64_t low, bool is_long)
{
	char text[33];

	if (is_long)
		snprintf(text, sizeof(text), "%016llx%016llx",
			 (unsigned long long)high, (unsigned long long)low);
	else
		snprintf(text, sizeof(text), "%016llx",
			 (unsigned long long)low);
	if (high || low)
		stack_build_label(&x->build, str_of(key), str_of(text));
}

/* Return the number of the label set of an event. */
static int jfr_convert_labels(struct recording *x, const struct jfr_object *o,
			      uint32_t *out, struct err *err)
{
	const uint64_t *n = o->numbers;
	struct str span;
	int rc = jfr_labels_add(&x->labels, (int64_t)n[JFR_CONTEXT_ID],
				&x->meter, &x->build, err);

	if (rc)
		return rc;
	jfr_convert_id(x, "profile_id", 0, n[JFR_SPAN_ID], false);
	span = jfr_labels_text(&x->labels, (int64_t)n[JFR_SPAN_NAME]);
	convert_meter_note(&x->meter, span.len);
	if (n[JFR_SPAN_NAME] && span.len)
		stack_build_label(&x->build, str_of("span_name"), span);
	jfr_convert_id(x, "trace_id", n[JFR_TRACE_ID_HIGH], n[JFR_TRACE_ID_LOW],
		       true);
	*out = stack_build_labels(&x->build);
	return 0;
}

/* Whether a constant is the state of a thread that sleeps. */
static bool jfr_convert_sleeps(struct recording *x, uint64_t key)
{
	struct jfr_constant *c = jfr_pools_find(&x->pools, JFR_STATES, key);
	struct jfr_object o;
	struct str name;

	if (!c)
		return false;
	if (c->made == TABLE_NONE &&
	    jfr_pools_object(&x->pools, c, &x->meter, &o)) {
		name = jfr_pools_text(&x->pools, &o.texts[JFR_NAME], &x->arena,
				      &x->meter);
		c->made = str_is(name, "STATE_SLEEPING");
		arena_fini(&x->arena);
	}
	return c->made == 1;
}

/*
 * Add a sample of a thread. Older versions of async-profiler sample wall time with the
 * event by which they sample the CPU.
 */
static bool jfr_convert_state(struct recording *x, uint64_t state,
			      struct pprof_sample sample)
{
	int64_t values[STACK_VALUES_MAX] = { 0 };
	bool fits = true;

	if (jfr_settings_by_events(&x->settings)) {
		values[0] = jfr_settings_events(&x->settings);
		return stack_part_add(&x->parts[JFR_EVENTS], sample, values);
	}
	if (!x->has_cpu_time && !jfr_convert_sleeps(x, state)) {
		values[0] = jfr_convert_period(x, JFR_CPU);
		fits = stack_part_add(&x->parts[JFR_CPU], sample, values);
	}
	if (fits && jfr_settings_by(&x->settings, "wall")) {
		values[0] = jfr_convert_period(x, JFR_WALL);
		fits = stack_part_add(&x->parts[JFR_WALL], sample, values);
	}
	return fits;
}

/* Return a number as an integer; a value that makes no sense is too large. */
static int64_t jfr_convert_round(double value)
{
	return value >= 0 && value < 1e18 ? llround(value) : INT64_MAX;
}

/*
 * Set the values of a sample that stands for more objects of its size, as its weight
 * says. False: they are too large.
 */
static bool jfr_convert_weigh(const struct jfr_object *o,
			      int64_t values[STACK_VALUES_MAX])
{
	double weight = o->fractions[JFR_WEIGHT];

	values[0] = jfr_convert_round(weight);
	values[1] = jfr_convert_round(weight * o->fractions[JFR_SIZE]);
	return values[0] < INT64_MAX && values[1] < INT64_MAX;
}

/* Add the values of an event. False: their sum is too large. */
static bool jfr_convert_values(struct recording *x, const struct jfr_event *e,
			       const struct jfr_object *o,
			       struct pprof_sample sample)
{
	uint64_t number = e->slot == JFR_SLOTS ? 0 : o->numbers[e->slot];
	int64_t values[STACK_VALUES_MAX] = { 1 };
	int64_t signed_number = number > INT64_MAX ? INT64_MAX :
						     (int64_t)number;

	switch (e->values) {
	case JFR_VALUES_NONE:
	case JFR_VALUES_SETTING:
		return true;
	case JFR_VALUES_STATE:
		return jfr_convert_state(x, number, sample);
	case JFR_VALUES_PERIODS:
		if (__builtin_mul_overflow(signed_number,
					   jfr_convert_period(x, e->part),
					   &values[0]))
			return false;
		break;
	case JFR_VALUES_TICKS:
		values[0] = jfr_chunk_ns(&x->chunk, number);
		break;
	case JFR_VALUES_COUNT:
		break;
	case JFR_VALUES_BYTES:
		values[1] = signed_number;
		break;
	case JFR_VALUES_WAIT:
		values[1] = jfr_chunk_ns(&x->chunk, number);
		break;
	case JFR_VALUES_LIKE:
	case JFR_VALUES_LIKES:
		if (!jfr_convert_weigh(o, values))
			return false;
		if (e->values == JFR_VALUES_LIKE)
			values[1] = 0;
		break;
	}
	return stack_part_add(&x->parts[e->part], sample, values);
}

/* Take an event that is a sample. */
static int jfr_convert_sample(struct recording *x, const struct jfr_event *e,
			      const struct jfr_object *o, struct err *err)
{
	struct pprof_sample sample = { .labels = 0 };
	int rc = jfr_convert_stack(x, o->numbers[JFR_STACK_TRACE],
				   &sample.stack, err);

	if (rc)
		return rc;
	rc = jfr_convert_labels(x, o, &sample.labels, err);
	if (rc)
		return rc;
	if (!jfr_convert_values(x, e, o, sample))
		return err_set(
			err, ERR_INVALID,
			"the values of a stack of the recording add up to more than 64 bits");
	return 0;
}

/* Take an event if it belongs to a pass over the chunk. */
static int jfr_convert_event(struct recording *x, bool settings, uint32_t class,
			     struct jfr_reader *fields, struct err *err)
{
	const struct jfr_event *e = x->events.v[class];
	bool is_setting = e->values == JFR_VALUES_SETTING;
	struct jfr_object o;

	if (settings && e->values == JFR_VALUES_TICKS)
		x->has_cpu_time = true;
	if (e->values == JFR_VALUES_NONE || is_setting != settings)
		return 0;
	jfr_types_object(&x->types, class, fields, &o);
	if (fields->bad)
		return err_set(err, ERR_INVALID,
			       "an event of the recording is malformed");
	if (!settings)
		return jfr_convert_sample(x, e, &o, err);
	jfr_convert_setting(x, &o);
	return convert_meter_ask(&x->meter, err);
}

/*
 * Pass over the events of the chunk: the settings, or the samples, which need the
 * settings.
 */
static int jfr_convert_events(struct recording *x, bool settings,
			      struct err *err)
{
	struct jfr_reader r = jfr_chunk_events(&x->chunk);
	struct jfr_reader fields;
	uint64_t id;
	int rc = 0;

	while (!rc && jfr_chunk_event(&r, &fields, &id)) {
		uint32_t class = jfr_types_find(&x->types, id);

		convert_meter_note(&x->meter,
				   (size_t)(fields.end - fields.pos));
		rc = convert_meter_ask(&x->meter, err);
		if (!rc && class != TABLE_NONE)
			rc = jfr_convert_event(x, settings, class, &fields,
					       err);
	}
	if (!rc && r.bad)
		rc = err_set(err, ERR_INVALID,
			     "an event of the recording is malformed");
	return rc;
}

/* Convert the chunk. */
static int jfr_convert_chunk(struct recording *x, struct err *err)
{
	const struct jfr_chunk *c = &x->chunk;
	int rc = jfr_types_read(&x->types, c->metadata, &x->meter, err);

	if (!rc)
		rc = jfr_pools_read(&x->pools, &x->types, c->bytes,
				    c->constants, &x->meter, err);
	if (rc)
		return rc;
	x->events.count = 0;
	x->has_cpu_time = false;
	jfr_settings_begin(&x->settings);
	for (size_t i = 0; i < x->types.classes.count; i++)
		*vec_add(&x->events) =
			jfr_event_find(x->types.classes.v[i].name);
	rc = jfr_convert_events(x, true, err);
	return rc ? rc : jfr_convert_events(x, false, err);
}

/* Convert the next chunk. ERR_INVALID, ERR_MEDIA: it cannot be read. */
static int jfr_convert_next(struct recording *x, struct bytes *recording,
			    struct err *err)
{
	bool is_cut;
	int rc = jfr_chunk_next(recording, &x->chunk, &is_cut, err);

	if (!rc && is_cut)
		rc = err_set(err, ERR_INVALID,
			     "it is cut off, or it is not complete yet");
	if (rc)
		return rc;
	if (!x->chunks++)
		x->start_ns = x->chunk.start_ns;
	if (__builtin_add_overflow(x->duration_ns, x->chunk.duration_ns,
				   &x->duration_ns) ||
	    x->chunk.duration_ns < 0)
		return err_set(err, ERR_INVALID,
			       "its duration is negative or too large");
	return jfr_convert_chunk(x, err);
}

/* Whether anything was found. */
static bool jfr_convert_has_samples(const struct recording *x)
{
	for (size_t i = 0; i < JFR_PARTS; i++) {
		if (x->parts[i].samples.count)
			return true;
	}
	return false;
}

/*
 * Convert all chunks. What comes before the damage of a chunk that cannot be read counts;
 * out->why then has the reason.
 */
static int jfr_convert_chunks(struct recording *x, struct bytes recording,
			      struct jfr_result *out, struct err *err)
{
	size_t number = 0;
	int rc = 0;

	do {
		number++;
		rc = jfr_convert_next(x, &recording, err);
	} while (!rc && recording.len);
	if (rc != ERR_INVALID && rc != ERR_MEDIA)
		return rc;
	err_wrap(err, rc, "chunk %zu of the recording cannot be read", number);
	if (!jfr_convert_has_samples(x))
		return rc;
	out->is_cut = true;
	out->why = *err;
	return 0;
}

/* Set the types of a profile, its time, and its period. */
static struct stack_head jfr_convert_head(const struct recording *x,
					  enum jfr_part part)
{
	const struct jfr_profile *p = jfr_event_profile(part);
	struct stack_head head = {
		.period_type = { str_of(p->period.type),
				 str_of(p->period.unit) },
		.time_ns = x->o->time_ns ? x->o->time_ns : x->start_ns,
		.duration_ns = x->o->duration_ns ? x->o->duration_ns :
						   x->duration_ns,
	};

	for (size_t i = 0; i < STACK_VALUES_MAX; i++)
		head.types[i] = (struct value_type){ str_of(p->types[i].type),
						     str_of(p->types[i].unit) };
	if (part == JFR_CPU || part == JFR_WALL)
		head.period = jfr_convert_period(x, part);
	return head;
}

/* Set the labels of the series of a profile. */
static void jfr_convert_series(const struct recording *x, enum jfr_part part,
			       struct labels_builder *out)
{
	const struct jfr_profile *p = jfr_event_profile(part);
	const struct labels_builder *sent = x->o->labels;

	for (size_t i = 0; i < sent->count; i++)
		labels_set(out, sent->v[i].name, sent->v[i].value);
	labels_set(out, str_of(LABEL_NAME), str_of(p->name));
	labels_set(out, str_of(LABEL_PART), str_of(p->part));
	labels_set(out, str_of("jfr_event"),
		   str_from(buf_bytes(&x->settings.event)));
}

/* Encode a profile, and store it. */
static int jfr_convert_store(struct recording *x, enum jfr_part part,
			     struct err *err)
{
	const struct convert_caller *c = &x->o->caller;
	const struct stack_head head = jfr_convert_head(x, part);
	struct labels_builder labels = { 0 };
	bool refused;
	int rc;

	x->encoding = stack_build_encoding(&x->build, &x->parts[part],
					   c->max_profile);
	rc = jfr_convert_look(x, err);
	x->encoding = 0;
	if (rc)
		return rc;
	buf_reset(&x->out);
	stack_build_encode(&x->build, &x->parts[part], &head, &x->out);
	if (x->out.over)
		return err_set(
			err, ERR_TOOBIG,
			"a profile of the recording has more than %zu bytes",
			c->max_profile);
	jfr_convert_series(x, part, &labels);
	rc = c->store(c->ctx, &labels, buf_bytes(&x->out), &refused, err);
	labels_builder_fini(&labels);
	return rc;
}

/* Store what the parts have. */
static int jfr_convert_parts(struct recording *x, struct jfr_result *out,
			     struct err *err)
{
	int rc = 0;

	x->out = buf_init(x->o->caller.max_profile);
	for (enum jfr_part i = 0; i < JFR_PARTS && !rc; i++) {
		if (!x->parts[i].samples.count)
			continue;
		out->profiles++;
		rc = jfr_convert_store(x, i, err);
	}
	return rc;
}

/* Free everything. */
static void jfr_convert_fini(struct recording *x)
{
	jfr_types_fini(&x->types);
	jfr_pools_fini(&x->pools);
	jfr_labels_fini(&x->labels);
	jfr_names_free(x->names);
	vec_fini(&x->events);
	jfr_settings_fini(&x->settings);
	stack_build_fini(&x->build);
	for (size_t i = 0; i < JFR_PARTS; i++)
		stack_part_fini(&x->parts[i]);
	arena_fini(&x->arena);
	buf_fini(&x->out);
	mem_free(x);
}

int jfr_convert(struct bytes recording, const struct jfr_options *o,
		struct jfr_result *out, struct err *err)
{
	struct recording *x = mem_new(struct recording);
	int rc;

	*out = (struct jfr_result){ .profiles = 0 };
	x->o = o;
	x->meter = (struct convert_meter){ .look = jfr_convert_look, .ctx = x };
	stack_build_init(&x->build);
	rc = jfr_labels_read(&x->labels, o->snapshot, &x->meter, err);
	if (!rc)
		rc = jfr_convert_chunks(x, recording, out, err);
	if (!rc)
		rc = jfr_convert_parts(x, out, err);
	jfr_convert_fini(x);
	return rc;
}
