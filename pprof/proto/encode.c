/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/encode.h"

#include "base/gzip.h"

#include "base/enc.h"
#include "base/wire.h"
#include "pprof/proto/fields.h"

/*
 * The state of an encoder. As in pprof's encoder, strings are numbered again,
 * in the order of their first use.
 */
struct encoder {
	const struct pprof *p;
	struct buf *out;
	uint32_t *number;      /* new number of each string; 0: none yet */
	VEC(uint32_t) strings; /* for each new number: the old one */
	struct buf message;    /* message being built */
	struct buf inner;      /* message nested in `message` */
};

/*
 * Return the new number of string i, and assign one at the first use. The
 * empty string is always 0.
 */
static uint32_t encode_string(struct encoder *e, uint32_t i)
{
	if (!pprof_str(e->p, i).len)
		return 0;
	if (!e->number[i]) {
		e->number[i] = (uint32_t)e->strings.count;
		*vec_add(&e->strings) = i;
	}
	return e->number[i];
}

/* Append the key of a field: its number and wire type. */
static void encode_tag(struct buf *b, unsigned field, enum wire_type type)
{
	enc_uvarint(b, field << 3 | type);
}

/* Append a number field, even if it is 0. */
static void encode_number(struct buf *b, unsigned field, uint64_t v)
{
	encode_tag(b, field, WIRE_VARINT);
	enc_uvarint(b, v);
}

/* Append a number field unless it is 0, which is the default. */
static void encode_optional(struct buf *b, unsigned field, uint64_t v)
{
	if (v)
		encode_number(b, field, v);
}

/* Append a length-delimited field. */
static void encode_bytes(struct buf *b, unsigned field, struct bytes v)
{
	encode_tag(b, field, WIRE_BYTES);
	enc_str(b, str_from(v));
}

/*
 * Append the finished `message` to its parent `to` as a field, and empty the
 * buffer of `message`.
 */
static void encode_finish(struct buf *to, unsigned field, struct buf *message)
{
	encode_bytes(to, field, buf_bytes(message));
	buf_reset(message);
}

/*
 * Appends a repeated number field, packed if there are more than two numbers,
 * as pprof does. `element` is an expression that contains i; it is evaluated
 * twice for each i when packed.
 */
#define repeated(b, field, count, element)                          \
	do {                                                        \
		size_t len_ = 0;                                    \
                                                                    \
		for (size_t i = 0; (count) > 2 && i < (count); i++) \
			len_ += wire_varint_len(element);           \
		if ((count) > 2) {                                  \
			encode_tag(b, field, WIRE_BYTES);           \
			enc_uvarint(b, len_);                       \
		}                                                   \
		for (size_t i = 0; i < (count); i++) {              \
			if ((count) <= 2)                           \
				encode_tag(b, field, WIRE_VARINT);  \
			enc_uvarint(b, element);                    \
		}                                                   \
	} while (0)

/* Append a message ValueType. */
static void encode_value_type(struct encoder *e, unsigned field,
			      struct pprof_type t)
{
	encode_optional(&e->message, 1, encode_string(e, t.type));
	encode_optional(&e->message, 2, encode_string(e, t.unit));
	encode_finish(e->out, field, &e->message);
}

/* Append a label to the sample being built. */
static void encode_label(struct encoder *e, const struct pprof_label *l)
{
	struct buf *b = &e->inner;

	encode_optional(b, LABEL_KEY + 1, encode_string(e, l->key));
	if (l->is_number) {
		encode_optional(b, LABEL_NUM + 1, (uint64_t)l->num);
		encode_optional(b, LABEL_UNIT + 1, encode_string(e, l->unit));
	} else {
		encode_optional(b, LABEL_STR + 1, encode_string(e, l->str));
	}
	encode_finish(&e->message, SAMPLE_LABEL, b);
}

/* Append a sample. The id of a location is its place + 1. */
static void encode_sample(struct encoder *e, size_t s)
{
	const struct pprof *p = e->p;
	struct pprof_run stack = *pprof_stack(p, s);
	struct pprof_run set = p->label_sets.v[p->samples.v[s].labels];
	const uint32_t *frames = p->frames.v + stack.first;
	const int64_t *values = pprof_values(p, s);

	repeated(&e->message, SAMPLE_LOCATION, stack.count,
		 (uint64_t)frames[i] + 1);
	repeated(&e->message, SAMPLE_VALUE, p->types.count,
		 (uint64_t)values[i]);
	for (uint32_t i = 0; i < set.count; i++)
		encode_label(e, &p->labels.v[set.first + i]);
	encode_finish(e->out, PROFILE_SAMPLE, &e->message);
}

/*
 * Append a mapping. Strings are numbered in field order before the array is
 * initialised: C may evaluate initialisers in any order.
 */
static void encode_mapping(struct encoder *e, size_t i)
{
	const struct pprof_mapping *m = &e->p->mappings.v[i];
	uint32_t file = encode_string(e, m->file);
	uint32_t build_id = encode_string(e, m->build_id);
	uint64_t v[MAPPING_FIELDS] = {
		[MAPPING_ID] = i + 1,
		[MAPPING_START] = m->start,
		[MAPPING_LIMIT] = m->limit,
		[MAPPING_OFFSET] = m->offset,
		[MAPPING_FILE] = file,
		[MAPPING_BUILD_ID] = build_id,
		[MAPPING_HAS_FUNCTIONS] = m->has_functions,
		[MAPPING_HAS_FILENAMES] = m->has_filenames,
		[MAPPING_HAS_LINES] = m->has_lines,
		[MAPPING_HAS_INLINES] = m->has_inlines,
	};

	for (unsigned k = 0; k < MAPPING_FIELDS; k++)
		encode_optional(&e->message, k + 1, v[k]);
	encode_finish(e->out, PROFILE_MAPPING, &e->message);
}

/* Append a location with its lines. */
static void encode_location(struct encoder *e, size_t i)
{
	const struct pprof_location *l = &e->p->locations.v[i];
	struct buf *b = &e->message;

	encode_number(b, LOCATION_ID, i + 1);
	if (l->mapping != PPROF_NONE)
		encode_number(b, LOCATION_MAPPING, (uint64_t)l->mapping + 1);
	encode_optional(b, LOCATION_ADDRESS, l->address);
	for (uint32_t k = 0; k < l->lines.count; k++) {
		const struct pprof_line *line =
			&e->p->lines.v[l->lines.first + k];

		encode_number(&e->inner, LINE_FUNCTION + 1,
			      (uint64_t)line->function + 1);
		encode_optional(&e->inner, LINE_LINE + 1, (uint64_t)line->line);
		encode_optional(&e->inner, LINE_COLUMN + 1,
				(uint64_t)line->column);
		encode_finish(b, LOCATION_LINE, &e->inner);
	}
	encode_optional(b, LOCATION_FOLDED, l->folded);
	encode_finish(e->out, PROFILE_LOCATION, b);
}

/*
 * Append a function. As in encode_mapping(), the strings are numbered first.
 */
static void encode_function(struct encoder *e, size_t i)
{
	const struct pprof_function *f = &e->p->functions.v[i];
	uint32_t name = encode_string(e, f->name);
	uint32_t system_name = encode_string(e, f->system_name);
	uint32_t file = encode_string(e, f->file);
	uint64_t v[FUNCTION_FIELDS] = {
		[FUNCTION_ID] = i + 1,
		[FUNCTION_NAME] = name,
		[FUNCTION_SYSTEM_NAME] = system_name,
		[FUNCTION_FILE] = file,
		[FUNCTION_START_LINE] = (uint64_t)f->start_line,
	};

	for (unsigned k = 0; k < FUNCTION_FIELDS; k++)
		encode_optional(&e->message, k + 1, v[k]);
	encode_finish(e->out, PROFILE_FUNCTION, &e->message);
}

/*
 * Assign numbers to the strings of the fields that encode_header() writes.
 * These fields follow the string table, which must already contain their
 * strings.
 */
static void number_header(struct encoder *e)
{
	const struct pprof *p = e->p;

	encode_string(e, p->drop_frames);
	encode_string(e, p->keep_frames);
	encode_string(e, p->period_type.type);
	encode_string(e, p->period_type.unit);
	for (size_t i = 0; i < p->comments.count; i++)
		encode_string(e, p->comments.v[i]);
	encode_string(e, p->default_type);
	encode_string(e, p->doc_url);
}

/*
 * Append the fields of Profile that come after the string table: drop_frames,
 * keep_frames, times, period, comments, default type, documentation URL.
 */
static void encode_header(struct encoder *e)
{
	const struct pprof *p = e->p;
	struct buf *out = e->out;

	encode_optional(out, PROFILE_DROP_FRAMES,
			encode_string(e, p->drop_frames));
	encode_optional(out, PROFILE_KEEP_FRAMES,
			encode_string(e, p->keep_frames));
	encode_optional(out, PROFILE_TIME, (uint64_t)p->time_ns);
	encode_optional(out, PROFILE_DURATION, (uint64_t)p->duration_ns);
	if (encode_string(e, p->period_type.type) ||
	    encode_string(e, p->period_type.unit))
		encode_value_type(e, PROFILE_PERIOD_TYPE, p->period_type);
	encode_optional(out, PROFILE_PERIOD, (uint64_t)p->period);
	repeated(out, PROFILE_COMMENT, p->comments.count,
		 encode_string(e, p->comments.v[i]));
	encode_number(out, PROFILE_DEFAULT_TYPE,
		      encode_string(e, p->default_type));
	encode_optional(out, PROFILE_DOC_URL, encode_string(e, p->doc_url));
}

/* Write the messages in the same order as pprof's encoder. */
void pprof_encode(const struct pprof *p, struct buf *out)
{
	struct encoder e = { .p = p, .out = out };

	e.number = mem_zalloc(p->strings.strings.count + 1, sizeof(uint32_t));
	*vec_add(&e.strings) = 0;
	for (size_t i = 0; i < p->types.count; i++)
		encode_value_type(&e, PROFILE_SAMPLE_TYPE, p->types.v[i]);
	for (size_t i = 0; i < p->samples.count; i++)
		encode_sample(&e, i);
	for (size_t i = 0; i < p->mappings.count; i++)
		encode_mapping(&e, i);
	for (size_t i = 0; i < p->locations.count; i++)
		encode_location(&e, i);
	for (size_t i = 0; i < p->functions.count; i++)
		encode_function(&e, i);
	number_header(&e);
	for (size_t i = 0; i < e.strings.count; i++)
		encode_bytes(out, PROFILE_STRING,
			     bytes_of(pprof_str(p, e.strings.v[i])));
	encode_header(&e);
	mem_free(e.number);
	vec_fini(&e.strings);
	buf_fini(&e.message);
	buf_fini(&e.inner);
}

void pprof_encode_gzip(const struct pprof *p, int level, struct buf *out)
{
	struct buf raw = { 0 };
	struct gzip *g = gzip_new();

	pprof_encode(p, &raw);
	gzip_compress(g, level, buf_bytes(&raw), out);
	gzip_free(g);
	buf_fini(&raw);
}
