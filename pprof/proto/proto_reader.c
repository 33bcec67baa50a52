/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/proto_reader.h"

#include "model/types.h"

/* Pass a part on; true if nobody wants it. */
#define PASS(r, part, ...)    \
	(!(r)->parts->part || \
	 (r)->parts->part((r)->ctx __VA_OPT__(, ) __VA_ARGS__))

bool proto_reader_refuse(struct proto_reader *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return false;
}

bool proto_reader_refuse_location(struct proto_reader *r)
{
	return proto_reader_refuse(r, "a sample refers to a missing location");
}

bool proto_reader_refuse_line(struct proto_reader *r)
{
	return proto_reader_refuse(r, "a line refers to a missing function");
}

static bool refuse_wire_type(struct proto_reader *r)
{
	return proto_reader_refuse(r, "a field has the wrong wire type");
}

/* Read a number field. Refuse every wire type but varint, as pprof does. */
static inline bool proto_read_number(struct proto_reader *r,
				     const struct wire_field *f, uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return refuse_wire_type(r);
	*out = f->value;
	return true;
}

/*
 * Start reading the contents of a length-delimited field; refuse other wire
 * types.
 */
static inline bool proto_read_message(struct proto_reader *r,
				      const struct wire_field *f,
				      struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return refuse_wire_type(r);
	*out = wire_init(f->bytes);
	return true;
}

/* Record that a string is referred to; check_strings() checks the highest. */
static inline void refer_string(struct proto_reader *r, uint64_t string)
{
	if (string > r->max_string)
		r->max_string = string;
}

/*
 * Read a message that has only number fields: field n (1 … count) is stored in
 * v[n - 1]. If a field is repeated, its last value counts; other fields are
 * skipped. The caller must initialise v.
 */
static bool proto_read_numbers(struct proto_reader *r,
			       const struct wire_field *field, uint64_t *v,
			       size_t count)
{
	struct wire w = { 0 };
	struct wire_field f;
	uint64_t number;
	uint64_t value;

	if (!proto_read_message(r, field, &w))
		return false;
	for (;;) {
		/* Most numbers are small, and need no wire_field. */
		while (wire_next_small(&w, &number, &value)) {
			if (number - 1 < count)
				v[number - 1] = value;
		}
		if (!wire_next(&w, &f))
			return proto_reader_ended(r, &w);
		if (f.number - 1 < count &&
		    !proto_read_number(r, &f, &v[f.number - 1]))
			return false;
	}
}

/* Read a sample type. There are at most 256 (docs/decisions.md, 104). */
static bool proto_read_sample_type(struct proto_reader *r,
				   const struct wire_field *f)
{
	uint64_t v[2] = { 0 };

	if (r->type_count == TYPES_MAX)
		return proto_reader_refuse(
			r, "there are more than 256 sample types");
	if (!proto_read_numbers(r, f, v, ARRAY_SIZE(v)))
		return false;
	refer_string(r, v[0]);
	refer_string(r, v[1]);
	r->type_count++;
	return PASS(r, type, v[0], v[1]);
}

/* Read a mapping; id 0 is reserved for "none". */
static bool proto_read_mapping(struct proto_reader *r,
			       const struct wire_field *f)
{
	uint64_t v[MAPPING_FIELDS] = { 0 };

	if (!proto_read_numbers(r, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[MAPPING_ID])
		return proto_reader_refuse(r,
					   "a mapping has the reserved id 0");
	refer_string(r, v[MAPPING_FILE]);
	refer_string(r, v[MAPPING_BUILD_ID]);
	id_index_add(&r->mappings, v[MAPPING_ID]);
	return PASS(r, mapping, v);
}

static bool proto_read_function(struct proto_reader *r,
				const struct wire_field *f)
{
	uint64_t v[FUNCTION_FIELDS] = { 0 };

	if (!proto_read_numbers(r, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[FUNCTION_ID])
		return proto_reader_refuse(r,
					   "a function has the reserved id 0");
	refer_string(r, v[FUNCTION_NAME]);
	refer_string(r, v[FUNCTION_SYSTEM_NAME]);
	refer_string(r, v[FUNCTION_FILE]);
	id_index_add(&r->functions, v[FUNCTION_ID]);
	return PASS(r, function, v);
}

static bool proto_read_line(struct proto_reader *r, const struct wire_field *f)
{
	uint64_t v[LINE_FIELDS] = { 0 };

	if (!proto_read_numbers(r, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[LINE_FUNCTION])
		return proto_reader_refuse(
			r, "a line of a location has no function");
	return PASS(r, line, v);
}

/* Read one field of a location: a line, or a number into v[its number]. */
static bool proto_read_location_field(struct proto_reader *r,
				      const struct wire_field *f,
				      uint64_t v[LOCATION_FOLDED + 1])
{
	if (f->number == LOCATION_LINE)
		return proto_read_line(r, f);
	if (f->number && f->number <= LOCATION_FOLDED)
		return proto_read_number(r, f, &v[f->number]);
	return true;
}

/* Read a location and its lines; in the second walk, only its lines count. */
static bool proto_read_location(struct proto_reader *r,
				const struct wire_field *field)
{
	uint64_t v[LOCATION_FOLDED + 1] = { 0 };
	struct wire w = { 0 };
	struct wire_field f;

	if (!proto_read_message(r, field, &w))
		return false;
	while (wire_next(&w, &f)) {
		if (!proto_read_location_field(r, &f, v))
			return false;
	}
	if (!v[LOCATION_ID])
		return proto_reader_refuse(r,
					   "a location has the reserved id 0");
	if (r->sealed)
		return true;
	id_index_add(&r->locations, v[LOCATION_ID]);
	return proto_reader_ended(r, &w) && PASS(r, location, v);
}

/* Read a string; the first one must be empty. */
static bool proto_read_string(struct proto_reader *r,
			      const struct wire_field *f)
{
	if (f->type != WIRE_BYTES)
		return refuse_wire_type(r);
	if (!r->string_count++ && f->bytes.len)
		return proto_reader_refuse(r, "string_table[0] is not empty");
	return PASS(r, string, f->bytes);
}

static bool proto_read_comment(struct proto_reader *r, uint64_t text)
{
	refer_string(r, text);
	return PASS(r, comment, text);
}

/* Read comments, packed or not. */
static bool proto_read_comments(struct proto_reader *r,
				const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return proto_read_comment(r, f->value);
	if (!proto_read_message(r, f, &w))
		return false;
	while (w.pos < w.end) {
		if (!proto_read_comment(r, wire_varint(&w)))
			return false;
	}
	return proto_reader_ended(r, &w);
}

/*
 * Read the time. A second one shows that the input is two concatenated profiles,
 * which pprof refuses.
 */
static bool proto_read_time(struct proto_reader *r, const struct wire_field *f)
{
	uint64_t v = 0;

	if (!proto_read_number(r, f, &v))
		return false;
	if (r->header.time_ns) {
		r->concatenated = true;
		return proto_reader_refuse(r, "several concatenated profiles");
	}
	r->header.time_ns = (int64_t)v;
	return true;
}

static bool proto_read_signed(struct proto_reader *r,
			      const struct wire_field *f, int64_t *out)
{
	uint64_t v = 0;

	if (!proto_read_number(r, f, &v))
		return false;
	*out = (int64_t)v;
	return true;
}

/* Read a field of the profile that is single; others are skipped. */
static bool proto_read_header_field(struct proto_reader *r,
				    const struct wire_field *f)
{
	struct proto_header *h = &r->header;

	switch (f->number) {
	case PROFILE_TIME:
		return proto_read_time(r, f);
	case PROFILE_DURATION:
		return proto_read_signed(r, f, &h->duration_ns);
	case PROFILE_PERIOD:
		return proto_read_signed(r, f, &h->period);
	case PROFILE_PERIOD_TYPE:
		memset(h->period_type, 0, sizeof(h->period_type));
		return proto_read_numbers(r, f, h->period_type, 2);
	case PROFILE_DROP_FRAMES:
		return proto_read_number(r, f, &h->drop_frames);
	case PROFILE_KEEP_FRAMES:
		return proto_read_number(r, f, &h->keep_frames);
	case PROFILE_DEFAULT_TYPE:
		return proto_read_number(r, f, &h->default_type);
	case PROFILE_DOC_URL:
		return proto_read_number(r, f, &h->doc_url);
	default:
		return true;
	}
}

/*
 * Read one field of the profile. Samples are only checked for their wire type
 * here: they need the complete tables.
 */
static bool proto_read_field(struct proto_reader *r, const struct wire_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return proto_read_sample_type(r, f);
	case PROFILE_SAMPLE:
		return f->type == WIRE_BYTES || refuse_wire_type(r);
	case PROFILE_MAPPING:
		return proto_read_mapping(r, f);
	case PROFILE_LOCATION:
		return proto_read_location(r, f);
	case PROFILE_FUNCTION:
		return proto_read_function(r, f);
	case PROFILE_STRING:
		return proto_read_string(r, f);
	case PROFILE_COMMENT:
		return proto_read_comments(r, f);
	default:
		return proto_read_header_field(r, f);
	}
}

/* The first walk: everything but samples. */
static bool proto_read_tables(struct proto_reader *r, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!proto_read_field(r, &f))
			return false;
	}
	return proto_reader_ended(r, &w);
}

/* Check that ids are unique, once all tables are read. */
static bool seal_tables(struct proto_reader *r)
{
	if (!id_index_seal(&r->mappings))
		return proto_reader_refuse(r, "two mappings have the same id");
	if (!id_index_seal(&r->functions))
		return proto_reader_refuse(r, "two functions have the same id");
	if (!id_index_seal(&r->locations))
		return proto_reader_refuse(r, "two locations have the same id");
	r->sealed = true;
	return PASS(r, sealed);
}

/* Read the locations of a sample, packed or not. */
static bool proto_read_frames(struct proto_reader *r,
			      const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return r->parts->frame(r->ctx, f->value);
	return proto_read_message(r, f, &w) && r->parts->frames(r->ctx, &w);
}

/* Count a value of a sample; a surplus one is not passed on. */
static inline bool proto_read_value(struct proto_reader *r, uint64_t value,
				    size_t *count)
{
	size_t i = (*count)++;

	return i >= r->type_count || r->parts->value(r->ctx, i, value);
}

/* Read the values of a sample, packed or not. */
static bool proto_read_values(struct proto_reader *r,
			      const struct wire_field *f, size_t *count)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return proto_read_value(r, f->value, count);
	if (!proto_read_message(r, f, &w))
		return false;
	while (w.pos < w.end) {
		if (!proto_read_value(r, wire_varint(&w), count))
			return false;
	}
	return proto_reader_ended(r, &w);
}

/*
 * Read a label. As in pprof, one with text and number is a text label, whose
 * unit is ignored.
 */
static bool proto_read_label(struct proto_reader *r, const struct wire_field *f)
{
	uint64_t v[LABEL_FIELDS] = { 0 };

	if (!proto_read_numbers(r, f, v, ARRAY_SIZE(v)))
		return false;
	refer_string(r, v[LABEL_KEY]);
	refer_string(r, v[LABEL_STR] ? v[LABEL_STR] : v[LABEL_UNIT]);
	return PASS(r, label, v);
}

/* Read one field of a sample; unknown fields are skipped. */
static inline bool proto_read_sample_field(struct proto_reader *r,
					   const struct wire_field *f,
					   size_t *count)
{
	switch (f->number) {
	case SAMPLE_LOCATION:
		return proto_read_frames(r, f);
	case SAMPLE_VALUE:
		return proto_read_values(r, f, count);
	case SAMPLE_LABEL:
		return proto_read_label(r, f);
	default:
		return true;
	}
}

/* Read a sample, which must have one value for each sample type. */
static bool proto_read_sample(struct proto_reader *r, struct bytes b)
{
	struct wire w = wire_init(b);
	struct wire_field f;
	size_t count = 0;

	while (wire_next(&w, &f)) {
		if (!proto_read_sample_field(r, &f, &count))
			return false;
	}
	if (!proto_reader_ended(r, &w))
		return false;
	if (!r->type_count)
		return proto_reader_refuse(
			r, "the profile has samples but no sample types");
	if (count != r->type_count)
		return proto_reader_refuse(
			r,
			"a sample does not have one value for each sample type");
	return PASS(r, sample);
}

/* The second walk: samples, and lines if they are wanted again. */
static bool proto_read_samples(struct proto_reader *r, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == PROFILE_SAMPLE &&
		    !proto_read_sample(r, f.bytes))
			return false;
		if (f.number == PROFILE_LOCATION && r->lines_again &&
		    !proto_read_location(r, &f))
			return false;
	}
	return true;
}

/*
 * Check that the string table has the highest index that is referred to. Index 0
 * is always referred to, as the default of drop_frames and other fields, so the
 * table must not be empty.
 */
static bool check_strings(struct proto_reader *r)
{
	const struct proto_header *h = &r->header;
	const uint64_t lone[] = {
		h->period_type[0], h->period_type[1], h->drop_frames,
		h->keep_frames,    h->default_type,   h->doc_url,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lone); i++)
		refer_string(r, lone[i]);
	if (!r->string_count)
		return proto_reader_refuse(r, "the string table is missing");
	return r->max_string < r->string_count ||
	       proto_reader_refuse(r, "a string index is out of range");
}

static void reset_reader(struct proto_reader *r)
{
	id_index_reset(&r->mappings);
	id_index_reset(&r->functions);
	id_index_reset(&r->locations);
	r->header = (struct proto_header){ 0 };
	r->type_count = 0;
	r->string_count = 0;
	r->max_string = 0;
	r->why = NULL;
	r->sealed = false;
	r->lines_again = false;
	r->concatenated = false;
}

bool proto_reader_run(struct proto_reader *r, struct bytes raw)
{
	reset_reader(r);
	return proto_read_tables(r, raw) && seal_tables(r) &&
	       proto_read_samples(r, raw) && check_strings(r);
}

size_t proto_reader_memory(const struct proto_reader *r)
{
	return id_index_memory(&r->mappings) + id_index_memory(&r->functions) +
	       id_index_memory(&r->locations);
}

void proto_reader_fini(struct proto_reader *r)
{
	id_index_fini(&r->mappings);
	id_index_fini(&r->functions);
	id_index_fini(&r->locations);
}
