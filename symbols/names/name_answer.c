/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/name_answer.h"

#include "base/enc.h"

void name_answer_begin(struct buf *out, size_t count)
{
	enc_uvarint(out, count);
}

/*
 * Add a text that was read from an untrusted file. A long text is cut, and each
 * byte that is not UTF-8 becomes a '?', so that the names of a profile are
 * always valid UTF-8.
 */
static void name_answer_text(struct buf *out, struct str s)
{
	struct buf clean = { 0 };

	if (s.len > NAME_TEXT_MAX)
		s.len = NAME_TEXT_MAX;
	buf_utf8(&clean, s, "?");
	enc_str(out, str_from(buf_bytes(&clean)));
	buf_fini(&clean);
}

void name_answer_add(struct buf *out, const struct name_frame *frame)
{
	bool same = str_eq(frame->name, frame->system_name);

	/* name_answer_frame() rejects functions without a name. */
	name_answer_text(out, frame->system_name.len ? frame->system_name :
						       str_of("?"));
	name_answer_text(out, same ? (struct str){ 0 } : frame->name);
	name_answer_text(out, frame->file);
	enc_uvarint(out, frame->line <= INT32_MAX ? frame->line : 0);
	enc_uvarint(out,
		    frame->start_line <= INT32_MAX ? frame->start_line : 0);
}

size_t name_answer_next(struct dec *d)
{
	return dec_count(d, NAME_FRAMES_MAX);
}

static struct str name_answer_read(struct dec *d)
{
	struct str s = dec_str(d);

	if (s.len > NAME_TEXT_MAX || !str_is_utf8(s))
		d->bad = true;
	return d->bad ? (struct str){ 0 } : s;
}

struct name_frame name_answer_frame(struct dec *d)
{
	struct name_frame f = { 0 };

	f.system_name = name_answer_read(d);
	f.name = name_answer_read(d);
	f.file = name_answer_read(d);
	f.line = dec_uvarint(d);
	f.start_line = dec_uvarint(d);
	if (!f.name.len)
		f.name = f.system_name;
	if (!f.system_name.len || f.line > INT32_MAX ||
	    f.start_line > INT32_MAX)
		d->bad = true;
	return f;
}
