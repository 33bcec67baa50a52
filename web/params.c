/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/units.h"
#include "web/context.h"

int param_required(const struct request *r, const char *name, struct str *out,
		   struct err *err)
{
	if (request_param(r, name, out) && out->len)
		return 0;
	return err_set(err, ERR_INVALID, "parameter \"%s\" is missing", name);
}

/* Seconds with a fraction, as Prometheus takes them. */
static bool seconds(struct str s, int64_t *ms)
{
	char *end;
	double v;

	if (!s.len || s.len > 32 || strspn(s.ptr, "0123456789.eE+-") != s.len)
		return false;
	v = strtod(s.ptr, &end); /* parameters end in NUL */
	if (end != s.ptr + s.len || !(v > -9e15 && v < 9e15))
		return false;
	*ms = (int64_t)(v * 1000 + (v < 0 ? -0.5 : 0.5));
	return true;
}

static int parse(const struct request *r, const char *name, struct str s,
		 bool in_ms, int64_t *out, struct err *err)
{
	int rc;

	if (in_ms ? str_to_i64(s, out) : seconds(s, out))
		return 0;
	rc = time_parse(s, r->now_ms, out, err);
	return rc ? err_wrap(err, rc, "parameter \"%s\"", name) : 0;
}

int param_time(const struct request *r, const struct time_param *p,
	       int64_t *out, struct err *err)
{
	struct str s;

	if (request_param(r, p->ms_name, &s) && s.len)
		return parse(r, p->ms_name, s, true, out, err);
	if (p->s_name && request_param(r, p->s_name, &s) && s.len)
		return parse(r, p->s_name, s, false, out, err);
	if (p->otherwise == TIME_REQUIRED)
		return err_set(err, ERR_INVALID, "parameter \"%s\" is missing",
			       p->ms_name);
	*out = p->otherwise;
	return 0;
}

int param_times(const struct request *r, const struct time_param *first,
		const struct time_param *last, int64_t *from, int64_t *to,
		struct err *err)
{
	int rc = param_time(r, first, from, err);

	if (!rc)
		rc = param_time(r, last, to, err);
	if (!rc && *from > *to)
		rc = err_set(err, ERR_INVALID,
			     "the end of the time range is before its start");
	return rc;
}

int param_range(const struct request *r, int64_t from_otherwise,
		int64_t to_otherwise, int64_t *from, int64_t *to,
		struct err *err)
{
	struct time_param first = { "from", "start", from_otherwise };
	struct time_param last = { "to", "end", to_otherwise };

	return param_times(r, &first, &last, from, to, err);
}

bool param_is_on(const struct request *r, const char *name)
{
	struct str s;

	return request_param(r, name, &s) && s.len && !str_is(s, "0") &&
	       !str_is(s, "false");
}

int param_count(const struct request *r, const char *name, int64_t otherwise,
		int64_t *out, struct err *err)
{
	struct str s;

	*out = otherwise;
	if (!request_param(r, name, &s) || !s.len)
		return 0;
	if (str_to_i64(s, out) && *out >= 0)
		return 0;
	return err_set(err, ERR_INVALID,
		       "parameter \"%s\" is not a whole number: \"%.*s\"", name,
		       STR_ARG(s));
}

int check_deadline(const struct request *r, struct err *err)
{
	int64_t now = clock_mono_ns();

	if (now > atomic_load(r->stop_ns))
		return err_set(err, ERR_CLOSED, "everprof is stopping");
	if (now < r->deadline_ns)
		return 0;
	return err_set(err, ERR_TIMEOUT,
		       "the query took longer than --query.timeout");
}
