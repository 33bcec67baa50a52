/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"

/* Longest line, in bytes: log shippers split or drop longer lines. */
#define LINE_MAX_BYTES (8 * KIB)
/* Longest value of a field in bytes, before escaping. */
#define VALUE_MAX_BYTES (7 * KIB)

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};

/* Write the time of day in UTC, as RFC 3339 with milliseconds. */
static void log_write_timestamp(char out[40])
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, 40 - n, ".%03ldZ", ts.tv_nsec / 1000000);
}

/*
 * Write a logfmt value: bare when it is a single plain word, otherwise as a
 * quoted string with JSON's escapes.
 */
static void logfmt_value(struct buf *b, struct str text)
{
	bool bare = text.len > 0;

	for (size_t i = 0; i < text.len && bare; i++)
		bare = text.ptr[i] > ' ' && text.ptr[i] < 0x7f &&
		       text.ptr[i] != '"' && text.ptr[i] != '=';
	if (bare)
		buf_add(b, text.ptr, text.len);
	else
		json_quote(b, text);
}

/*
 * Append one field. A separator comes before it, or, for the first field of a
 * line, the "{" of the JSON object if `json` is set. When `text` is NULL, the
 * value is `number`. A field that does not fit is left out, so that the line
 * stays well-formed.
 */
static void field_out(struct buf *b, bool json, const char *key,
		      const char *text, int64_t number)
{
	size_t before = b->len;

	if (json) {
		buf_byte(b, b->len ? ',' : '{');
		json_quote(b, str_of(key));
		buf_byte(b, ':');
	} else {
		if (b->len)
			buf_byte(b, ' ');
		buf_str(b, key);
		buf_byte(b, '=');
	}
	if (!text)
		buf_printf(b, "%lld", (long long)number);
	else if (json)
		json_quote(b, str_clip(str_of(text), VALUE_MAX_BYTES));
	else
		logfmt_value(b, str_clip(str_of(text), VALUE_MAX_BYTES));
	if (b->over) {
		b->over = false;
		b->len = before;
	}
}

void log_event(const struct log *log, enum log_level level, const char *msg,
	       const struct log_field *fields)
{
	struct buf b = buf_init(LINE_MAX_BYTES);
	char ts[40];

	if (!log || level < log->level)
		return;
	log_write_timestamp(ts);
	field_out(&b, log->json, "ts", ts, 0);
	field_out(&b, log->json, "level", level_names[level], 0);
	field_out(&b, log->json, "msg", msg, 0);
	for (; fields && fields->key; fields++)
		field_out(&b, log->json, fields->key, fields->text,
			  fields->number);
	b.max += 2; /* two more bytes, so that the end of the line fits */
	buf_str(&b, log->json ? "}\n" : "\n");
	/* A single write() keeps lines of several threads apart. */
	/* There is nowhere to report that the log cannot be written. */
	(void)!write(log->fd, b.ptr, b.len);
	buf_fini(&b);
}

bool log_level_parse(struct str name, enum log_level *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++) {
		if (str_is(name, level_names[i])) {
			*out = (enum log_level)i;
			return true;
		}
	}
	return false;
}
