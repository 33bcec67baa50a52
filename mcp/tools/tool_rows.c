/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_rows.h"

#include "base/json.h"
#include "base/printable.h"

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
	printable_add(out, str_clip(name, max));
	if (name.len > max)
		buf_str(out, "...");
}

/* Whether a character may be in a cell without quotes. */
static bool tool_rows_is_plain(char c)
{
	return c > ' ' && c < 0x7f && c != ',' && c != '"' && c != '#';
}

/* Add a cell. */
static void tool_rows_cell(struct tool_rows *t, struct str s, bool quoted)
{
	tool_rows_separate(t);
	for (size_t i = 0; i < s.len && !quoted; i++)
		quoted = !tool_rows_is_plain(s.ptr[i]);
	quoted |= !s.len;
	if (quoted)
		buf_byte(&t->row, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			buf_byte(&t->row, '"');
		buf_byte(&t->row, (uint8_t)s.ptr[i]);
	}
	if (quoted)
		buf_byte(&t->row, '"');
}

void tool_rows_text(struct tool_rows *t, struct str text)
{
	struct buf clean = { 0 };

	tool_rows_name(&clean, text, ROWS_NAME_MAX);
	tool_rows_cell(t, str_from(buf_bytes(&clean)), false);
	buf_fini(&clean);
}

void tool_rows_names(struct tool_rows *t, struct str text, char separator,
		     size_t max)
{
	size_t count = str_count(text, separator) + 1;
	/* Names left out; in place of one, its number would be as long. */
	size_t out = count > max + 1 ? count - max : 0;
	struct buf clean = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct str name = str_cut(text, separator, &text);

		if (out && i == max / 2)
			buf_printf(&clean, "...%zu more...%c", out, separator);
		if (out && i >= max / 2 && i < max / 2 + out)
			continue;
		tool_rows_name(&clean, name, ROWS_NAME_MAX);
		if (i + 1 < count)
			buf_byte(&clean, (uint8_t)separator);
	}
	tool_rows_cell(t, str_from(buf_bytes(&clean)), true);
	buf_fini(&clean);
}

void tool_rows_line_text(struct tool_rows *t, struct str line)
{
	printable_add_lines(&t->row, str_clip(line, ROWS_NAME_MAX));
	if (line.len > ROWS_NAME_MAX)
		buf_str(&t->row, "...");
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

/* Cut the row at `max` bytes, and end the cell that is cut. */
static void tool_rows_cut(struct tool_rows *t, size_t max)
{
	static const char end[] = "...\"";
	bool quoted = false;

	max = max > sizeof(end) ? max - sizeof(end) : 0;
	t->row.len = str_clip(str_from(buf_bytes(&t->row)), max).len;
	for (size_t i = 0; i < t->row.len; i++)
		quoted ^= t->row.ptr[i] == '"';
	buf_add(&t->row, end, quoted ? 4 : 3);
}

bool tool_rows_end(struct tool_rows *t)
{
	size_t room = t->max_bytes > t->text.len ? t->max_bytes - t->text.len :
						   0;

	t->is_full = t->row.len + 1 > room;
	if (t->is_full && t->shown)
		return false;
	if (t->is_full)
		tool_rows_cut(t, room);
	buf_add(&t->text, t->row.ptr, t->row.len);
	buf_byte(&t->text, '\n');
	t->shown++;
	return true;
}

void tool_rows_line(const struct tool_rows *t, const char *what,
		    struct buf *out)
{
	int64_t next = t->offset + t->shown;

	if (t->shown)
		buf_printf(out, "# %s %lld to %lld of %lld", what,
			   (long long)t->offset + 1, (long long)next,
			   (long long)t->seen);
	else
		buf_printf(out, "# %s: none", what);
	if (!t->shown && t->seen)
		buf_printf(out, " of %lld: the offset is behind the last one",
			   (long long)t->seen);
	else if (next < t->seen)
		buf_printf(out, "; more: offset=%lld", (long long)next);
}

void tool_rows_fini(struct tool_rows *t)
{
	buf_fini(&t->text);
	buf_fini(&t->row);
}
