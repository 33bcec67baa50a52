/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_rows.h"

#include <string.h>

#include "base/json.h"

void tool_rows_init(struct tool_rows *t, const char *columns, int64_t offset,
		    int64_t limit, size_t max_bytes)
{
	*t = (struct tool_rows){ .offset = offset,
				 .limit = limit,
				 .max_bytes = max_bytes };
	buf_str(&t->text, columns);
	buf_byte(&t->text, '\n');
}

bool tool_rows_begin(struct tool_rows *t)
{
	buf_reset(&t->row);
	t->seen++;
	return t->seen > t->offset && t->shown < t->limit && !t->is_full;
}

/* Begin a cell. */
static void tool_rows_separate(struct tool_rows *t)
{
	if (t->row.len)
		buf_byte(&t->row, ',');
}

void tool_rows_name(struct buf *out, struct str name, size_t max)
{
	struct str clipped = str_clip(name, max);

	while (clipped.len) {
		size_t n = str_utf8_len(clipped);

		/* Neither control characters nor bytes of no character. */
		if (n == 1 ? (unsigned char)*clipped.ptr >= ' ' &&
				     *clipped.ptr != 0x7f :
			     n > 1)
			buf_add(out, clipped.ptr, n);
		n = n ? n : 1;
		clipped.ptr += n;
		clipped.len -= n;
	}
	if (name.len > max)
		buf_str(out, "...");
}

void tool_rows_text(struct tool_rows *t, struct str text)
{
	struct buf clean = { 0 };
	struct str s;
	bool quoted;

	tool_rows_separate(t);
	tool_rows_name(&clean, text, ROWS_NAME_MAX);
	s = str_from(buf_bytes(&clean));
	/* A name that reads like a sentence is seen to be a name. */
	quoted = !s.len || memchr(s.ptr, ',', s.len) ||
		 memchr(s.ptr, '"', s.len) || memchr(s.ptr, ' ', s.len);
	if (quoted)
		buf_byte(&t->row, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			buf_byte(&t->row, '"');
		buf_byte(&t->row, (uint8_t)s.ptr[i]);
	}
	if (quoted)
		buf_byte(&t->row, '"');
	buf_fini(&clean);
}

void tool_rows_number(struct tool_rows *t, int64_t value)
{
	tool_rows_separate(t);
	buf_printf(&t->row, "%lld", (long long)value);
}

void tool_rows_scaled(struct tool_rows *t, double value)
{
	struct json j = json_init(&t->row);

	tool_rows_separate(t);
	json_rounded(&j, value, 4);
}

void tool_rows_percent(struct tool_rows *t, int64_t value, int64_t total)
{
	tool_rows_separate(t);
	if (total)
		buf_printf(&t->row, "%.1f",
			   100 * (double)value / (double)total);
}

bool tool_rows_end(struct tool_rows *t)
{
	t->is_full = t->text.len + t->row.len + 1 > t->max_bytes;
	if (t->is_full)
		return false;
	buf_add(&t->text, t->row.ptr, t->row.len);
	buf_byte(&t->text, '\n');
	t->shown++;
	return true;
}

void tool_rows_fini(struct tool_rows *t)
{
	buf_fini(&t->text);
	buf_fini(&t->row);
}
