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

/* Where lines go and which of them are written. */
struct log {
	int fd;               /* descriptor of the log file or stderr */
	enum log_level level; /* events below this level are dropped */
	/* whether lines are JSON objects instead of logfmt */
	bool json;
};

/* A key with a text or, when text is NULL, with a number. */
struct log_field {
	const char *key; /* NULL ends the list */
	const char *text;
	int64_t number; /* the value when text is NULL */
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

/* A field "err" with the message of an error; empty for NULL. */
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
 * Write one line with the time, the level, msg and the fields, unless `level`
 * is below log->level. log and fields may be NULL. Lines longer than 8 KiB are
 * cut. A failing write is ignored.
 */
void log_event(const struct log *log, enum log_level level, const char *msg,
	       const struct log_field *fields);

/*
 * Parse "debug", "info", "warn" or "error". Returns false, and leaves *out
 * untouched, for anything else.
 */
NODISCARD bool log_level_parse(struct str name, enum log_level *out);

#endif
