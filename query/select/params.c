/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/params.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "base/url.h"
#include "model/selector.h"

bool params_add(struct params *p, struct arena *a, struct str name,
		struct str value)
{
	if (p->count == PARAMS_MAX)
		return false;
	if (!p->v)
		p->v = arena_array(a, struct query_param, PARAMS_MAX);
	p->v[p->count++] = (struct query_param){ .name = name, .value = value };
	return true;
}

bool params_add_form(struct params *p, struct arena *a, struct str form)
{
	bool fits = true;

	while (form.len && fits) {
		struct str pair = str_cut(form, '&', &form);
		struct str value;
		struct str name = str_cut(pair, '=', &value);

		if (name.len)
			fits = params_add(p, a, url_unescape(name, a),
					  url_unescape(value, a));
	}
	return fits;
}

bool params_next(const struct params *p, const char *name, size_t *at,
		 struct str *out)
{
	while (*at < p->count) {
		const struct query_param *v = &p->v[(*at)++];

		if (str_is(v->name, name)) {
			*out = v->value;
			return true;
		}
	}
	return false;
}

bool params_find(const struct params *p, const char *name, struct str *out)
{
	size_t at = 0;

	return params_next(p, name, &at, out);
}

int params_require(const struct params *p, const char *name, struct str *out,
		   struct err *err)
{
	if (params_find(p, name, out) && out->len)
		return 0;
	return err_set(err, ERR_INVALID, "parameter \"%s\" is missing", name);
}

int params_selector(const char *name, struct str text, struct selector *out,
		    struct err *err)
{
	int rc = selector_parse(text, out, err);

	return rc ? err_wrap(err, rc, "invalid parameter \"%s\"", name) : 0;
}

/* Parse seconds with a fraction, as Prometheus accepts times. */
static bool parse_seconds(struct str s, int64_t *ms)
{
	double v;

	if (!str_to_double(s, &v) || v <= -9e15 || v >= 9e15)
		return false;
	*ms = (int64_t)(v * 1000 + (v < 0 ? -0.5 : 0.5));
	return true;
}

/*
 * Parse one time: a plain number in the parameter's unit, or another form that
 * time_parse() accepts. An error contains the name of the parameter.
 */
static int params_parse_time(const struct params *p, const char *name,
			     struct str s, bool in_ms, int64_t *out,
			     struct err *err)
{
	int rc;

	if (in_ms ? str_to_i64(s, out) : parse_seconds(s, out))
		return 0;
	rc = time_parse(s, p->now_ms, out, err);
	return rc ? err_wrap(err, rc, "parameter \"%s\"", name) : 0;
}

int params_time(const struct params *p, const struct time_param *t,
		int64_t *out, struct err *err)
{
	struct str s;

	/*
	 * A parameter with an empty value counts as missing, because forms send
	 * a parameter for each field, even if the field was left empty.
	 */
	if (params_find(p, t->ms_name, &s) && s.len)
		return params_parse_time(p, t->ms_name, s, true, out, err);
	if (t->s_name && params_find(p, t->s_name, &s) && s.len)
		return params_parse_time(p, t->s_name, s, false, out, err);
	if (t->fallback == TIME_REQUIRED)
		return err_set(err, ERR_INVALID, "parameter \"%s\" is missing",
			       t->ms_name);
	*out = t->fallback;
	return 0;
}

int params_times(const struct params *p, const struct time_param *first,
		 const struct time_param *last, int64_t *from, int64_t *to,
		 struct err *err)
{
	char start[40];
	char end[40];
	int rc = params_time(p, first, from, err);

	if (!rc)
		rc = params_time(p, last, to, err);
	if (!rc && *from > *to) {
		time_format(*from, start);
		time_format(*to, end);
		rc = err_set(
			err, ERR_INVALID,
			"the end of the time range (\"%s\": %s) is before its start (\"%s\": %s)",
			last->ms_name, end, first->ms_name, start);
	}
	return rc;
}

int params_range(const struct params *p, int64_t from_fallback,
		 int64_t to_fallback, int64_t *from, int64_t *to,
		 struct err *err)
{
	struct time_param first = { "from", "start", from_fallback };
	struct time_param last = { "to", "end", to_fallback };

	return params_times(p, &first, &last, from, to, err);
}

bool params_is_on(const struct params *p, const char *name)
{
	struct str s;

	return params_find(p, name, &s) && s.len && !str_is(s, "0") &&
	       !str_is(s, "false");
}

int params_count(const struct params *p, const char *name, int64_t fallback,
		 int64_t *out, struct err *err)
{
	struct str s;

	*out = fallback;
	if (!params_find(p, name, &s) || !s.len)
		return 0;
	/* A negative number is refused like a text that is no number. */
	if (str_to_i64(s, out) && *out >= 0)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"parameter \"%s\" must be a whole number of at least 0, not \"%.*s\"",
		name, STR_ARG(s));
}
