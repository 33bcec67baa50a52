/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: one event a line, logfmt or JSON, to a descriptor.
 *
 *	log_event(log, LOG_WARN, "record damaged",
 *		  LOG_FIELDS(log_text("file", path), log_int("offset", at)));
 *
 * Only cmd/ and the owners of loops log; libraries return errors.
 *
 * Ownership: a log borrows its file; texts of fields are borrowed for the
 * call.
 * Threads: any; each line is one write.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/bytes.h"
#include "base/defs.h"
#include "base/err.h"

enum log_level {
	LOG_DEBUG,
	LOG_INFO,
	LOG_WARN,
	LOG_ERROR
};

struct log {
	int fd;
	enum log_level level;
	bool json;
};

struct log_field {
	const char *key; /* NULL ends the list */
	const char *text;
	int64_t number; /* when text is NULL */
};

static inline struct log_field log_text(const char *key, const char *text)
{
	return (struct log_field){ .key = key, .text = text ? text : "" };
}

static inline struct log_field log_int(const char *key, int64_t number)
{
	return (struct log_field){ .key = key, .number = number };
}

/* The field "err" with the sentence of an error. */
static inline struct log_field log_err(const struct err *err)
{
	return log_text("err", err->msg);
}

#define LOG_FIELDS(...)                       \
	(struct log_field[])                  \
	{                                     \
		__VA_ARGS__, { .key = NULL }, \
	}

/* Write a line when level is high enough. log and fields may be NULL. */
void log_event(const struct log *log, enum log_level level, const char *msg,
	       const struct log_field *fields);

/* Parse "debug", "info", "warn" or "error"; false for anything else. */
NODISCARD bool log_level_parse(struct str name, enum log_level *out);

#endif
