/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/decode_tables.h"

#include "pprof/proto/decode_private.h"
#include "pprof/proto/fields.h"

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

/* Decodes a message ValueType. */
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

/* Decodes a sample type. There are at most 256 (docs/decisions.md, 104). */
static bool decode_sample_type(struct decoder *d, const struct wire_field *f)
{
	struct pprof_type *t;

	if (d->p.types.count == TYPES_MAX)
		return decode_refuse(d, "more than 256 sample types");
	t = decode_add(d, &d->p.types);
	return t && decode_value_type(d, f, t);
}

/* Decodes a mapping; id 0 is reserved for "none". */
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
 * Decodes a function. The function's place (array index) is the number of
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
 * Decodes a line of a location. The id of the function is kept until all
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
 * Decodes one field of a location. A line is added to the profile; a number is
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
 * Decodes a location. Its lines are the slice that this call appends to the
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

/* Adds a string, borrowed from the input. */
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

/* Adds one comment, given as the index of a string. */
static bool decode_comment(struct decoder *d, uint64_t i)
{
	uint32_t *c = decode_add(d, &d->p.comments);

	if (!c)
		return false;
	*c = decode_string_index(d, i);
	return true;
}

/* Adds comments, packed or not. */
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

/* Decodes a field of the profile that is a single number. */
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
 * Decodes one field of the profile. Samples are only checked for their wire
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
 * Stores the string indexes in the fields of Profile that are not tables
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

bool decode_tables(struct decoder *d, struct bytes raw)
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
