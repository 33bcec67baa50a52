/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_reader.h"

#include "base/buf.h"

/* How the first byte of a text tells its form. */
enum {
	FORM_NULL,
	FORM_EMPTY,
	FORM_CONSTANT,
	FORM_UTF8,
	FORM_CHARS,
	FORM_LATIN1
};

/* Note that there are too few bytes; nothing more is read. */
static void jfr_reader_fail(struct jfr_reader *r)
{
	r->bad = true;
	r->pos = r->end;
}

uint64_t jfr_reader_number(struct jfr_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; r->pos < r->end; shift += 7) {
		uint8_t byte = *r->pos++;

		/* The ninth byte has eight bits. */
		if (shift == 56)
			return value | (uint64_t)byte << 56;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	jfr_reader_fail(r);
	return 0;
}

struct bytes jfr_reader_bytes(struct jfr_reader *r, uint64_t size)
{
	struct bytes out = { .ptr = r->pos, .len = (size_t)size };

	if (size > (uint64_t)(r->end - r->pos)) {
		jfr_reader_fail(r);
		return (struct bytes){ .len = 0 };
	}
	r->pos += size;
	return out;
}

uint64_t jfr_reader_fixed(struct jfr_reader *r, size_t size)
{
	struct bytes b = jfr_reader_bytes(r, size);
	uint64_t value = 0;

	for (size_t i = 0; i < b.len; i++)
		value = value << 8 | b.ptr[i];
	return value;
}

/* Read the numbers of a text of the form JFR_TEXT_CHARS. */
static struct bytes jfr_reader_chars(struct jfr_reader *r)
{
	uint64_t count = jfr_reader_number(r);
	struct bytes out = { .ptr = r->pos };

	while (count-- && !r->bad)
		(void)jfr_reader_number(r);
	out.len = r->bad ? 0 : (size_t)(r->pos - out.ptr);
	return out;
}

struct jfr_text jfr_reader_text(struct jfr_reader *r)
{
	struct jfr_text t = { .form = JFR_TEXT_NONE };

	switch (jfr_reader_fixed(r, 1)) {
	case FORM_NULL:
	case FORM_EMPTY:
		break;
	case FORM_CONSTANT:
		t.form = JFR_TEXT_POOLED;
		t.key = (int64_t)jfr_reader_number(r);
		break;
	case FORM_UTF8:
		t.form = JFR_TEXT_UTF8;
		t.bytes = jfr_reader_bytes(r, jfr_reader_number(r));
		break;
	case FORM_CHARS:
		t.form = JFR_TEXT_CHARS;
		t.bytes = jfr_reader_chars(r);
		break;
	case FORM_LATIN1:
		t.form = JFR_TEXT_LATIN1;
		t.bytes = jfr_reader_bytes(r, jfr_reader_number(r));
		break;
	default:
		jfr_reader_fail(r);
	}
	return t;
}

/* Whether a number is the first, or the second, half of a surrogate pair. */
static bool jfr_text_is_half(uint32_t c, uint32_t first)
{
	return c >= first && c < first + 0x400;
}

/* Decode UTF-16 (RFC 2781); half of a pair alone becomes a question mark. */
static void jfr_text_decode_chars(struct bytes b, struct buf *out)
{
	struct jfr_reader r = jfr_reader_init(b);
	uint32_t high = 0;

	while (r.pos < r.end && !r.bad) {
		uint32_t c = (uint32_t)jfr_reader_number(&r) & 0xffff;

		if (high && jfr_text_is_half(c, 0xdc00)) {
			buf_utf8_char(out, 0x10000 + ((high - 0xd800) << 10) +
						   (c - 0xdc00));
			high = 0;
			continue;
		}
		if (high)
			buf_byte(out, '?');
		high = jfr_text_is_half(c, 0xd800) ? c : 0;
		if (!high)
			buf_utf8_char(out,
				      jfr_text_is_half(c, 0xdc00) ? '?' : c);
	}
	if (high)
		buf_byte(out, '?');
}

struct str jfr_text_decode(const struct jfr_text *t, struct arena *arena,
			   struct convert_meter *m)
{
	struct bytes b = t->bytes;
	struct buf out = { 0 };
	struct str text;

	if (b.len > JFR_TEXT_MAX)
		b.len = JFR_TEXT_MAX;
	convert_meter_note(m, b.len);
	if (t->form == JFR_TEXT_UTF8)
		return str_clip(str_from(t->bytes), JFR_TEXT_MAX);
	if (t->form == JFR_TEXT_CHARS)
		jfr_text_decode_chars(b, &out);
	for (size_t i = 0; t->form == JFR_TEXT_LATIN1 && i < b.len; i++)
		buf_utf8_char(&out, b.ptr[i]);
	text = arena_str(arena, str_from(buf_bytes(&out)));
	buf_fini(&out);
	return text;
}
