/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/scan.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/wire.h"
#include "pprof/legacy/legacy.h"
#include "pprof/proto/fields.h"
#include "pprof/proto/id_index.h"

/*
 * Largest number of lines whose function ids are kept until all functions are
 * known. If a profile has more lines, its locations are read a second time.
 */
#define LINES_KEPT MIB

/* A value type: the string indexes of its name and unit. */
struct scan_type_names {
	uint64_t type;
	uint64_t unit;
};

/* The state of a scanner. */
struct scanner {
	struct id_index mappings; /* the ids that exist, one map per table */
	struct id_index functions;
	struct id_index locations;
	uint64_t *line_functions; /* function ids that lines refer to */
	size_t line_count;
	size_t line_cap;
	bool sealed;     /* whether all tables are read */
	bool lines_left; /* whether there are more lines than LINES_KEPT */
	uint64_t string_count;
	uint64_t max_string; /* highest string index referred to */

	struct scan_type_names types[TYPES_MAX];
	size_t type_count;
	struct scan_type_names period_type;
	uint64_t default_type;
	/*
	 * String indexes of drop_frames, keep_frames and doc_url, each at its
	 * field number.
	 */
	uint64_t lone[PROFILE_DOC_URL + 1];

	const char *why;       /* the first reason to refuse the profile */
	bool concatenated;     /* whether the input has several profiles */
	struct legacy *legacy; /* parser of legacy formats; NULL until needed */
	struct scan *out;
};

/*
 * Record why the profile is refused, unless a reason is known already, and
 * returns false. `why` is a static string.
 */
static inline bool scan_refuse(struct scanner *s, const char *why)
{
	if (!s->why)
		s->why = why;
	return false;
}

/* Read a number field. Refuses every wire type but varint, as pprof does. */
static inline bool scan_number(struct scanner *s, const struct wire_field *f,
			       uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return scan_refuse(s, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

/*
 * Start reading the contents of a length-delimited field; refuse other wire
 * types.
 */
static inline bool scan_message(struct scanner *s, const struct wire_field *f,
				struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return scan_refuse(s, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

/* Return whether a message was read to its end without an error. */
static inline bool scan_ended(struct scanner *s, const struct wire *w)
{
	return w->bad ? scan_refuse(s, "a field is damaged or truncated") :
			true;
}

/*
 * Record that a string index is referred to; scan_strings() checks the highest
 * index.
 */
static inline void scan_refer(struct scanner *s, uint64_t string)
{
	if (string > s->max_string)
		s->max_string = string;
}

/*
 * Read a message that has only number fields: field n (1 … count) is stored in
 * v[n - 1]. If a field is repeated, its last value counts; other fields are
 * skipped. The caller must initialise v. Returns false if the profile is
 * refused.
 */
bool scan_numbers(struct scanner *s, const struct wire_field *field,
		  uint64_t *v, size_t count);

/*
 * Checks the tables of a profile: types, mappings, locations, functions,
 * strings. Samples are checked in scan.c.
 */

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

/* Read a message ValueType. */
static bool scan_value_type(struct scanner *s, const struct wire_field *f,
			    struct scan_type_names *out)
{
	uint64_t v[2] = { 0 };

	if (!scan_numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	*out = (struct scan_type_names){ .type = v[0], .unit = v[1] };
	return true;
}

/* Add a sample type. There are at most 256 (docs/decisions.md, 104). */
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

/* Check a mapping: id, start, limit, offset, file, build id, four flags. */
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

/* Check a function: id, name, system name, file, start line. */
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
 * Check a line: function id, line, column. Functions may follow later in the
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

/*
 * Check a location and its lines. In the second walk, when all tables are
 * read, checks only that the functions of lines exist. Returns false if the
 * profile is refused.
 */
static bool scan_location(struct scanner *s, const struct wire_field *field)
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

/* Count a string; the first one must be empty. */
static bool scan_string(struct scanner *s, const struct wire_field *f)
{
	if (f->type != WIRE_BYTES)
		return scan_refuse(s, "a field has the wrong wire type");
	if (!s->string_count && f->bytes.len)
		return scan_refuse(s, "string_table[0] is not empty");
	s->string_count++;
	return true;
}

/* Check comments, packed or not. */
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
 * Read a field of the profile that is a single number. String indexes are kept
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
 * Check one field of the profile. Samples are only checked for their wire type
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

/* Check everything but samples. Returns false if the profile is refused. */
static bool scan_tables(struct scanner *s, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f;

	while (wire_next(&w, &f)) {
		if (!scan_table_field(s, &f))
			return false;
	}
	return scan_ended(s, &w);
}

/* Memory bound, in bytes, of the parser of legacy formats. */
#define LEGACY_MEMORY (256 * MIB)

struct scanner *scanner_new(void)
{
	return mem_new(struct scanner);
}

void scanner_free(struct scanner *s)
{
	if (!s)
		return;
	id_index_fini(&s->mappings);
	id_index_fini(&s->functions);
	id_index_fini(&s->locations);
	mem_free(s->line_functions);
	legacy_free(s->legacy);
	mem_free(s);
}

/*
 * Check that ids are unique and that the functions of lines exist, once all
 * tables are read.
 */
static bool scan_seal(struct scanner *s)
{
	if (!id_index_seal(&s->mappings))
		return scan_refuse(s, "two mappings have the same id");
	if (!id_index_seal(&s->functions))
		return scan_refuse(s, "two functions have the same id");
	if (!id_index_seal(&s->locations))
		return scan_refuse(s, "two locations have the same id");
	for (size_t i = 0; i < s->line_count; i++) {
		if (!id_index_has(&s->functions, s->line_functions[i]))
			return scan_refuse(
				s, "a line refers to a missing function");
	}
	s->sealed = true;
	return true;
}

static const char NO_LOCATION[] = "a sample refers to a missing location";

/* Check that a location of a sample exists. */
static bool known_location(struct scanner *s, uint64_t id)
{
	return id_index_has(&s->locations, id) || scan_refuse(s, NO_LOCATION);
}

/*
 * Read ids of locations from `w` as long as they have one or two bytes, and
 * leaves the last bytes to the caller. Returns whether all of them are from 1 to
 * the number of locations. Most of the time of a scan is spent here: eight bytes
 * are loaded at once, and the loop has no branch that depends on an id's length.
 */
static bool scan_short_ids(const struct scanner *s, struct wire *w)
{
	const uint8_t *p = w->pos;
	uint64_t count = s->locations.count;
	uint64_t missing = 0;

	while (w->end - p >= 8) {
		uint64_t v;

		memcpy(&v, p, sizeof(v));
		for (int i = 0; i < 4; i++) {
			uint64_t two = v >> 7 & 1;
			uint64_t id = (v & 0x7f) |
				      (v >> 1 & (0 - two) & 0x3f80);

			if (v >> 15 & two)
				goto end;
			missing |= id - 1 >= count;
			v >>= 8 + 8 * two;
			p += 1 + two;
		}
	}
end:
	w->pos = p;
	return !missing;
}

/*
 * Check that the locations in a sample's stack exist; the field is packed or
 * not.
 */
static bool scan_locations(struct scanner *s, const struct wire_field *f)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT)
		return known_location(s, f->value);
	if (!scan_message(s, f, &w))
		return false;
	if (!s->locations.scattered && !scan_short_ids(s, &w))
		return scan_refuse(s, NO_LOCATION);
	while (w.pos < w.end) {
		uint64_t id = wire_varint(&w);

		if (w.bad || !known_location(s, id))
			break;
	}
	return scan_ended(s, &w) && !s->why;
}

/*
 * Add value number *count of a sample to the total of its sample type, and
 * increments *count. Surplus values are only counted: scan_sample() refuses the
 * sample.
 */
static void scan_add_value(struct scanner *s, uint64_t v, size_t *count)
{
	if (*count < s->type_count)
		s->out->totals[*count] =
			(int64_t)((uint64_t)s->out->totals[*count] + v);
	(*count)++;
}

/* Add the values of a sample, packed or not. */
static bool scan_sample_values(struct scanner *s, const struct wire_field *f,
			       size_t *count)
{
	struct wire w = { 0 };

	if (f->type == WIRE_VARINT) {
		scan_add_value(s, f->value, count);
		return true;
	}
	if (!scan_message(s, f, &w))
		return false;
	while (w.pos < w.end)
		scan_add_value(s, wire_varint(&w), count);
	return scan_ended(s, &w);
}

/*
 * Check a label: key, string, number, unit. As in pprof, a label with string
 * and number is a string label, whose unit is ignored.
 */
static bool scan_label(struct scanner *s, const struct wire_field *f)
{
	uint64_t v[4] = { 0 };

	if (!scan_numbers(s, f, v, ARRAY_SIZE(v)))
		return false;
	scan_refer(s, v[0]);
	scan_refer(s, v[1] ? v[1] : v[3]);
	return true;
}

/*
 * Check a sample: its locations must exist, and it must have one value for
 * each sample type.
 */
static bool scan_sample(struct scanner *s, struct bytes b)
{
	struct wire w = wire_init(b);
	struct wire_field f;
	size_t count = 0;

	while (wire_next(&w, &f)) {
		bool ok = true;

		if (f.number == 1)
			ok = scan_locations(s, &f);
		else if (f.number == 2)
			ok = scan_sample_values(s, &f, &count);
		else if (f.number == 3)
			ok = scan_label(s, &f);
		if (!ok)
			return false;
	}
	if (count != s->type_count || !s->type_count)
		return scan_refuse(
			s,
			s->type_count ?
				"a sample does not have one value for each sample type" :
				"the profile has samples but no sample types");
	s->out->sample_count++;
	return scan_ended(s, &w);
}

/*
 * Second walk over the input, when all tables are read: checks samples, and the
 * lines that scan_line() could not keep.
 */
static bool scan_samples(struct scanner *s, struct bytes raw)
{
	struct wire w = wire_init(raw);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == PROFILE_SAMPLE && !scan_sample(s, f.bytes))
			return false;
		if (f.number == PROFILE_LOCATION && s->lines_left &&
		    !scan_location(s, &f))
			return false;
	}
	return true;
}

/*
 * Check that every string index that is referred to is in the table. Index 0
 * is always referred to, as the default of drop_frames and other fields, so the
 * table must not be empty.
 */
static bool scan_strings(struct scanner *s)
{
	scan_refer(s, s->default_type);
	scan_refer(s, s->period_type.type);
	scan_refer(s, s->period_type.unit);
	for (size_t i = 0; i < ARRAY_SIZE(s->lone); i++)
		scan_refer(s, s->lone[i]);
	return s->max_string < s->string_count ||
	       scan_refuse(s, s->string_count ?
				      "a string index is out of range" :
				      "the string table is missing");
}

/* A request to store string number `i` in `*out`. */
struct wanted {
	uint64_t i;
	struct str *out;
};

/* qsort() order of struct wanted. */
static int by_index(const void *a, const void *b)
{
	uint64_t x = ((const struct wanted *)a)->i;
	uint64_t y = ((const struct wanted *)b)->i;

	return (x > y) - (x < y);
}

/*
 * Fulfil all requests in one walk over the strings of the input. A scan keeps
 * no string table, because its result contains only a few strings.
 */
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

/*
 * Store the names of types and units in the result of the scan, borrowed from
 * the input.
 */
static void scan_resolve(struct scanner *s, struct bytes raw)
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

/*
 * Prepare for the next scan. The typeset in *out is large and is not cleared:
 * scan_resolve() sets the parts that are used.
 */
static void scan_reset(struct scanner *s, struct scan *out)
{
	id_index_reset(&s->mappings);
	id_index_reset(&s->functions);
	id_index_reset(&s->locations);
	s->line_count = 0;
	s->string_count = 0;
	s->max_string = 0;
	s->type_count = 0;
	s->period_type = (struct scan_type_names){ 0 };
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

/*
 * If the input is obviously something other than a profile, such as the error
 * page of a web server, returns an error message that says so; otherwise NULL.
 */
static const char *other_format(struct bytes raw)
{
	struct str s = str_trim(str_from(raw));

	if (str_starts(s, str_of("<")))
		return "the data is HTML or XML";
	if (str_starts(s, str_of("{")) || str_starts(s, str_of("[")))
		return "the data is JSON";
	return NULL;
}

/* Fill *out from a profile that the legacy parser built. */
static void scan_describe(const struct pprof *p, struct scan *out)
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

/* Try the legacy formats. ERR_UNSUPPORTED: the input is in none of them. */
static int scan_legacy(struct scanner *s, struct bytes raw, struct scan *out,
		       struct err *err)
{
	struct pprof *p;
	int rc;

	if (!s->legacy)
		s->legacy = legacy_new((size_t)LEGACY_MEMORY);
	rc = legacy_parse(s->legacy, raw, &p, err);
	if (!rc) {
		scan_describe(p, out);
		out->hash = hash_bytes(raw);
	}
	return rc;
}

int scanner_run(struct scanner *s, struct bytes raw, struct scan *out,
		struct err *err)
{
	const char *other;
	int rc;

	scan_reset(s, out);
	if (!raw.len)
		return err_set(err, ERR_INVALID, "not a profile: no data");
	if (scan_tables(s, raw) && scan_seal(s) && scan_samples(s, raw) &&
	    scan_strings(s)) {
		scan_resolve(s, raw);
		out->hash = hash_bytes(raw);
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
