/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/scan.h"

#include <stdlib.h>

#include "base/hash.h"
#include "pprof/proto/fields.h"
#include "pprof/proto/scan_private.h"
#include "pprof/proto/scan_tables.h"

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
 * Checks that ids are unique and that the functions of lines exist, once all
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

/* Checks that a location of a sample exists. */
static bool known_location(struct scanner *s, uint64_t id)
{
	return id_index_has(&s->locations, id) || scan_refuse(s, NO_LOCATION);
}

/*
 * Reads ids of locations from `w` as long as they have one or two bytes, and
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
 * Checks that the locations in a sample's stack exist; the field is packed or
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
 * Adds value number *count of a sample to the total of its sample type, and
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

/* Adds the values of a sample, packed or not. */
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
 * Checks a label: key, string, number, unit. As in pprof, a label with string
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
 * Checks a sample: its locations must exist, and it must have one value for
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
 * Checks that every string index that is referred to is in the table. Index 0
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
 * Fulfils all requests in one walk over the strings of the input. A scan keeps
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
 * Stores the names of types and units in the result of the scan, borrowed from
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
 * Prepares for the next scan. The typeset in *out is large and is not cleared:
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

/* Fills *out from a profile that the legacy parser built. */
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

/* Tries the legacy formats. ERR_UNSUPPORTED: the input is in none of them. */
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
