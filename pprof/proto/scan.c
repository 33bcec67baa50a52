/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/scan.h"

#include <stdlib.h>

#include "base/hash.h"
#include "pprof/legacy/legacy.h"
#include "pprof/proto/proto_reader.h"

/*
 * Largest number of lines whose function ids are kept until all functions are
 * known. If a profile has more lines, its locations are read a second time.
 */
#define LINES_KEPT MIB

/* Memory bound, in bytes, of the parser of legacy formats. */
#define LEGACY_MEMORY (256 * MIB)

/* A value type: the string indexes of its name and unit. */
struct scan_type_names {
	uint64_t type;
	uint64_t unit;
};

/* The state of a scanner. */
struct scanner {
	struct proto_reader reader;
	struct scan_type_names types[TYPES_MAX];
	uint64_t *line_functions; /* function ids that lines refer to */
	size_t line_count;
	size_t line_cap;
	/* String indexes of the names of text labels, each once. */
	uint64_t label_keys[SCAN_LABELS_MAX];
	size_t label_key_count;
	struct legacy *legacy; /* parser of legacy formats; NULL until needed */
	struct scan *out;
};

static bool scan_type(void *ctx, uint64_t type, uint64_t unit)
{
	struct scanner *s = ctx;

	s->types[s->reader.type_count - 1] =
		(struct scan_type_names){ type, unit };
	return true;
}

/*
 * Check the function of a line. Functions may follow later in the input, so up
 * to LINES_KEPT function ids are kept, which scan_sealed() checks.
 */
static bool scan_line(void *ctx, const uint64_t v[LINE_FIELDS])
{
	struct scanner *s = ctx;

	if (s->reader.sealed)
		return id_index_has(&s->reader.functions, v[LINE_FUNCTION]) ||
		       proto_reader_refuse_line(&s->reader);
	if (s->line_count == LINES_KEPT) {
		s->reader.lines_again = true;
		return true;
	}
	s->line_functions = mem_grow(s->line_functions, s->line_count,
				     &s->line_cap, sizeof(uint64_t));
	s->line_functions[s->line_count++] = v[LINE_FUNCTION];
	return true;
}

/* Check that the functions of the lines exist that were kept. */
static bool scan_sealed(void *ctx)
{
	struct scanner *s = ctx;

	for (size_t i = 0; i < s->line_count; i++) {
		if (!id_index_has(&s->reader.functions, s->line_functions[i]))
			return proto_reader_refuse_line(&s->reader);
	}
	return true;
}

/* Check that a location of a sample exists. */
static bool scan_frame(void *ctx, uint64_t id)
{
	struct scanner *s = ctx;

	return id_index_has(&s->reader.locations, id) ||
	       proto_reader_refuse_location(&s->reader);
}

/*
 * Read ids of locations from `w` as long as they have one or two bytes, and
 * leaves the last bytes to the caller. Returns whether all of them are from 1 to
 * the number of locations. Most of the time of a scan is spent here: eight bytes
 * are loaded at once, and the loop has no branch that depends on an id's length.
 */
static bool scan_short_ids(const struct id_index *locations, struct wire *w)
{
	const uint8_t *p = w->pos;
	uint64_t count = locations->count;
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

/* Check that the locations of a sample exist. */
static bool scan_frames(void *ctx, struct wire *ids)
{
	struct scanner *s = ctx;
	const struct id_index *locations = &s->reader.locations;

	if (!locations->scattered && !scan_short_ids(locations, ids))
		return proto_reader_refuse_location(&s->reader);
	while (ids->pos < ids->end) {
		uint64_t id = wire_varint(ids);

		if (ids->bad)
			break;
		if (!id_index_has(locations, id))
			return proto_reader_refuse_location(&s->reader);
	}
	return proto_reader_ended(&s->reader, ids);
}

/* Add a value to the total of its sample type. */
static bool scan_value(void *ctx, size_t i, uint64_t value)
{
	struct scanner *s = ctx;

	s->out->totals[i] = wrap_add(s->out->totals[i], (int64_t)value);
	return true;
}

/*
 * Note the name of a label that is a text: a number has none. Profiles have few
 * names.
 */
static bool scan_label(void *ctx, const uint64_t v[LABEL_FIELDS])
{
	struct scanner *s = ctx;
	size_t count = s->label_key_count;
	size_t i = 0;

	if (!v[LABEL_STR])
		return true;
	while (i < count && s->label_keys[i] != v[LABEL_KEY])
		i++;
	if (i < count)
		return true;
	if (count < SCAN_LABELS_MAX)
		s->label_keys[s->label_key_count++] = v[LABEL_KEY];
	else
		s->out->more_label_names = true;
	return true;
}

static bool scan_sample(void *ctx)
{
	struct scanner *s = ctx;

	s->out->sample_count++;
	return true;
}

struct scanner *scanner_new(void)
{
	static const struct proto_parts parts = {
		.type = scan_type,
		.line = scan_line,
		.sealed = scan_sealed,
		.frame = scan_frame,
		.frames = scan_frames,
		.value = scan_value,
		.label = scan_label,
		.sample = scan_sample,
	};
	struct scanner *s = mem_new(struct scanner);

	s->reader.parts = &parts;
	s->reader.ctx = s;
	return s;
}

void scanner_free(struct scanner *s)
{
	if (!s)
		return;
	proto_reader_fini(&s->reader);
	mem_free(s->line_functions);
	legacy_free(s->legacy);
	mem_free(s);
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
	struct wanted v[2 * TYPES_MAX + 3 + SCAN_LABELS_MAX];
	const struct proto_header *h = &s->reader.header;
	struct typeset *t = &s->out->types;
	size_t n = 0;

	t->count = s->reader.type_count;
	for (size_t i = 0; i < t->count; i++) {
		v[n++] = (struct wanted){ s->types[i].type, &t->types[i].type };
		v[n++] = (struct wanted){ s->types[i].unit, &t->types[i].unit };
	}
	v[n++] = (struct wanted){ h->default_type, &t->default_type };
	v[n++] = (struct wanted){ h->period_type[0], &t->period.type };
	v[n++] = (struct wanted){ h->period_type[1], &t->period.unit };
	for (size_t i = 0; i < s->label_key_count; i++)
		v[n++] = (struct wanted){ s->label_keys[i],
					  &s->out->label_names[i] };
	s->out->label_name_count = s->label_key_count;
	find_strings(raw, v, n);
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
	/* The bound is fixed, so the profile will never fit. */
	if (rc == ERR_LIMIT)
		rc = err->code = ERR_TOOBIG;
	return rc;
}

/*
 * Prepare for the next scan. The typeset in *out is large and is not cleared:
 * scan_resolve() sets the parts that are used.
 */
static void scan_reset(struct scanner *s, struct scan *out)
{
	s->line_count = 0;
	s->label_key_count = 0;
	s->out = out;
	memset(out->totals, 0, sizeof(out->totals));
	out->sample_count = 0;
	out->label_name_count = 0;
	out->more_label_names = false;
}

int scanner_run(struct scanner *s, struct bytes raw, struct scan *out,
		struct err *err)
{
	const char *other;
	int rc;

	scan_reset(s, out);
	if (!raw.len)
		return err_set(err, ERR_INVALID, "not a profile: no data");
	if (proto_reader_run(&s->reader, raw)) {
		out->time_ns = s->reader.header.time_ns;
		out->duration_ns = s->reader.header.duration_ns;
		out->period = s->reader.header.period;
		scan_resolve(s, raw);
		out->hash = hash_bytes(raw);
		return 0;
	}
	if (!s->reader.concatenated) {
		rc = scan_legacy(s, raw, out, err);
		if (rc != ERR_UNSUPPORTED)
			return rc;
	}
	other = other_format(raw);
	return err_set(err, ERR_INVALID, "not a profile: %s",
		       other ? other : s->reader.why);
}
