/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/scan.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "pprof/fields.h"
#include "pprof/idmap.h"
#include "pprof/legacy.h"
#include "pprof/wire.h"

/* Functions of lines that are kept to be looked up; more take a second walk. */
#define LINES_KEPT MIB
/* What the parser of legacy formats may take. */
#define LEGACY_MEMORY (256 * MIB)

/* A value type by string indexes. */
struct index_pair {
	uint64_t type;
	uint64_t unit;
};

struct scanner {
	struct idmap mappings;
	struct idmap functions;
	struct idmap locations;
	uint64_t *line_functions; /* referred to by lines */
	size_t line_count;
	size_t line_cap;
	bool sealed;     /* the tables are complete */
	bool lines_left; /* too many to keep: looked at once more */
	uint64_t string_count;
	uint64_t max_string; /* the highest index referred to */

	struct index_pair types[TYPES_MAX];
	size_t type_count;
	struct index_pair period_type;
	uint64_t default_type;
	uint64_t lone[PROFILE_DOC_URL + 1]; /* drop and keep frames, URL */

	const char *why; /* the first reason to refuse */
	bool concatenated;
	struct legacy *legacy; /* made when first needed */
	struct scan *out;
};

struct scanner *scanner_new(void)
{
	return mem_new(struct scanner);
}

void scanner_free(struct scanner *s)
{
	if (!s)
		return;
	idmap_fini(&s->mappings);
	idmap_fini(&s->functions);
	idmap_fini(&s->locations);
	mem_free(s->line_functions);
	legacy_free(s->legacy);
	mem_free(s);
}

static bool refuse(struct scanner *s, const char *why)
{
	if (!s->why)
		s->why = why;
	return false;
}

/* A number field: anything but a varint is refused, as Go does. */
static bool number(struct scanner *s, const struct wire_field *f, uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return refuse(s, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

static bool message(struct scanner *s, const struct wire_field *f,
		    struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return refuse(s, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

static bool ended(struct scanner *s, const struct wire *w)
{
	return w->bad ? refuse(s, "a field is damaged or cut short") : true;
}

static void refer(struct scanner *s, uint64_t string)
{
	if (string > s->max_string)
		s->max_string = string;
}

/*
 * A message of numbers: fields 1 … count into v, the last one winning; every
 * other field is skipped.
 */
static bool numbers(struct scanner *s, const struct wire_field *field,
		    uint64_t *v, size_t count)
{
	struct wire_field f;
	struct wire w = { 0 };

	if (!message(s, field, &w))
		return false;
	while (wire_next(&w, &f)) {
		if (f.number && f.number <= count &&
		    !number(s, &f, &v[f.number - 1]))
			return false;
	}
	return ended(s, &w);
}

static bool value_type(struct scanner *s, const struct wire_field *f,
		       struct index_pair *out)
{
	uint64_t v[2] = { 0 };

	if (!numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	*out = (struct index_pair){ .type = v[0], .unit = v[1] };
	return true;
}

static bool sample_type(struct scanner *s, const struct wire_field *f)
{
	if (s->type_count == TYPES_MAX)
		return refuse(s, "more than 256 sample types");
	if (!value_type(s, f, &s->types[s->type_count]))
		return false;
	refer(s, s->types[s->type_count].type);
	refer(s, s->types[s->type_count].unit);
	s->type_count++;
	return true;
}

/* id, start, limit, offset, file, build id, four flags */
static bool mapping(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[10] = { 0 };

	if (!numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[0])
		return refuse(s, "a mapping has the reserved id 0");
	refer(s, v[4]);
	refer(s, v[5]);
	idmap_add(&s->mappings, v[0]);
	return true;
}

/* id, name, system name, file, start line */
static bool function(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[5] = { 0 };

	if (!numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[0])
		return refuse(s, "a function has the reserved id 0");
	refer(s, v[1]);
	refer(s, v[2]);
	refer(s, v[3]);
	idmap_add(&s->functions, v[0]);
	return true;
}

/* function id, line, column */
static bool line(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[3] = { 0 };

	if (!numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	if (!v[0])
		return refuse(s, "a location has a line without function");
	if (s->sealed)
		return idmap_has(&s->functions, v[0]) ||
		       refuse(s, "a line's function is missing");
	if (s->line_count == LINES_KEPT) {
		s->lines_left = true;
		return true;
	}
	s->line_functions = mem_grow(s->line_functions, s->line_count,
				     &s->line_cap, sizeof(uint64_t));
	s->line_functions[s->line_count++] = v[0];
	return true;
}

static bool location(struct scanner *s, const struct wire_field *field)
{
	struct wire_field f;
	uint64_t ignored;
	uint64_t id = 0;
	struct wire w = { 0 };

	if (!message(s, field, &w))
		return false;
	while (wire_next(&w, &f)) {
		bool ok = true;

		if (f.number == 1)
			ok = number(s, &f, &id);
		else if (f.number == 4)
			ok = line(s, &f);
		else if (f.number == 2 || f.number == 3 || f.number == 5)
			ok = number(s, &f, &ignored);
		if (!ok)
			return false;
	}
	if (!id)
		refuse(s, "a location has the reserved id 0");
	if (!s->sealed)
		idmap_add(&s->locations, id);
	return id && ended(s, &w);
}

static bool string(struct scanner *s, const struct wire_field *f)
{
	if (f->type != WIRE_BYTES)
		return refuse(s, "a field has the wrong wire type");
	if (!s->string_count && f->bytes.len)
		return refuse(s, "string_table[0] is not empty");
	s->string_count++;
	return true;
}

static bool comments(struct scanner *s, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT) {
		refer(s, f->value);
		return true;
	}
	if (!message(s, f, &w))
		return false;
	while (w.pos < w.end)
		refer(s, wire_varint(&w));
	return ended(s, &w);
}

static bool scalar(struct scanner *s, const struct wire_field *f)
{
	uint64_t v = 0;

	if (!number(s, f, &v))
		return false;
	switch (f->number) {
	case PROFILE_TIME:
		if (s->out->time_ns) {
			s->concatenated = true;
			return refuse(s, "two profiles one behind another");
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
		/* Only the last one of each counts. */
		s->lone[f->number] = v;
		break;
	}
	return true;
}

/* Everything but samples, which need the tables. */
static bool table_field(struct scanner *s, const struct wire_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return sample_type(s, f);
	case PROFILE_SAMPLE:
		return f->type == WIRE_BYTES ||
		       refuse(s, "a field has the wrong wire type");
	case PROFILE_MAPPING:
		return mapping(s, f);
	case PROFILE_LOCATION:
		return location(s, f);
	case PROFILE_FUNCTION:
		return function(s, f);
	case PROFILE_STRING:
		return string(s, f);
	case PROFILE_PERIOD_TYPE:
		return value_type(s, f, &s->period_type);
	case PROFILE_COMMENT:
		return comments(s, f);
	case PROFILE_DROP_FRAMES:
	case PROFILE_KEEP_FRAMES:
	case PROFILE_TIME:
	case PROFILE_DURATION:
	case PROFILE_PERIOD:
	case PROFILE_DEFAULT_TYPE:
	case PROFILE_DOC_URL:
		return scalar(s, f);
	default:
		return true;
	}
}

static bool tables(struct scanner *s, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!table_field(s, &f))
			return false;
	}
	return ended(s, &w);
}

/* Ids are unique, and what lines refer to is there. */
static bool seal(struct scanner *s)
{
	if (!idmap_seal(&s->mappings))
		return refuse(s, "two mappings have the same id");
	if (!idmap_seal(&s->functions))
		return refuse(s, "two functions have the same id");
	if (!idmap_seal(&s->locations))
		return refuse(s, "two locations have the same id");
	for (size_t i = 0; i < s->line_count; i++) {
		if (!idmap_has(&s->functions, s->line_functions[i]))
			return refuse(s, "a line's function is missing");
	}
	s->sealed = true;
	return true;
}

static bool known_location(struct scanner *s, uint64_t id)
{
	return idmap_has(&s->locations, id) ||
	       refuse(s, "a sample's location is missing");
}

static bool locations(struct scanner *s, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return known_location(s, f->value);
	if (!message(s, f, &w))
		return false;
	while (w.pos < w.end) {
		uint64_t id = wire_varint(&w);

		if (w.bad || !known_location(s, id))
			break;
	}
	return ended(s, &w) && !s->why;
}

static void add_value(struct scanner *s, uint64_t v, size_t *count)
{
	if (*count < s->type_count)
		s->out->totals[*count] =
			(int64_t)((uint64_t)s->out->totals[*count] + v);
	(*count)++;
}

static bool values(struct scanner *s, const struct wire_field *f, size_t *count)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT) {
		add_value(s, f->value, count);
		return true;
	}
	if (!message(s, f, &w))
		return false;
	while (w.pos < w.end)
		add_value(s, wire_varint(&w), count);
	return ended(s, &w);
}

/* key, string, number, unit: a string beats a number. */
static bool label(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[4] = { 0 };

	if (!numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	refer(s, v[0]);
	refer(s, v[1] ? v[1] : v[3]);
	return true;
}

static bool sample(struct scanner *s, struct bytes b)
{
	struct wire w = wire_init(b);
	struct wire_field f;
	size_t count = 0;

	while (wire_next(&w, &f)) {
		bool ok = true;

		if (f.number == 1)
			ok = locations(s, &f);
		else if (f.number == 2)
			ok = values(s, &f, &count);
		else if (f.number == 3)
			ok = label(s, &f);
		if (!ok)
			return false;
	}
	if (count != s->type_count || !s->type_count)
		return refuse(s, s->type_count ?
					 "a sample has not one value a type" :
					 "samples without sample types");
	s->out->sample_count++;
	return ended(s, &w);
}

static bool samples(struct scanner *s, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == PROFILE_SAMPLE && !sample(s, f.bytes))
			return false;
		if (f.number == PROFILE_LOCATION && s->lines_left &&
		    !location(s, &f))
			return false;
	}
	return true;
}

/*
 * Every index that anything refers to is in the table; 0 always counts as
 * referred to (drop_frames and others default to it), so there must be one.
 */
static bool strings(struct scanner *s)
{
	refer(s, s->default_type);
	refer(s, s->period_type.type);
	refer(s, s->period_type.unit);
	for (size_t i = 0; i < ARRAY_SIZE(s->lone); i++)
		refer(s, s->lone[i]);
	return s->max_string < s->string_count ||
	       refuse(s, s->string_count ? "a string index is out of range" :
					   "there is no string table");
}

/* A place that wants string i. */
struct wanted {
	uint64_t i;
	struct str *out;
};

static int by_index(const void *a, const void *b)
{
	uint64_t x = ((const struct wanted *)a)->i;
	uint64_t y = ((const struct wanted *)b)->i;

	return (x > y) - (x < y);
}

/* Give each place its string, in one walk over the table. */
static void find_strings(struct bytes raw, struct wanted *v, size_t count)
{
	struct wire w = wire_init(raw);
	struct wire_field f;
	uint64_t i = 0;
	size_t k = 0;

	qsort(v, count, sizeof(*v), by_index);
	while (k < count && wire_next(&w, &f)) {
		if (f.number != PROFILE_STRING)
			continue;
		for (; k < count && v[k].i == i; k++)
			*v[k].out = str_from(f.bytes);
		i++;
	}
}

static void resolve(struct scanner *s, struct bytes raw)
{
	struct wanted v[2 * TYPES_MAX + 3];
	struct typeset *t = &s->out->types;
	size_t n = 0;

	t->count = s->type_count;
	for (size_t i = 0; i < t->count; i++) {
		v[n++] = (struct wanted){ s->types[i].type, &t->types[i].type };
		v[n++] = (struct wanted){ s->types[i].unit, &t->types[i].unit };
	}
	v[n++] = (struct wanted){ s->default_type, &t->default_type };
	v[n++] = (struct wanted){ s->period_type.type, &t->period.type };
	v[n++] = (struct wanted){ s->period_type.unit, &t->period.unit };
	find_strings(raw, v, n);
}

static void reset(struct scanner *s, struct scan *out)
{
	idmap_reset(&s->mappings);
	idmap_reset(&s->functions);
	idmap_reset(&s->locations);
	s->line_count = 0;
	s->string_count = 0;
	s->max_string = 0;
	s->type_count = 0;
	s->period_type = (struct index_pair){ 0 };
	s->default_type = 0;
	memset(s->lone, 0, sizeof(s->lone));
	s->lines_left = false;
	s->sealed = false;
	s->concatenated = false;
	s->why = NULL;
	s->out = out;
	memset(out->totals, 0, sizeof(out->totals));
	out->sample_count = 0;
	out->time_ns = 0;
	out->duration_ns = 0;
	out->period = 0;
}

/* For those who sent something else altogether. */
static const char *other_format(struct bytes raw)
{
	struct str s = str_trim(str_from(raw));

	if (str_starts(s, str_of("<")))
		return "this is HTML or XML, not a profile";
	if (str_starts(s, str_of("{")) || str_starts(s, str_of("[")))
		return "this is JSON, not a profile";
	return NULL;
}

static void describe(const struct pprof *p, struct scan *out)
{
	struct typeset *t = &out->types;

	*out = (struct scan){ .sample_count = p->samples.count,
			      .duration_ns = p->duration_ns,
			      .period = p->period };
	t->count = p->types.count;
	for (size_t i = 0; i < t->count; i++) {
		t->types[i].type = pprof_str(p, p->types.v[i].type);
		t->types[i].unit = pprof_str(p, p->types.v[i].unit);
	}
	t->default_type = str_of("");
	t->period.type = pprof_str(p, p->period_type.type);
	t->period.unit = pprof_str(p, p->period_type.unit);
	for (size_t i = 0; t->count && i < p->values.count; i++) {
		int64_t *sum = &out->totals[i % t->count];

		*sum = wrap_add(*sum, p->values.v[i]);
	}
}

/* ERR_UNSUPPORTED: it is no legacy format either. */
static int scan_legacy(struct scanner *s, struct bytes raw, struct scan *out,
		       struct err *err)
{
	struct pprof *p;
	int rc;

	if (!s->legacy)
		s->legacy = legacy_new((size_t)LEGACY_MEMORY);
	rc = legacy_parse(s->legacy, raw, &p, err);
	if (!rc) {
		describe(p, out);
		out->hash = hash64(raw);
	}
	return rc;
}

int scanner_run(struct scanner *s, struct bytes raw, struct scan *out,
		struct err *err)
{
	const char *other;
	int rc;

	reset(s, out);
	if (!raw.len)
		return err_set(err, ERR_INVALID, "not a profile: no data");
	if (tables(s, raw) && seal(s) && samples(s, raw) && strings(s)) {
		resolve(s, raw);
		out->hash = hash64(raw);
		return 0;
	}
	if (!s->concatenated) {
		rc = scan_legacy(s, raw, out, err);
		if (rc != ERR_UNSUPPORTED)
			return rc;
	}
	other = other_format(raw);
	return err_set(err, ERR_INVALID, "not a profile: %s",
		       other ? other : s->why);
}
