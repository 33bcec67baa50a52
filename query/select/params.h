/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of a query, looked up by name. They come from a URL, a form or a
 * command line. The functions also parse times and numbers.
 *
 * Ownership: borrows names and values, which must end in NUL.
 * Threads: a plain value.
 */
#ifndef QUERY_SELECT_PARAMS_H
#define QUERY_SELECT_PARAMS_H

#include "base/bytes.h"
#include "base/err.h"

struct arena;
struct selector;

enum {
	/*
	 * Largest number of parameters of a request: those in the URL plus
	 * those in the form.
	 */
	PARAMS_MAX = 1000
};

/* One parameter, with escapes decoded. */
struct query_param {
	struct str name;
	struct str value;
};

/* All parameters of a request in their original order; names may repeat. */
struct params {
	struct query_param *v;
	size_t count;
	/* Current time in ms, for relative times such as "now-1h". */
	int64_t now_ms;
};

/*
 * Append a parameter. The texts of `name` and `value` must outlive p; the array
 * of parameters is allocated in the arena. Returns false when there are too
 * many parameters.
 */
bool params_add(struct params *p, struct arena *a, struct str name,
		struct str value);

/*
 * Append the parameters of a form, or of the part of a URL after "?", decoded
 * into the arena. The text must be valid (url_is_sound()). Returns false when
 * there are too many parameters; the first PARAMS_MAX are then appended.
 */
bool params_add_form(struct params *p, struct arena *a, struct str form);

/*
 * Find the first parameter with this name. If there is none, returns false and
 * does not change *out.
 */
bool params_find(const struct params *p, const char *name, struct str *out);

/*
 * Find the next parameter with this name, for parameters that may repeat. *at
 * is 0 for the first call, and is advanced. Returns false, without changing
 * *out, when there are no more.
 */
bool params_next(const struct params *p, const char *name, size_t *at,
		 struct str *out);

/*
 * Find a parameter as params_find() does, but return ERR_INVALID when it is
 * missing or empty.
 */
NODISCARD int params_require(const struct params *p, const char *name,
			     struct str *out, struct err *err);

/*
 * Parse the value of the parameter `name` as a selector. ERR_INVALID: the
 * message names the parameter, and the position in the selector. The caller
 * calls selector_fini() after success.
 */
NODISCARD int params_selector(const char *name, struct str text,
			      struct selector *out, struct err *err);

/* Value of time_param.fallback that makes the parameter mandatory. */
#define TIME_REQUIRED (INT64_MIN + 1)

/*
 * How a time is given: by the parameter called `ms_name`, in milliseconds, or,
 * if that parameter is missing, by the parameter called `s_name`, in seconds.
 * Both also accept RFC 3339 and relative times such as now-1h.
 */
struct time_param {
	const char *ms_name;
	const char *s_name; /* name of the parameter in seconds, or NULL */
	/* Time in ms if both parameters are missing, or TIME_REQUIRED. */
	int64_t fallback;
};

/*
 * Parse a time, in ms since the epoch. Without a value *out is set to the
 * fallback. Returns ERR_INVALID, with the parameter's name, when the time is
 * malformed, or missing although it is required.
 */
NODISCARD int params_time(const struct params *p, const struct time_param *t,
			  int64_t *out, struct err *err);

/*
 * Parse the two ends of a time range. Returns ERR_INVALID as params_time()
 * does, and when the range ends before it starts.
 */
NODISCARD int params_times(const struct params *p,
			   const struct time_param *first,
			   const struct time_param *last, int64_t *from,
			   int64_t *to, struct err *err);

/*
 * Parse a time range from the parameters "from" and "to" in ms, or "start" and
 * "end" in seconds. Returns ERR_INVALID as params_times() does.
 */
NODISCARD int params_range(const struct params *p, int64_t from_fallback,
			   int64_t to_fallback, int64_t *from, int64_t *to,
			   struct err *err);

/*
 * Parse a whole number of at least 0. *out is set to `fallback` when the
 * parameter is missing or empty. Returns ERR_INVALID for any other value.
 */
NODISCARD int params_count(const struct params *p, const char *name,
			   int64_t fallback, int64_t *out, struct err *err);

/*
 * Whether a parameter switches something on: it is given, and neither empty nor
 * "0" nor "false".
 */
bool params_is_on(const struct params *p, const char *name);

#endif
