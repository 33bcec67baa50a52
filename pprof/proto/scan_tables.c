/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/scan_tables.h"

#include "pprof/proto/fields.h"
#include "pprof/proto/scan_private.h"

bool scan_numbers(struct scanner *s, const struct wire_field *field,
		  uint64_t *v, size_t count)
{
	struct wire_field f;
	struct wire w = { 0 };
	uint64_t number;
	uint64_t value;

	if (!scan_message(s, field, &w))
		return false;
	for (;;) {
		if (wire_next_small(&w, &number, &value)) {
			if (number - 1 < count)
				v[number - 1] = value;
			continue;
		}
		if (!wire_next(&w, &f))
			break;
		if (f.number - 1 < count &&
		    !scan_number(s, &f, &v[f.number - 1]))
			return false;
	}
	return scan_ended(s, &w);
}

/* Reads a message ValueType. */
static bool scan_value_type(struct scanner *s, const struct wire_field *f,
			    struct scan_type_names *out)
{
	uint64_t v[2] = { 0 };

	if (!scan_numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	*out = (struct scan_type_names){ .type = v[0], .unit = v[1] };
	return true;
}

/* Adds a sample type. There are at most 256 (docs/decisions.md, 104). */
static bool scan_sample_type(struct scanner *s, const struct wire_field *f)
{
	if (s->type_count == TYPES_MAX)
		return scan_refuse(s, "more than 256 sample types");
	if (!scan_value_type(s, f, &s->types[s->type_count]))
		return false;
	scan_refer(s, s->types[s->type_count].type);
	scan_refer(s, s->types[s->type_count].unit);
	s->type_count++;
	return true;
}

/* Checks a mapping: id, start, limit, offset, file, build id, four flags. */
static bool scan_mapping(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[10] = { 0 };

	if (!scan_numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[0])
		return scan_refuse(s, "a mapping has the reserved id 0");
	scan_refer(s, v[4]);
	scan_refer(s, v[5]);
	id_index_add(&s->mappings, v[0]);
	return true;
}

/* Checks a function: id, name, system name, file, start line. */
static bool scan_function(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[5] = { 0 };

	if (!scan_numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[0])
		return scan_refuse(s, "a function has the reserved id 0");
	scan_refer(s, v[1]);
	scan_refer(s, v[2]);
	scan_refer(s, v[3]);
	id_index_add(&s->functions, v[0]);
	return true;
}

/*
 * Checks a line: function id, line, column. Functions may follow later in the
 * input, so up to LINES_KEPT function ids are kept, which scan_seal() checks.
 */
static bool scan_line(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[3] = { 0 };

	if (!scan_numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[0])
		return scan_refuse(s, "a line of a location has no function");
	/*
	 * In the second walk all functions are known: check the line at once.
	 */
	if (s->sealed)
		return id_index_has(&s->functions, v[0]) ||
		       scan_refuse(s, "a line refers to a missing function");
	if (s->line_count == LINES_KEPT) {
		s->lines_left = true;
		return true;
	}
	s->line_functions = mem_grow(s->line_functions, s->line_count,
				     &s->line_cap, sizeof(uint64_t));
	s->line_functions[s->line_count++] = v[0];
	return true;
}

bool scan_location(struct scanner *s, const struct wire_field *field)
{
	struct wire_field f;
	uint64_t ignored;
	uint64_t id = 0;
	struct wire w = { 0 };

	if (!scan_message(s, field, &w))
		return false;
	while (wire_next(&w, &f)) {
		bool ok = true;

		if (f.number == 1)
			ok = scan_number(s, &f, &id);
		else if (f.number == 4)
			ok = scan_line(s, &f);
		else if (f.number == 2 || f.number == 3 || f.number == 5)
			ok = scan_number(s, &f, &ignored);
		if (!ok)
			return false;
	}
	if (!id)
		scan_refuse(s, "a location has the reserved id 0");
	if (!s->sealed)
		id_index_add(&s->locations, id);
	return id && scan_ended(s, &w);
}

/* Counts a string; the first one must be empty. */
static bool scan_string(struct scanner *s, const struct wire_field *f)
{
	if (f->type != WIRE_BYTES)
		return scan_refuse(s, "a field has the wrong wire type");
	if (!s->string_count && f->bytes.len)
		return scan_refuse(s, "string_table[0] is not empty");
	s->string_count++;
	return true;
}

/* Checks comments, packed or not. */
static bool scan_comments(struct scanner *s, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT) {
		scan_refer(s, f->value);
		return true;
	}
	if (!scan_message(s, f, &w))
		return false;
	while (w.pos < w.end)
		scan_refer(s, wire_varint(&w));
	return scan_ended(s, &w);
}

/*
 * Reads a field of the profile that is a single number. String indexes are kept
 * until all fields are read. Then they are checked, and those that belong to
 * the scan's result are replaced by their strings.
 */
static bool scan_scalar(struct scanner *s, const struct wire_field *f)
{
	uint64_t v = 0;

	if (!scan_number(s, f, &v))
		return false;
	switch (f->number) {
	case PROFILE_TIME:
		/*
		 * A second time stamp shows that the input is two concatenated
		 * profiles, which pprof refuses.
		 */
		if (s->out->time_ns) {
			s->concatenated = true;
			return scan_refuse(s, "concatenated profiles");
		}
		s->out->time_ns = (int64_t)v;
		break;
	case PROFILE_DURATION:
		s->out->duration_ns = (int64_t)v;
		break;
	case PROFILE_PERIOD:
		s->out->period = (int64_t)v;
		break;
	case PROFILE_DEFAULT_TYPE:
		s->default_type = v;
		break;
	default:
		/*
		 * If a field is repeated, its last value counts, so the string
		 * index is checked at the end.
		 */
		s->lone[f->number] = v;
		break;
	}
	return true;
}

/*
 * Checks one field of the profile. Samples are only checked for their wire type
 * here: they need the complete tables.
 */
static bool scan_table_field(struct scanner *s, const struct wire_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return scan_sample_type(s, f);
	case PROFILE_SAMPLE:
		return f->type == WIRE_BYTES ||
		       scan_refuse(s, "a field has the wrong wire type");
	case PROFILE_MAPPING:
		return scan_mapping(s, f);
	case PROFILE_LOCATION:
		return scan_location(s, f);
	case PROFILE_FUNCTION:
		return scan_function(s, f);
	case PROFILE_STRING:
		return scan_string(s, f);
	case PROFILE_PERIOD_TYPE:
		return scan_value_type(s, f, &s->period_type);
	case PROFILE_COMMENT:
		return scan_comments(s, f);
	case PROFILE_DROP_FRAMES:
	case PROFILE_KEEP_FRAMES:
	case PROFILE_TIME:
	case PROFILE_DURATION:
	case PROFILE_PERIOD:
	case PROFILE_DEFAULT_TYPE:
	case PROFILE_DOC_URL:
		return scan_scalar(s, f);
	default:
		return true;
	}
}

bool scan_tables(struct scanner *s, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!scan_table_field(s, &f))
			return false;
	}
	return scan_ended(s, &w);
}
