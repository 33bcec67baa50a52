/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: one event per line, in logfmt or JSON, written to a descriptor.
 *
 *	log_event(log, LOG_WARN, "record damaged",
 *		  LOG_FIELDS(log_text("file", path), log_int("offset", at)));
 *
 * Only cmd/ and the owners of background threads log; libraries return errors.
 *
 * Ownership: a log borrows its descriptor; texts in fields are borrowed for the
 * duration of the call.
 * Threads: any; each line is a single write().
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/bytes.h"
#include "base/defs.h"
#include "base/err.h"

/* Severity of an event, in increasing order. */
enum log_level {
	LOG_DEBUG,
	LOG_INFO,
	LOG_WARN,
	LOG_ERROR
};

/* A log: where its lines go, which events it contains, and in which format. */
struct log {
	int fd;               /* descriptor of the log file or stderr */
	enum log_level level; /* events below this level are dropped */
	/* whether lines are JSON objects instead of logfmt */
	bool json;
};

/*
 * A field of an event: a key and its value, which is `text` or, if `text` is
 * NULL, `number`.
 */
struct log_field {
	const char *key; /* NULL ends the list */
	const char *text;
	int64_t number; /* value of the field if `text` is NULL */
};

/* A field with a text; NULL is written as the empty text. */
static inline struct log_field log_text(const char *key, const char *text)
{
	return (struct log_field){ .key = key, .text = text ? text : "" };
}

/* A field with an integer. */
static inline struct log_field log_int(const char *key, int64_t number)
{
	return (struct log_field){ .key = key, .number = number };
}

/*
 * A field "err" with the message of an error; the text is empty if `err` is
 * NULL.
 */
static inline struct log_field log_err(const struct err *err)
{
	return log_text("err", err ? err->msg : NULL);
}

/* A list of fields as the argument of log_event(). */
#define LOG_FIELDS(...)                       \
	(struct log_field[])                  \
	{                                     \
		__VA_ARGS__, { .key = NULL }, \
	}

/*
 * Write one line with the time, the level, `msg` and the fields, unless `level`
 * is below log->level. `log` and `fields` may be NULL. Texts are cut after 7
 * KiB, and a field with which the line would exceed 8 KiB is left out. A
 * failing write is ignored.
 */
void log_event(const struct log *log, enum log_level level, const char *msg,
	       const struct log_field *fields);

/*
 * Parse "debug", "info", "warn" or "error". Returns false, and leaves *out
 * untouched, for anything else.
 */
NODISCARD bool log_level_parse(struct str name, enum log_level *out);

#endif
