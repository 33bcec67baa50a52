/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/decode.h"

#include "base/wire.h"
#include "pprof/legacy/legacy.h"
#include "pprof/proto/fields.h"
#include "pprof/proto/id_index.h"

/* The state of a decoder. */
struct decoder {
	struct pprof p;
	/* Maps from ids to places (array indexes), one per table. */
	struct id_index mapping_ids;
	struct id_index function_ids;
	struct id_index location_ids;
	/*
	 * The mapping id of each location and the function id of each line,
	 * kept until all ids are known.
	 */
	VEC(uint64_t) location_mappings;
	VEC(uint64_t) line_functions;
	uint64_t max_string; /* highest string index referred to */
	/*
	 * String indexes in the fields of the profile itself. If a field is
	 * repeated, its last value counts, so the indexes are checked when all
	 * fields are read.
	 */
	struct {
		uint64_t drop_frames;
		uint64_t keep_frames;
		uint64_t default_type;
		uint64_t doc_url;
		uint64_t period[2]; /* type and unit of the period */
	} header;
	struct legacy *legacy;
	size_t max;        /* memory bound in bytes */
	size_t memory;     /* estimate of the memory used, in bytes */
	const char *why;   /* the first reason to refuse the profile */
	bool over;         /* whether the memory bound was exceeded */
	bool concatenated; /* whether the input has several profiles */
};

/*
 * Record why the profile is refused, unless a reason is known already, and
 * returns false. `why` is a static string.
 */
static inline bool decode_refuse(struct decoder *d, const char *why)
{
	if (!d->why)
		d->why = why;
	return false;
}

/*
 * Return whether an array may grow by one element of `size` bytes. The growth
 * is added to the memory estimate before memory is allocated, so that a hostile
 * profile is refused in time.
 */
static inline bool decode_has_room(struct decoder *d, size_t count, size_t cap,
				   size_t size)
{
	if (count < cap)
		return true;
	d->memory += (cap / 2 + 4) * size;
	if (d->memory <= d->max && count < UINT32_MAX - 1)
		return true;
	d->over = true;
	return decode_refuse(d, "the profile takes too much memory");
}

/*
 * Evaluates to a new element of a vector, or to NULL if the memory bound
 * forbids it.
 */
#define decode_add(d, vec)                                                 \
	(decode_has_room(d, (vec)->count, (vec)->cap, sizeof(*(vec)->v)) ? \
		 vec_add(vec) :                                            \
		 NULL)

/*
 * Return whether an array may grow by n elements of `size` bytes. Like
 * decode_has_room(), adds the growth to the memory estimate first.
 */
static inline bool decode_reserve(struct decoder *d, size_t count, size_t cap,
				  size_t n, size_t size)
{
	if (n <= cap - count)
		return true;
	d->memory += (cap / 2 + n) * size;
	if (d->memory <= d->max && count + n < UINT32_MAX - 1)
		return true;
	d->over = true;
	return decode_refuse(d, "the profile takes too much memory");
}

/* Read a number field. Refuses every wire type but varint, as pprof does. */
static inline bool decode_number(struct decoder *d, const struct wire_field *f,
				 uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return decode_refuse(d, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

/*
 * Start reading the contents of a length-delimited field; refuse other wire
 * types.
 */
static inline bool decode_message(struct decoder *d, const struct wire_field *f,
				  struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return decode_refuse(d, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

/* Return whether a message was read to its end without an error. */
static inline bool decode_ended(struct decoder *d, const struct wire *w)
{
	return w->bad ? decode_refuse(d, "a field is damaged or truncated") :
			true;
}

/*
 * Record that string i is referred to and return i. Returning only 32 bits is
 * harmless: decode_strings() later compares all bits with the size of the
 * string table.
 */
static inline uint32_t decode_string_index(struct decoder *d, uint64_t i)
{
	if (i > d->max_string)
		d->max_string = i;
	return (uint32_t)i;
}

/*
 * Read a message that has only number fields: field n (1 … count) is stored in
 * v[n - 1]. If a field is repeated, its last value counts; other fields are
 * skipped. The caller must initialise v. Returns false if the profile is
 * refused.
 */
bool decode_numbers(struct decoder *d, const struct wire_field *field,
		    uint64_t *v, size_t count);

/*
 * Decodes the tables of a profile: types, mappings, locations, functions,
 * strings. Samples are decoded in decode.c.
 */

bool decode_numbers(struct decoder *d, const struct wire_field *field,
		    uint64_t *v, size_t count)
{
	struct wire_field f;
	struct wire w = { 0 };
	uint64_t i, value;

	if (!decode_message(d, field, &w))
		return false;
	for (;;) {
		/*
		 * Fast path: reads consecutive small numbers without filling a
		 * wire_field.
		 */
		while (wire_next_small(&w, &i, &value)) {
			if (i - 1 < count)
				v[i - 1] = value;
		}
		if (!wire_next(&w, &f))
			return decode_ended(d, &w);
		if (f.number - 1 < count &&
		    !decode_number(d, &f, &v[f.number - 1]))
			return false;
	}
}

/* Decode a message ValueType. */
static bool decode_value_type(struct decoder *d, const struct wire_field *f,
			      struct pprof_type *out)
{
	uint64_t v[2] = { 0 };

	if (!decode_numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	out->type = decode_string_index(d, v[0]);
	out->unit = decode_string_index(d, v[1]);
	return true;
}

/* Decode a sample type. There are at most 256 (docs/decisions.md, 104). */
static bool decode_sample_type(struct decoder *d, const struct wire_field *f)
{
	struct pprof_type *t;

	if (d->p.types.count == TYPES_MAX)
		return decode_refuse(d, "more than 256 sample types");
	t = decode_add(d, &d->p.types);
	return t && decode_value_type(d, f, t);
}

/* Decode a mapping; id 0 is reserved for "none". */
static bool decode_mapping(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[MAPPING_FIELDS] = { 0 };
	struct pprof_mapping *m = decode_add(d, &d->p.mappings);

	if (!m || !decode_numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[MAPPING_ID])
		return decode_refuse(d, "a mapping has the reserved id 0");
	*m = (struct pprof_mapping){
		.start = v[MAPPING_START],
		.limit = v[MAPPING_LIMIT],
		.offset = v[MAPPING_OFFSET],
		.file = decode_string_index(d, v[MAPPING_FILE]),
		.build_id = decode_string_index(d, v[MAPPING_BUILD_ID]),
		.has_functions = v[MAPPING_HAS_FUNCTIONS],
		.has_filenames = v[MAPPING_HAS_FILENAMES],
		.has_lines = v[MAPPING_HAS_LINES],
		.has_inlines = v[MAPPING_HAS_INLINES],
	};
	id_index_add(&d->mapping_ids, v[MAPPING_ID]);
	return true;
}

/*
 * Decode a function. The function's place (array index) is the number of
 * functions before it; id_index_add() assigns the same place to the id.
 */
static bool decode_function(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[FUNCTION_FIELDS] = { 0 };
	struct pprof_function *fn = decode_add(d, &d->p.functions);

	if (!fn || !decode_numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[FUNCTION_ID])
		return decode_refuse(d, "a function has the reserved id 0");
	*fn = (struct pprof_function){
		.name = decode_string_index(d, v[FUNCTION_NAME]),
		.system_name = decode_string_index(d, v[FUNCTION_SYSTEM_NAME]),
		.file = decode_string_index(d, v[FUNCTION_FILE]),
		.start_line = (int64_t)v[FUNCTION_START_LINE],
	};
	id_index_add(&d->function_ids, v[FUNCTION_ID]);
	return true;
}

/*
 * Decode a line of a location. The id of the function is kept until all
 * functions are known.
 */
static bool decode_line(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[LINE_FIELDS] = { 0 };
	struct pprof_line *l = decode_add(d, &d->p.lines);
	uint64_t *id = decode_add(d, &d->line_functions);

	if (!l || !id || !decode_numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[LINE_FUNCTION])
		return decode_refuse(d, "a line of a location has no function");
	*id = v[LINE_FUNCTION];
	l->line = (int64_t)v[LINE_LINE];
	l->column = (int64_t)v[LINE_COLUMN];
	return true;
}

/*
 * Decode one field of a location. A line is added to the profile; a number is
 * stored in v[field number].
 */
static bool location_field(struct decoder *d, const struct wire_field *f,
			   uint64_t v[LOCATION_FOLDED + 1])
{
	if (f->number == LOCATION_LINE)
		return decode_line(d, f);
	if (f->number && f->number <= LOCATION_FOLDED)
		return decode_number(d, f, &v[f->number]);
	return true;
}

/*
 * Decode a location. Its lines are the slice that this call appends to the
 * profile's lines. The id of its mapping is kept until all mappings are known.
 */
static bool decode_location(struct decoder *d, const struct wire_field *field)
{
	uint64_t v[LOCATION_FOLDED + 1] = { 0 };
	uint32_t first = (uint32_t)d->p.lines.count;
	struct pprof_location *l = decode_add(d, &d->p.locations);
	uint64_t *mapping_id = decode_add(d, &d->location_mappings);
	struct wire_field f;
	struct wire w = { 0 };

	if (!l || !mapping_id || !decode_message(d, field, &w))
		return false;
	while (wire_next(&w, &f)) {
		if (!location_field(d, &f, v))
			return false;
	}
	if (!v[LOCATION_ID])
		return decode_refuse(d, "a location has the reserved id 0");
	*mapping_id = v[LOCATION_MAPPING];
	*l = (struct pprof_location){
		.address = v[LOCATION_ADDRESS],
		.lines = { first, (uint32_t)d->p.lines.count - first },
		.folded = v[LOCATION_FOLDED],
	};
	id_index_add(&d->location_ids, v[LOCATION_ID]);
	return decode_ended(d, &w);
}

/* Add a string, borrowed from the input. */
static bool decode_string(struct decoder *d, const struct wire_field *f)
{
	struct str *s = decode_add(d, &d->p.strings.strings);

	if (!s)
		return false;
	if (f->type != WIRE_BYTES)
		return decode_refuse(d, "a field has the wrong wire type");
	*s = f->bytes.len ? str_from(f->bytes) : str_of("");
	if (d->p.strings.strings.count == 1 && s->len)
		return decode_refuse(d, "string_table[0] is not empty");
	return true;
}

/* Add one comment, given as the index of a string. */
static bool decode_comment(struct decoder *d, uint64_t i)
{
	uint32_t *c = decode_add(d, &d->p.comments);

	if (!c)
		return false;
	*c = decode_string_index(d, i);
	return true;
}

/* Add comments, packed or not. */
static bool decode_comments(struct decoder *d, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return decode_comment(d, f->value);
	if (!decode_message(d, f, &w))
		return false;
	while (w.pos < w.end) {
		if (!decode_comment(d, wire_varint(&w)))
			return false;
	}
	return decode_ended(d, &w);
}

/* Decode a field of the profile that is a single number. */
static bool decode_scalar(struct decoder *d, const struct wire_field *f)
{
	struct pprof *p = &d->p;
	uint64_t v = 0;

	if (!decode_number(d, f, &v))
		return false;
	switch (f->number) {
	case PROFILE_TIME:
		/*
		 * A second time stamp shows that the input is two concatenated
		 * profiles, which pprof refuses.
		 */
		if (p->time_ns) {
			d->concatenated = true;
			return decode_refuse(d, "concatenated profiles");
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
		d->header.drop_frames = v;
		break;
	case PROFILE_KEEP_FRAMES:
		d->header.keep_frames = v;
		break;
	case PROFILE_DEFAULT_TYPE:
		d->header.default_type = v;
		break;
	default:
		d->header.doc_url = v;
		break;
	}
	return true;
}

/*
 * Decode one field of the profile. Samples are only checked for their wire
 * type here: they need the complete tables.
 */
static bool decode_table_field(struct decoder *d, const struct wire_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return decode_sample_type(d, f);
	case PROFILE_SAMPLE:
		return f->type == WIRE_BYTES ||
		       decode_refuse(d, "a field has the wrong wire type");
	case PROFILE_MAPPING:
		return decode_mapping(d, f);
	case PROFILE_LOCATION:
		return decode_location(d, f);
	case PROFILE_FUNCTION:
		return decode_function(d, f);
	case PROFILE_STRING:
		return decode_string(d, f);
	case PROFILE_PERIOD_TYPE:
		memset(d->header.period, 0, sizeof(d->header.period));
		return decode_numbers(d, f, d->header.period,
				      ARRAY_SIZE(d->header.period));
	case PROFILE_COMMENT:
		return decode_comments(d, f);
	case PROFILE_DROP_FRAMES:
	case PROFILE_KEEP_FRAMES:
	case PROFILE_TIME:
	case PROFILE_DURATION:
	case PROFILE_PERIOD:
	case PROFILE_DEFAULT_TYPE:
	case PROFILE_DOC_URL:
		return decode_scalar(d, f);
	default:
		return true;
	}
}

/*
 * Store the string indexes in the fields of Profile that are not tables
 * (drop_frames, keep_frames, default type, documentation URL, period type), and
 * records that these strings are referred to.
 */
static void decode_header(struct decoder *d)
{
	struct pprof *p = &d->p;

	p->drop_frames = decode_string_index(d, d->header.drop_frames);
	p->keep_frames = decode_string_index(d, d->header.keep_frames);
	p->default_type = decode_string_index(d, d->header.default_type);
	p->doc_url = decode_string_index(d, d->header.doc_url);
	p->period_type.type = decode_string_index(d, d->header.period[0]);
	p->period_type.unit = decode_string_index(d, d->header.period[1]);
}

/* Decode everything but samples. Returns false if the profile is refused. */
static bool decode_tables(struct decoder *d, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!decode_table_field(d, &f))
			return false;
	}
	decode_header(d);
	return decode_ended(d, &w);
}

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
	id_index_fini(&d->mapping_ids);
	id_index_fini(&d->function_ids);
	id_index_fini(&d->location_ids);
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
	       id_index_memory(&d->mapping_ids) +
	       id_index_memory(&d->function_ids) +
	       id_index_memory(&d->location_ids) +
	       vec_memory(&d->location_mappings) +
	       vec_memory(&d->line_functions) + legacy_memory(d->legacy);
}

/*
 * Replace ids by places (array indexes) once all tables are read: tables may
 * have any order in the input, so an id may be used before it is defined. As in
 * pprof, a location with an unknown mapping id has no mapping.
 */
static bool decode_resolve(struct decoder *d)
{
	struct pprof *p = &d->p;

	if (!id_index_seal(&d->mapping_ids))
		return decode_refuse(d, "two mappings have the same id");
	if (!id_index_seal(&d->function_ids))
		return decode_refuse(d, "two functions have the same id");
	if (!id_index_seal(&d->location_ids))
		return decode_refuse(d, "two locations have the same id");
	for (size_t i = 0; i < p->lines.count; i++) {
		p->lines.v[i].function =
			id_index_find(&d->function_ids, d->line_functions.v[i]);
		if (p->lines.v[i].function == ID_INDEX_NONE)
			return decode_refuse(
				d, "a line refers to a missing function");
	}
	for (size_t i = 0; i < p->locations.count; i++)
		p->locations.v[i].mapping = id_index_find(
			&d->mapping_ids, d->location_mappings.v[i]);
	return true;
}

/*
 * Add one frame of an unpacked field to the current stack: a location, given
 * by its id.
 */
static bool decode_frame(struct decoder *d, uint64_t id)
{
	uint32_t place = id_index_find(&d->location_ids, id);
	uint32_t *f = decode_add(d, &d->p.frames);

	if (!f)
		return false;
	*f = place;
	return place != ID_INDEX_NONE ||
	       decode_refuse(d, "a sample refers to a missing location");
}

/*
 * Add the frames of a stack, packed or not. Packed fields are the bulk of most
 * profiles. A field has at most as many varints as bytes, so memory for them is
 * reserved at once, and the loop needs no checks.
 */
static bool decode_frames(struct decoder *d, const struct wire_field *f)
{
	size_t count = d->p.frames.count;
	struct wire w = { 0 };
	bool missing = false;
	uint32_t *out;

	if (f->type == WIRE_VARINT)
		return decode_frame(d, f->value);
	if (!decode_message(d, f, &w) ||
	    !decode_reserve(d, count, d->p.frames.cap, f->bytes.len,
			    sizeof(uint32_t)))
		return false;
	vec_reserve(&d->p.frames, f->bytes.len);
	out = d->p.frames.v + count;
	while (w.pos < w.end && !missing) {
		*out = id_index_find(&d->location_ids, wire_varint(&w));
		missing = *out++ == ID_INDEX_NONE;
	}
	d->p.frames.count = (size_t)(out - d->p.frames.v);
	return decode_ended(d, &w) &&
	       (!missing ||
		decode_refuse(d, "a sample refers to a missing location"));
}

/* Add one value of a sample. */
static bool decode_value(struct decoder *d, uint64_t v)
{
	int64_t *out = decode_add(d, &d->p.values);

	if (!out)
		return false;
	*out = (int64_t)v;
	return true;
}

/*
 * Add the values of a sample, packed or not; end_sample() checks their number.
 */
static bool decode_sample_values(struct decoder *d, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return decode_value(d, f->value);
	if (!decode_message(d, f, &w))
		return false;
	while (w.pos < w.end) {
		if (!decode_value(d, wire_varint(&w)))
			return false;
	}
	return decode_ended(d, &w);
}

/*
 * Add a label. As in pprof, a label with text and number is a text label, and
 * a label with neither text nor unit and the number 0 is left out.
 */
static bool decode_label(struct decoder *d, const struct wire_field *f)
{
	uint64_t v[LABEL_FIELDS] = { 0 };
	struct pprof_label *l;

	if (!decode_numbers(d, f, v, ARRAY_SIZE(v)))
		return false;
	decode_string_index(d, v[LABEL_KEY]);
	decode_string_index(d, v[LABEL_STR] ? v[LABEL_STR] : v[LABEL_UNIT]);
	if (!v[LABEL_STR] && !v[LABEL_NUM] && !v[LABEL_UNIT])
		return true;
	l = decode_add(d, &d->p.labels);
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

/* Decode one field of a sample; unknown fields are skipped. */
static bool sample_field(struct decoder *d, const struct wire_field *f)
{
	switch (f->number) {
	case SAMPLE_LOCATION:
		return decode_frames(d, f);
	case SAMPLE_VALUE:
		return decode_sample_values(d, f);
	case SAMPLE_LABEL:
		return decode_label(d, f);
	default:
		return true;
	}
}

/*
 * Complete a sample. Each sample has its own stack and label set; only merging
 * joins equal ones. Refuses a sample that does not have exactly one value for
 * each sample type.
 */
static bool end_sample(struct decoder *d, struct pprof_run stack,
		       struct pprof_run labels)
{
	struct pprof *p = &d->p;
	struct pprof_sample *s = decode_add(d, &p->samples);
	struct pprof_run *r = decode_add(d, &p->stacks);
	struct pprof_run *l = decode_add(d, &p->label_sets);

	if (!s || !r || !l)
		return false;
	*r = stack;
	*l = labels;
	*s = (struct pprof_sample){
		.stack = (uint32_t)p->stacks.count - 1,
		.labels = (uint32_t)p->label_sets.count - 1,
	};
	if (!p->types.count)
		return decode_refuse(
			d, "the profile has samples but no sample types");
	return p->values.count == p->samples.count * p->types.count ||
	       decode_refuse(
		       d,
		       "a sample does not have one value for each sample type");
}

/*
 * Decode a sample. The frames and labels that this call appends to the
 * profile's arrays are the sample's stack and label set.
 */
static bool decode_sample(struct decoder *d, struct bytes b)
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
	return decode_ended(d, &w) && end_sample(d, stack, set);
}

/*
 * Second walk over the input: decodes samples, which refer to locations by
 * place.
 */
static bool decode_samples(struct decoder *d, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == PROFILE_SAMPLE && !decode_sample(d, f.bytes))
			return false;
	}
	return true;
}

/*
 * Check that the string table has the highest string index that is referred
 * to. Index 0 is always referred to, so the table must not be empty.
 */
static bool decode_strings(struct decoder *d)
{
	if (!d->p.strings.strings.count)
		return decode_refuse(d, "the string table is missing");
	return d->max_string < d->p.strings.strings.count ||
	       decode_refuse(d, "a string index is out of range");
}

/* Discard the previous profile but keeps the memory of the arrays. */
static void decode_reset(struct decoder *d)
{
	pprof_reset(&d->p);
	id_index_reset(&d->mapping_ids);
	id_index_reset(&d->function_ids);
	id_index_reset(&d->location_ids);
	d->location_mappings.count = 0;
	d->line_functions.count = 0;
	d->max_string = 0;
	memset(&d->header, 0, sizeof(d->header));
	d->memory = decoder_memory(d);
	d->why = NULL;
	d->over = false;
	d->concatenated = false;
}

/*
 * Input that is not a valid profile.proto message is decoded as a legacy
 * format, as in pprof, unless it exceeded the memory bound or consists of two
 * profiles: then the error found here is more useful.
 */
int decoder_run(struct decoder *d, struct bytes raw, struct pprof **out,
		struct err *err)
{
	int rc;

	decode_reset(d);
	if (!raw.len)
		return err_set(err, ERR_INVALID, "not a profile: no data");
	if (decode_tables(d, raw) && decode_resolve(d) &&
	    decode_samples(d, raw) && decode_strings(d)) {
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
