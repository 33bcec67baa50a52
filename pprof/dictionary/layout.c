/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/layout.h"

#include "base/wire.h"
#include "pprof/dictionary/intern.h"
#include "pprof/proto/fields.h"

/*
 * Number of operands of a field's operation; -1: no operation has this field.
 * COMMENT has 1, a count, after which that many texts follow.
 */
static int layout_read_operands(uint32_t field)
{
	switch (field) {
	case PROFILE_SAMPLE_TYPE:
	case PROFILE_PERIOD_TYPE:
		return 2;
	case PROFILE_DROP_FRAMES:
	case PROFILE_KEEP_FRAMES:
	case PROFILE_COMMENT:
	case PROFILE_DEFAULT_TYPE:
	case PROFILE_DOC_URL:
		return 1;
	case PROFILE_SAMPLE:
	case PROFILE_MAPPING:
	case PROFILE_LOCATION:
	case PROFILE_FUNCTION:
	case PROFILE_STRING:
	case PROFILE_TIME:
	case PROFILE_DURATION:
	case PROFILE_PERIOD:
		return 0;
	default:
		return -1;
	}
}

struct layout_walk_shape layout_walk_shape(const struct dictionary *d,
					   uint32_t shape,
					   enum dialect *dialect)
{
	struct pprof_run r = d->shapes.v[shape];
	const uint32_t *words = d->words.v + r.first;

	*dialect = words[0];
	return (struct layout_walk_shape){ .pos = words + 1,
					   .end = words + r.count };
}

/* Check no bounds, because layout_valid_shape() has checked all of them. */
bool layout_next_shape(struct layout_walk_shape *w, struct shape_op *out)
{
	if (w->pos == w->end)
		return false;
	out->field = *w->pos++;
	out->count = (size_t)layout_read_operands(out->field);
	if (out->field == PROFILE_COMMENT)
		out->count = *w->pos++;
	out->operands = w->pos;
	w->pos += out->count;
	return true;
}

bool layout_valid_shape(const uint32_t *words, size_t n, size_t strings)
{
	size_t i = 1;

	if (!n || n > SHAPE_WORDS_MAX || words[0] >= DIALECTS)
		return false;
	while (i < n) {
		bool counted = words[i] == PROFILE_COMMENT;
		int k = layout_read_operands(words[i++]);
		size_t count = (size_t)k;

		if (k < 0 || (counted && i == n))
			return false;
		if (counted)
			count = words[i++];
		if (count > n - i)
			return false;
		for (; count; count--) {
			if (words[i++] >= strings)
				return false;
		}
	}
	return true;
}

/* State of reading a shape from the bytes of a profile. */
struct reader {
	struct intern *in;
	bool inlined; /* whether locations are between samples (Go's dialect) */
	VEC(uint32_t) words;
	/* Index in `words` of the count of the current COMMENT; 0: none. */
	size_t comment;
	/* Whether the shape is too long, or a field is invalid. */
	bool bad;
};

/* Append a word to the shape, or set r->bad if the shape is full. */
static void layout_read_word(struct reader *r, uint32_t w)
{
	if (r->words.count == SHAPE_WORDS_MAX)
		r->bad = true;
	else
		*vec_add(&r->words) = w;
}

/* Append the dictionary's number of a string of the profile. */
static void layout_read_text(struct reader *r, uint64_t string)
{
	uint32_t to = 0;

	if (!intern_string(r->in, string, &to))
		r->bad = true;
	layout_read_word(r, to);
}

/* Append the type and the unit in a ValueType message. */
static void layout_value_type(struct reader *r, struct bytes message)
{
	struct wire w = wire_init(message);
	struct wire_field f;
	uint64_t v[2] = { 0 };

	while (wire_next(&w, &f)) {
		if (f.type != WIRE_VARINT || !f.number || f.number > 2)
			r->bad = true;
		else
			v[f.number - 1] = f.value;
	}
	layout_read_text(r, v[0]);
	layout_read_text(r, v[1]);
}

/* Append a comment. Consecutive comments become one operation. */
static void layout_read_comment(struct reader *r, uint64_t string)
{
	if (!r->comment) {
		layout_read_word(r, PROFILE_COMMENT);
		r->comment = r->words.count;
		layout_read_word(r, 0);
	}
	layout_read_text(r, string);
	if (!r->bad)
		r->words.v[r->comment]++;
}

/* Append the comments of a field: several if the field is packed, else one. */
static void layout_read_comments(struct reader *r, const struct wire_field *f)
{
	struct wire w;

	if (f->type == WIRE_VARINT) {
		layout_read_comment(r, f->value);
		return;
	}
	if (f->type != WIRE_BYTES) {
		r->bad = true;
		return;
	}
	w = wire_init(f->bytes);
	while (w.pos < w.end && !r->bad)
		layout_read_comment(r, wire_varint(&w));
}

/* Append the operation of one field, with its operands. */
static void layout_read_field(struct reader *r, const struct wire_field *f)
{
	uint32_t number = (uint32_t)f->number;

	if (f->number == PROFILE_COMMENT) {
		layout_read_comments(r, f);
		return;
	}
	r->comment = 0;
	if (f->number > PROFILE_DOC_URL)
		return; /* unknown; the number may exceed 32 bits */
	switch (layout_read_operands(number)) {
	case 2:
		r->bad = r->bad || f->type != WIRE_BYTES;
		layout_read_word(r, number);
		if (!r->bad)
			layout_value_type(r, f->bytes);
		break;
	case 1:
		r->bad = r->bad || f->type != WIRE_VARINT;
		layout_read_word(r, number);
		if (!r->bad)
			layout_read_text(r, f->value);
		break;
	case 0:
		layout_read_word(r, number);
		break;
	/*
	 * Unknown. The profile's patch (the bytes by which the profile differs
	 * from its replay) restores the field.
	 */
	default:
		break;
	}
}

/*
 * Whether consecutive fields with this number are one operation of the shape:
 * samples, mappings, locations, functions and strings.
 */
static bool is_row(uint64_t number)
{
	return number >= PROFILE_SAMPLE && number <= PROFILE_STRING;
}

/*
 * Return the number of the field whose operation includes this field. In Go's
 * dialect, SAMPLE includes locations and functions, which are written between
 * samples.
 */
static uint64_t row_of(const struct reader *r, uint64_t number)
{
	if (r->inlined &&
	    (number == PROFILE_LOCATION || number == PROFILE_FUNCTION))
		return PROFILE_SAMPLE;
	return number;
}

/*
 * The shape is validated like a stored shape, but without a limit on the
 * numbers of its texts, because intern_string() gives only valid ones.
 */
int layout_read_shape(struct bytes raw, enum dialect dialect, struct intern *in,
		      uint32_t *out, struct err *err)
{
	struct reader r = { .in = in, .inlined = dialect == DIALECT_GO };
	struct wire w = wire_init(raw);
	struct wire_field f = { 0 };
	uint64_t last = 0;

	layout_read_word(&r, dialect);
	while (!r.bad && wire_next(&w, &f)) {
		f.number = row_of(&r, f.number);
		if (f.number != last || !is_row(last))
			layout_read_field(&r, &f);
		last = f.number;
	}
	r.bad = r.bad || w.bad ||
		!layout_valid_shape(r.words.v, r.words.count, UINT32_MAX);
	if (!r.bad)
		*out = intern_shape(in, r.words.v, (uint32_t)r.words.count);
	vec_fini(&r.words);
	return r.bad ? err_set(err, ERR_UNSUPPORTED,
			       "the layout of the top-level fields is unknown") :
		       0;
}
