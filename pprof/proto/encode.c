/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/encode.h"

#include "base/enc.h"
#include "pprof/wire/fields.h"
#include "pprof/wire/wire.h"

/* New numbers for strings: in the order in which they are first needed. */
struct encoder {
	const struct pprof *p;
	struct buf *out;
	uint32_t *number;      /* by string, 0: none yet */
	VEC(uint32_t) strings; /* by number */
	struct buf message;
	struct buf inner;
};

static uint32_t string(struct encoder *e, uint32_t i)
{
	if (!pprof_str(e->p, i).len)
		return 0;
	if (!e->number[i]) {
		e->number[i] = (uint32_t)e->strings.count;
		*vec_add(&e->strings) = i;
	}
	return e->number[i];
}

static void tag(struct buf *b, unsigned field, enum wire_type type)
{
	enc_uvarint(b, field << 3 | type);
}

static void number(struct buf *b, unsigned field, uint64_t v)
{
	tag(b, field, WIRE_VARINT);
	enc_uvarint(b, v);
}

static void optional(struct buf *b, unsigned field, uint64_t v)
{
	if (v)
		number(b, field, v);
}

static void bytes(struct buf *b, unsigned field, struct bytes v)
{
	tag(b, field, WIRE_BYTES);
	enc_str(b, str_from(v));
}

static void finish(struct buf *to, unsigned field, struct buf *message)
{
	bytes(to, field, buf_bytes(message));
	buf_reset(message);
}

/* Packed when there are more than two. */
#define repeated(b, field, count, element)                          \
	do {                                                        \
		size_t len_ = 0;                                    \
                                                                    \
		for (size_t i = 0; (count) > 2 && i < (count); i++) \
			len_ += wire_varint_len(element);           \
		if ((count) > 2) {                                  \
			tag(b, field, WIRE_BYTES);                  \
			enc_uvarint(b, len_);                       \
		}                                                   \
		for (size_t i = 0; i < (count); i++) {              \
			if ((count) <= 2)                           \
				tag(b, field, WIRE_VARINT);         \
			enc_uvarint(b, element);                    \
		}                                                   \
	} while (0)

static void value_type(struct encoder *e, unsigned field, struct pprof_type t)
{
	optional(&e->message, 1, string(e, t.type));
	optional(&e->message, 2, string(e, t.unit));
	finish(e->out, field, &e->message);
}

static void label(struct encoder *e, const struct pprof_label *l)
{
	struct buf *b = &e->inner;

	optional(b, LABEL_KEY + 1, string(e, l->key));
	if (l->is_number) {
		optional(b, LABEL_NUM + 1, (uint64_t)l->num);
		optional(b, LABEL_UNIT + 1, string(e, l->unit));
	} else {
		optional(b, LABEL_STR + 1, string(e, l->str));
	}
	finish(&e->message, SAMPLE_LABEL, b);
}

static void sample(struct encoder *e, size_t s)
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
		label(e, &p->labels.v[set.first + i]);
	finish(e->out, PROFILE_SAMPLE, &e->message);
}

static void mapping(struct encoder *e, size_t i)
{
	const struct pprof_mapping *m = &e->p->mappings.v[i];
	uint32_t file = string(e, m->file);
	uint32_t build_id = string(e, m->build_id);
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
		optional(&e->message, k + 1, v[k]);
	finish(e->out, PROFILE_MAPPING, &e->message);
}

static void location(struct encoder *e, size_t i)
{
	const struct pprof_location *l = &e->p->locations.v[i];
	struct buf *b = &e->message;

	number(b, LOCATION_ID, i + 1);
	if (l->mapping != PPROF_NONE)
		number(b, LOCATION_MAPPING, (uint64_t)l->mapping + 1);
	optional(b, LOCATION_ADDRESS, l->address);
	for (uint32_t k = 0; k < l->lines.count; k++) {
		const struct pprof_line *line =
			&e->p->lines.v[l->lines.first + k];

		number(&e->inner, LINE_FUNCTION + 1,
		       (uint64_t)line->function + 1);
		optional(&e->inner, LINE_LINE + 1, (uint64_t)line->line);
		optional(&e->inner, LINE_COLUMN + 1, (uint64_t)line->column);
		finish(b, LOCATION_LINE, &e->inner);
	}
	optional(b, LOCATION_FOLDED, l->folded);
	finish(e->out, PROFILE_LOCATION, b);
}

static void function(struct encoder *e, size_t i)
{
	const struct pprof_function *f = &e->p->functions.v[i];
	uint32_t name = string(e, f->name);
	uint32_t system_name = string(e, f->system_name);
	uint32_t file = string(e, f->file);
	uint64_t v[FUNCTION_FIELDS] = {
		[FUNCTION_ID] = i + 1,
		[FUNCTION_NAME] = name,
		[FUNCTION_SYSTEM_NAME] = system_name,
		[FUNCTION_FILE] = file,
		[FUNCTION_START_LINE] = (uint64_t)f->start_line,
	};

	for (unsigned k = 0; k < FUNCTION_FIELDS; k++)
		optional(&e->message, k + 1, v[k]);
	finish(e->out, PROFILE_FUNCTION, &e->message);
}

/* Numbers for what is written after the table of strings. */
static void number_header(struct encoder *e)
{
	const struct pprof *p = e->p;

	string(e, p->drop_frames);
	string(e, p->keep_frames);
	string(e, p->period_type.type);
	string(e, p->period_type.unit);
	for (size_t i = 0; i < p->comments.count; i++)
		string(e, p->comments.v[i]);
	string(e, p->default_type);
	string(e, p->doc_url);
}

static void header(struct encoder *e)
{
	const struct pprof *p = e->p;
	struct buf *out = e->out;

	optional(out, PROFILE_DROP_FRAMES, string(e, p->drop_frames));
	optional(out, PROFILE_KEEP_FRAMES, string(e, p->keep_frames));
	optional(out, PROFILE_TIME, (uint64_t)p->time_ns);
	optional(out, PROFILE_DURATION, (uint64_t)p->duration_ns);
	if (string(e, p->period_type.type) || string(e, p->period_type.unit))
		value_type(e, PROFILE_PERIOD_TYPE, p->period_type);
	optional(out, PROFILE_PERIOD, (uint64_t)p->period);
	repeated(out, PROFILE_COMMENT, p->comments.count,
		 string(e, p->comments.v[i]));
	number(out, PROFILE_DEFAULT_TYPE, string(e, p->default_type));
	optional(out, PROFILE_DOC_URL, string(e, p->doc_url));
}

void pprof_encode(const struct pprof *p, struct buf *out)
{
	struct encoder e = { .p = p, .out = out };

	e.number = mem_zalloc(p->strings.strings.count + 1, sizeof(uint32_t));
	*vec_add(&e.strings) = 0;
	for (size_t i = 0; i < p->types.count; i++)
		value_type(&e, PROFILE_SAMPLE_TYPE, p->types.v[i]);
	for (size_t i = 0; i < p->samples.count; i++)
		sample(&e, i);
	for (size_t i = 0; i < p->mappings.count; i++)
		mapping(&e, i);
	for (size_t i = 0; i < p->locations.count; i++)
		location(&e, i);
	for (size_t i = 0; i < p->functions.count; i++)
		function(&e, i);
	number_header(&e);
	for (size_t i = 0; i < e.strings.count; i++)
		bytes(out, PROFILE_STRING,
		      bytes_of(pprof_str(p, e.strings.v[i])));
	header(&e);
	mem_free(e.number);
	vec_fini(&e.strings);
	buf_fini(&e.message);
	buf_fini(&e.inner);
}
