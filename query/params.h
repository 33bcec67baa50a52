/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of a query, by name: those of a URL or a form, or of a command
 * line. Times are read here, once for all.
 *
 * Ownership: borrows names and values, which end in NUL.
 * Threads: a plain value.
 */
#ifndef QUERY_PARAMS_H
#define QUERY_PARAMS_H

#include "base/bytes.h"
#include "base/err.h"

struct query_param {
	struct str name;
	struct str value;
};

struct params {
	struct query_param *v;
	size_t count;
	int64_t now_ms; /* what "now-1h" is relative to */
};

/* The first parameter of that name; false when there is none. */
bool params_find(const struct params *p, const char *name, struct str *out);

/* Likewise; ERR_INVALID when it is missing or empty. */
NODISCARD int params_require(const struct params *p, const char *name,
			     struct str *out, struct err *err);

/*
 * A time in ms: parameter `ms_name` in milliseconds, or `s_name` in seconds;
 * both take RFC 3339 and now-1h. *out is `fallback` when neither is given,
 * unless that is TIME_REQUIRED. ERR_INVALID names the parameter.
 */
#define TIME_REQUIRED (INT64_MIN + 1)
struct time_param {
	const char *ms_name;
	const char *s_name; /* may be NULL */
	int64_t fallback;
};
NODISCARD int params_time(const struct params *p, const struct time_param *t,
			  int64_t *out, struct err *err);

/* Two times. ERR_INVALID when the second is before the first. */
NODISCARD int params_times(const struct params *p,
			   const struct time_param *first,
			   const struct time_param *last, int64_t *from,
			   int64_t *to, struct err *err);

/* The times from/to, or start/end in seconds. ERR_INVALID. */
NODISCARD int params_range(const struct params *p, int64_t from_fallback,
			   int64_t to_fallback, int64_t *from, int64_t *to,
			   struct err *err);

/* A whole number of at least 0; fallback when it is not given. ERR_INVALID. */
NODISCARD int params_count(const struct params *p, const char *name,
			   int64_t fallback, int64_t *out, struct err *err);

/* Whether it is given, and neither empty, "0" nor "false". */
bool params_is_on(const struct params *p, const char *name);

#endif
