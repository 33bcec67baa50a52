/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/decode.h"

#include "pprof/proto/decode_private.h"
#include "pprof/proto/decode_tables.h"
#include "pprof/proto/fields.h"

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
 * Replaces ids by places (array indexes) once all tables are read: tables may
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
 * Adds one frame of an unpacked field to the current stack: a location, given
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
 * Adds the frames of a stack, packed or not. Packed fields are the bulk of most
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

/* Adds one value of a sample. */
static bool decode_value(struct decoder *d, uint64_t v)
{
	int64_t *out = decode_add(d, &d->p.values);

	if (!out)
		return false;
	*out = (int64_t)v;
	return true;
}

/*
 * Adds the values of a sample, packed or not; end_sample() checks their number.
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
 * Adds a label. As in pprof, a label with text and number is a text label, and
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

/* Decodes one field of a sample; unknown fields are skipped. */
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
 * Completes a sample. Each sample has its own stack and label set; only merging
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
 * Decodes a sample. The frames and labels that this call appends to the
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
 * Checks that the string table has the highest string index that is referred
 * to. Index 0 is always referred to, so the table must not be empty.
 */
static bool decode_strings(struct decoder *d)
{
	if (!d->p.strings.strings.count)
		return decode_refuse(d, "the string table is missing");
	return d->max_string < d->p.strings.strings.count ||
	       decode_refuse(d, "a string index is out of range");
}

/* Discards the previous profile but keeps the memory of the arrays. */
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
