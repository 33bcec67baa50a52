/* SPDX-License-Identifier: Apache-2.0 */
/* Printing for people, with control characters escaped. */
#include "cmd/cli/console.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/printable.h"

/* Print a buffer; write errors of stdout are reported by main(). */
static void console_write(FILE *out, struct buf *text)
{
	if (text->len)
		fwrite(text->ptr, 1, text->len, out);
	buf_fini(text);
}

static void console_vline(FILE *out, const char *prefix, const char *fmt,
			  va_list args) PRINTF(3, 0);

/* Print a line that begins with `prefix`, in one write. */
static void console_vline(FILE *out, const char *prefix, const char *fmt,
			  va_list args)
{
	struct buf text = { 0 };
	char *line;

	/* vasprintf() fails only when memory is exhausted. */
	if (vasprintf(&line, fmt, args) < 0)
		return;
	buf_str(&text, prefix);
	printable_add(&text, str_of(line));
	buf_byte(&text, '\n');
	console_write(out, &text);
	free(line);
}

void console_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	console_vline(stderr, "everprof: ", fmt, args);
	va_end(args);
}

void console_line(FILE *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	console_vline(out, "", fmt, args);
	va_end(args);
}

void console_text(FILE *out, struct str s)
{
	struct buf text = { 0 };

	printable_add(&text, s);
	console_write(out, &text);
}

void console_lines(FILE *out, struct str s)
{
	struct buf text = { 0 };

	printable_add_lines(&text, s);
	console_write(out, &text);
}
