/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/decode.h"

#include <stdlib.h>

#include "pprof/fields.h"
#include "pprof/idmap.h"
#include "pprof/legacy.h"
#include "pprof/wire.h"

struct decoder {
	struct pprof p;
	struct idmap mapping_ids;
	struct idmap function_ids;
	struct idmap location_ids;
	/* What locations and lines refer to, until the tables are complete. */
	VEC(uint64_t) location_mappings;
	VEC(uint64_t) line_functions;
	uint64_t max_string; /* the highest index referred to */
	struct legacy *legacy;
	size_t max;
	size_t memory;
	const char *why; /* the first reason to refuse */
	bool over;
	bool concatenated;
};

struct decoder *decoder_new(size_t max)
{
	struct decoder *d = mem_new(struct decoder);

	d->max = max;
	d->legacy = legacy_new(max);
	return d;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	pprof_fini(&d->p);
	idmap_fini(&d->mapping_ids);
	idmap_fini(&d->function_ids);
	idmap_fini(&d->location_ids);
	vec_fini(&d->location_mappings);
	vec_fini(&d->line_functions);
	legacy_free(d->legacy);
	mem_free(d);
}

void decoder_set_max(struct decoder *d, size_t max)
{
	d->max = max;
	legacy_set_max(d->legacy, max);
}

size_t decoder_memory(const struct decoder *d)
{
	return sizeof(*d) + pprof_memory(&d->p) +
	       idmap_memory(&d->mapping_ids) + idmap_memory(&d->function_ids) +
	       idmap_memory(&d->location_ids) +
	       vec_memory(&d->location_mappings) +
	       vec_memory(&d->line_functions) + legacy_memory(d->legacy);
}

static bool refuse(struct decoder *d, const char *why)
{
	if (!d->why)
		d->why = why;
	return false;
}

/* Whether an array may grow by one element more. */
static bool room(struct decoder *d, size_t count, size_t cap, size_t size)
{
	if (count < cap)
		return true;
	d->memory += (cap / 2 + 4) * size;
	if (d->memory <= d->max && count < UINT32_MAX - 1)
		return true;
	d->over = true;
	return refuse(d, "it takes too much memory");
}

/* A new element of a vector; NULL when there is no room. */
#define add(d, vec)                                                            \
	(room(d, (vec)->count, (vec)->cap, sizeof(*(vec)->v)) ? vec_add(vec) : \
								NULL)

/* Room for n elements more; false when that is too much. */
static bool room_for(struct decoder *d, size_t count, size_t cap, size_t n,
		     size_t size)
{
	if (n <= cap - count)
		return true;
	d->memory += (cap / 2 + n) * size;
	if (d->memory <= d->max && count + n < UINT32_MAX - 1)
		return true;
	d->over = true;
	return refuse(d, "it takes too much memory");
}

static bool number(struct decoder *d, const struct wire_field *f, uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return refuse(d, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

static bool message(struct decoder *d, const struct wire_field *f,
		    struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return refuse(d, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

static bool ended(struct decoder *d, const struct wire *w)
{
	return w->bad ? refuse(d, "a field is damaged or cut short") : true;
}

static uint32_t string_of(struct decoder *d, uint64_t i)
{
	if (i > d->max_string)
		d->max_string = i;
	return (uint32_t)i;
}

/* Fields 1 … count into v, the last one winning; every other is skipped. */
static bool numbers(struct decoder *d, const struct wire_field *field,
		    uint64_t *v, size_t count)
{
	struct wire_field f;
	struct wire w = { 0 };
	uint64_t i, value;

	if (!message(d, field, &w))
		return false;
	for (;;) {
		while (wire_next_small(&w, &i, &value)) {
			if (i - 1 < count)
				v[i - 1] = value;
		}
		if (!wire_next(&w, &f))
			return ended(d, &w);
		if (f.number - 1 < count && !number(d, &f, &v[f.number - 1]))
			return false;
	}
}

static bool value_type(struct decoder *d, const struct wire_field *f,
		       struct pprof_type *out)
{
	uint64_t v[2] = { 0 };

	if (!numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	out->type = string_of(d, v[0]);
	out->unit = string_of(d, v[1]);
	return true;
}

static bool sample_type(struct decoder *d, const struct wire_field *f)
{
	struct pprof_type *t;

	if (d->p.types.count == TYPES_MAX)
		return refuse(d, "more than 256 sample types");
	t = add(d, &d->p.types);
	return t && value_type(d, f, t);
}

static bool mapping(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[MAPPING_FIELDS] = { 0 };
	struct pprof_mapping *m = add(d, &d->p.mappings);

	if (!m || !numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[MAPPING_ID])
		return refuse(d, "a mapping has the reserved id 0");
	*m = (struct pprof_mapping){
		.start = v[MAPPING_START],
		.limit = v[MAPPING_LIMIT],
		.offset = v[MAPPING_OFFSET],
		.file = string_of(d, v[MAPPING_FILE]),
		.build_id = string_of(d, v[MAPPING_BUILD_ID]),
		.has_functions = v[MAPPING_HAS_FUNCTIONS],
		.has_filenames = v[MAPPING_HAS_FILENAMES],
		.has_lines = v[MAPPING_HAS_LINES],
		.has_inlines = v[MAPPING_HAS_INLINES],
	};
	idmap_add(&d->mapping_ids, v[MAPPING_ID]);
	return true;
}

static bool function(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[FUNCTION_FIELDS] = { 0 };
	struct pprof_function *fn = add(d, &d->p.functions);

	if (!fn || !numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[FUNCTION_ID])
		return refuse(d, "a function has the reserved id 0");
	*fn = (struct pprof_function){
		.name = string_of(d, v[FUNCTION_NAME]),
		.system_name = string_of(d, v[FUNCTION_SYSTEM_NAME]),
		.file = string_of(d, v[FUNCTION_FILE]),
		.start_line = (int64_t)v[FUNCTION_START_LINE],
	};
	idmap_add(&d->function_ids, v[FUNCTION_ID]);
	return true;
}

static bool line(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[LINE_FIELDS] = { 0 };
	struct pprof_line *l = add(d, &d->p.lines);
	uint64_t *id = add(d, &d->line_functions);

	if (!l || !id || !numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[LINE_FUNCTION])
		return refuse(d, "a location has a line without function");
	*id = v[LINE_FUNCTION];
	l->line = (int64_t)v[LINE_LINE];
	l->column = (int64_t)v[LINE_COLUMN];
	return true;
}

/* Fields of a location by their number, but for its lines. */
static bool location_field(struct decoder *d, const struct wire_field *f,
			   uint64_t v[LOCATION_FOLDED + 1])
{
	if (f->number == LOCATION_LINE)
		return line(d, f);
	if (f->number && f->number <= LOCATION_FOLDED)
		return number(d, f, &v[f->number]);
	return true;
}

static bool location(struct decoder *d, const struct wire_field *field)
{
	uint64_t v[LOCATION_FOLDED + 1] = { 0 };
	uint32_t first = (uint32_t)d->p.lines.count;
	struct pprof_location *l = add(d, &d->p.locations);
	uint64_t *mapping_id = add(d, &d->location_mappings);
	struct wire_field f;
	struct wire w = { 0 };

	if (!l || !mapping_id || !message(d, field, &w))
		return false;
	while (wire_next(&w, &f)) {
		if (!location_field(d, &f, v))
			return false;
	}
	if (!v[LOCATION_ID])
		return refuse(d, "a location has the reserved id 0");
	*mapping_id = v[LOCATION_MAPPING];
	*l = (struct pprof_location){
		.address = v[LOCATION_ADDRESS],
		.lines = { first, (uint32_t)d->p.lines.count - first },
		.folded = v[LOCATION_FOLDED],
	};
	idmap_add(&d->location_ids, v[LOCATION_ID]);
	return ended(d, &w);
}

static bool string(struct decoder *d, const struct wire_field *f)
{
	struct str *s = add(d, &d->p.strings.strings);

	if (!s)
		return false;
	if (f->type != WIRE_BYTES)
		return refuse(d, "a field has the wrong wire type");
	*s = f->bytes.len ? str_from(f->bytes) : str_of("");
	if (d->p.strings.strings.count == 1 && s->len)
		return refuse(d, "string_table[0] is not empty");
	return true;
}

static bool comment(struct decoder *d, uint64_t i)
{
	uint32_t *c = add(d, &d->p.comments);

	if (!c)
		return false;
	*c = string_of(d, i);
	return true;
}

static bool comments(struct decoder *d, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return comment(d, f->value);
	if (!message(d, f, &w))
		return false;
	while (w.pos < w.end) {
		if (!comment(d, wire_varint(&w)))
			return false;
	}
	return ended(d, &w);
}

static bool scalar(struct decoder *d, const struct wire_field *f)
{
	struct pprof *p = &d->p;
	uint64_t v = 0;

	if (!number(d, f, &v))
		return false;
	switch (f->number) {
	case PROFILE_TIME:
		if (p->time_ns) {
			d->concatenated = true;
			return refuse(d, "two profiles one behind another");
		}
		p->time_ns = (int64_t)v;
		break;
	case PROFILE_DURATION:
		p->duration_ns = (int64_t)v;
		break;
	case PROFILE_PERIOD:
		p->period = (int64_t)v;
		break;
	case PROFILE_DROP_FRAMES:
		p->drop_frames = string_of(d, v);
		break;
	case PROFILE_KEEP_FRAMES:
		p->keep_frames = string_of(d, v);
		break;
	case PROFILE_DEFAULT_TYPE:
		p->default_type = string_of(d, v);
		break;
	default:
		p->doc_url = string_of(d, v);
		break;
	}
	return true;
}

/* Everything but samples, which need the tables. */
static bool table_field(struct decoder *d, const struct wire_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return sample_type(d, f);
	case PROFILE_SAMPLE:
		return f->type == WIRE_BYTES ||
		       refuse(d, "a field has the wrong wire type");
	case PROFILE_MAPPING:
		return mapping(d, f);
	case PROFILE_LOCATION:
		return location(d, f);
	case PROFILE_FUNCTION:
		return function(d, f);
	case PROFILE_STRING:
		return string(d, f);
	case PROFILE_PERIOD_TYPE:
		return value_type(d, f, &d->p.period_type);
	case PROFILE_COMMENT:
		return comments(d, f);
	case PROFILE_DROP_FRAMES:
	case PROFILE_KEEP_FRAMES:
	case PROFILE_TIME:
	case PROFILE_DURATION:
	case PROFILE_PERIOD:
	case PROFILE_DEFAULT_TYPE:
	case PROFILE_DOC_URL:
		return scalar(d, f);
	default:
		return true;
	}
}

static bool tables(struct decoder *d, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!table_field(d, &f))
			return false;
	}
	return ended(d, &w);
}

/* Ids become places. */
static bool resolve(struct decoder *d)
{
	struct pprof *p = &d->p;

	if (!idmap_seal(&d->mapping_ids))
		return refuse(d, "two mappings have the same id");
	if (!idmap_seal(&d->function_ids))
		return refuse(d, "two functions have the same id");
	if (!idmap_seal(&d->location_ids))
		return refuse(d, "two locations have the same id");
	for (size_t i = 0; i < p->lines.count; i++) {
		p->lines.v[i].function =
			idmap_find(&d->function_ids, d->line_functions.v[i]);
		if (p->lines.v[i].function == IDMAP_NONE)
			return refuse(d, "a line's function is missing");
	}
	for (size_t i = 0; i < p->locations.count; i++)
		p->locations.v[i].mapping =
			idmap_find(&d->mapping_ids, d->location_mappings.v[i]);
	return true;
}

static bool frame(struct decoder *d, uint64_t id)
{
	uint32_t place = idmap_find(&d->location_ids, id);
	uint32_t *f = add(d, &d->p.frames);

	if (!f)
		return false;
	*f = place;
	return place != IDMAP_NONE ||
	       refuse(d, "a sample's location is missing");
}

static bool frames(struct decoder *d, const struct wire_field *f)
{
	size_t count = d->p.frames.count;
	struct wire w = { 0 };
	bool missing = false;
	uint32_t *out;

	if (f->type == WIRE_VARINT)
		return frame(d, f->value);
	if (!message(d, f, &w) || !room_for(d, count, d->p.frames.cap,
					    f->bytes.len, sizeof(uint32_t)))
		return false;
	vec_reserve(&d->p.frames, f->bytes.len);
	out = d->p.frames.v + count;
	while (w.pos < w.end && !missing) {
		*out = idmap_find(&d->location_ids, wire_varint(&w));
		missing = *out++ == IDMAP_NONE;
	}
	d->p.frames.count = (size_t)(out - d->p.frames.v);
	return ended(d, &w) &&
	       (!missing || refuse(d, "a sample's location is missing"));
}

static bool value(struct decoder *d, uint64_t v)
{
	int64_t *out = add(d, &d->p.values);

	if (!out)
		return false;
	*out = (int64_t)v;
	return true;
}

static bool values(struct decoder *d, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return value(d, f->value);
	if (!message(d, f, &w))
		return false;
	while (w.pos < w.end) {
		if (!value(d, wire_varint(&w)))
			return false;
	}
	return ended(d, &w);
}

/* A text beats a number, and a number 0 without unit is none. */
static bool label(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[LABEL_FIELDS] = { 0 };
	struct pprof_label *l;

	if (!numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	string_of(d, v[LABEL_KEY]);
	string_of(d, v[LABEL_STR] ? v[LABEL_STR] : v[LABEL_UNIT]);
	if (!v[LABEL_STR] && !v[LABEL_NUM] && !v[LABEL_UNIT])
		return true;
	l = add(d, &d->p.labels);
	if (!l)
		return false;
	*l = (struct pprof_label){
		.key = (uint32_t)v[LABEL_KEY],
		.str = (uint32_t)v[LABEL_STR],
		.is_number = !v[LABEL_STR],
		.unit = v[LABEL_STR] ? 0 : (uint32_t)v[LABEL_UNIT],
		.num = v[LABEL_STR] ? 0 : (int64_t)v[LABEL_NUM],
	};
	return true;
}

static bool sample_field(struct decoder *d, const struct wire_field *f)
{
	switch (f->number) {
	case SAMPLE_LOCATION:
		return frames(d, f);
	case SAMPLE_VALUE:
		return values(d, f);
	case SAMPLE_LABEL:
		return label(d, f);
	default:
		return true;
	}
}

static bool end_sample(struct decoder *d, struct pprof_run stack,
		       struct pprof_run labels)
{
	struct pprof *p = &d->p;
	struct pprof_sample *s = add(d, &p->samples);
	struct pprof_run *r = add(d, &p->stacks);
	struct pprof_run *l = add(d, &p->label_sets);

	if (!s || !r || !l)
		return false;
	*r = stack;
	*l = labels;
	*s = (struct pprof_sample){
		.stack = (uint32_t)p->stacks.count - 1,
		.labels = (uint32_t)p->label_sets.count - 1,
	};
	if (!p->types.count)
		return refuse(d, "samples without sample types");
	return p->values.count == p->samples.count * p->types.count ||
	       refuse(d, "a sample has not one value a type");
}

static bool sample(struct decoder *d, struct bytes b)
{
	struct pprof_run stack = { .first = (uint32_t)d->p.frames.count };
	struct pprof_run set = { .first = (uint32_t)d->p.labels.count };
	struct wire w = wire_init(b);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!sample_field(d, &f))
			return false;
	}
	stack.count = (uint32_t)d->p.frames.count - stack.first;
	set.count = (uint32_t)d->p.labels.count - set.first;
	return ended(d, &w) && end_sample(d, stack, set);
}

static bool samples(struct decoder *d, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == PROFILE_SAMPLE && !sample(d, f.bytes))
			return false;
	}
	return true;
}

static bool strings(struct decoder *d)
{
	if (!d->p.strings.strings.count)
		return refuse(d, "there is no string table");
	return d->max_string < d->p.strings.strings.count ||
	       refuse(d, "a string index is out of range");
}

static void reset(struct decoder *d)
{
	pprof_reset(&d->p);
	idmap_reset(&d->mapping_ids);
	idmap_reset(&d->function_ids);
	idmap_reset(&d->location_ids);
	d->location_mappings.count = 0;
	d->line_functions.count = 0;
	d->max_string = 0;
	d->memory = decoder_memory(d);
	d->why = NULL;
	d->over = false;
	d->concatenated = false;
}

int decoder_run(struct decoder *d, struct bytes raw, struct pprof **out,
		struct err *err)
{
	int rc;

	reset(d);
	if (!raw.len)
		return err_set(err, ERR_INVALID, "not a profile: no data");
	if (tables(d, raw) && resolve(d) && samples(d, raw) && strings(d)) {
		*out = &d->p;
		return 0;
	}
	if (!d->over && !d->concatenated) {
		rc = legacy_parse(d->legacy, raw, out, err);
		if (rc != ERR_UNSUPPORTED)
			return rc;
	}
	return err_set(err, d->over ? ERR_LIMIT : ERR_INVALID,
		       "not a profile: %s", d->why);
}
