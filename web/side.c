/* SPDX-License-Identifier: Apache-2.0 */
#include "web/side.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "web/absence.h"

#define SEARCH_MS (5LL * 60 * 1000) /* how far `time` may be off */

const char *side_param(struct request *r, const char *name, const char *suffix)
{
	return *suffix ? arena_printf(&r->arena, "%s%s", name, suffix) : name;
}

static int parse_match(const struct request *r, const char *name,
		       enum match *out, struct err *err)
{
	struct str s;

	*out = MATCH_NEAREST;
	if (!request_param(r, name, &s) || !s.len || str_is(s, "nearest"))
		return 0;
	if (str_is(s, "after"))
		*out = MATCH_AFTER;
	else if (str_is(s, "exact"))
		*out = MATCH_EXACT;
	else if (str_is(s, "before"))
		*out = MATCH_BEFORE;
	else
		return err_set(
			err, ERR_INVALID,
			"parameter \"%s\" is nearest, after, exact or before, not \"%.*s\"",
			name, STR_ARG(s));
	return 0;
}

static int64_t saturate(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Where a single profile is looked for. */
static void window(struct side *s)
{
	bool earlier = s->match == MATCH_BEFORE || s->match == MATCH_NEAREST;
	bool later = s->match == MATCH_AFTER || s->match == MATCH_NEAREST;

	s->from = earlier ? saturate(s->time, -SEARCH_MS) : s->time;
	s->to = later ? saturate(s->time, SEARCH_MS) : s->time;
}

void side_at(struct side *s, int64_t ms)
{
	s->merged = false;
	s->match = MATCH_NEAREST;
	s->time = ms;
	window(s);
}

/* Whether it has a from and a to, and no time: many profiles are meant. */
static bool is_range(struct request *r, const char *suffix)
{
	struct str s;

	return !request_param(r, side_param(r, "time", suffix), &s) &&
	       request_param(r, side_param(r, "from", suffix), &s) &&
	       request_param(r, side_param(r, "to", suffix), &s);
}

static int parse_mode(struct side *s, struct request *r, const char *suffix,
		      struct err *err)
{
	const char *name = side_param(r, "mode", suffix);
	struct str mode;

	s->merged = false;
	if (!request_param(r, name, &mode) || !mode.len) {
		s->merged = is_range(r, suffix);
		return 0;
	}
	if (str_is(mode, "single"))
		return 0;
	s->merged = str_is(mode, "merge");
	if (s->merged)
		return 0;
	return err_set(err, ERR_INVALID,
		       "parameter \"%s\" is single or merge, not \"%.*s\"",
		       name, STR_ARG(mode));
}

static int parse_single(struct side *s, struct request *r, const char *suffix,
			struct err *err)
{
	const struct time_param time = { side_param(r, "time", suffix), NULL,
					 TIME_REQUIRED };
	int rc = param_time(r, &time, &s->time, err);

	if (!rc)
		rc = parse_match(r, side_param(r, "match", suffix), &s->match,
				 err);
	if (!rc)
		window(s);
	return rc;
}

static int parse_merged(struct side *s, struct request *r, const char *suffix,
			struct err *err)
{
	const struct time_param from = { side_param(r, "from", suffix),
					 side_param(r, "start", suffix),
					 TIME_REQUIRED };
	const struct time_param to = { side_param(r, "to", suffix),
				       side_param(r, "end", suffix),
				       TIME_REQUIRED };

	return param_times(r, &from, &to, &s->from, &s->to, err);
}

int side_parse(struct side *s, struct request *r, const char *suffix,
	       struct err *err)
{
	struct str text;
	int rc;

	*s = (struct side){ 0 };
	rc = param_required(r, side_param(r, "query", suffix), &text, err);
	if (!rc)
		rc = selector_parse(text, &s->selector, err);
	if (!rc)
		rc = parse_mode(s, r, suffix, err);
	if (!rc)
		rc = s->merged ? parse_merged(s, r, suffix, err) :
				 parse_single(s, r, suffix, err);
	return rc;
}

void side_fini(struct side *s)
{
	selector_fini(&s->selector);
}

static int64_t distance(const struct side *s, int64_t ms)
{
	return llabs(ms - s->time);
}

/* Of one series: 1 when *found is set. */
static int nearest_of(const struct side *s, struct querier *q, size_t series,
		      int64_t *found, struct err *err)
{
	struct times_view t = { 0 };
	int rc = querier_times(q, series, s->from, s->to, &t, err);

	if (rc || !t.count)
		return rc;
	*found = t.ms[0];
	for (size_t i = 1; i < t.count; i++) {
		if (distance(s, t.ms[i]) < distance(s, *found))
			*found = t.ms[i];
	}
	return 1;
}

int side_nearest(const struct side *s, struct request *r, struct querier *q,
		 size_t *series, int64_t *ms, struct err *err)
{
	char time[40];
	char when[80];
	int64_t best = -1;

	for (size_t i = 0; i < querier_count(q); i++) {
		int64_t found = 0;
		int rc = check_deadline(r, err);

		if (!rc)
			rc = nearest_of(s, q, i, &found, err);
		if (rc < 0)
			return rc;
		if (rc && (best < 0 || distance(s, found) < best)) {
			best = distance(s, found);
			*series = i;
			*ms = found;
		}
	}
	if (best >= 0)
		return 0;
	if (querier_lost(q))
		return err_set(err, ERR_CORRUPT, "%s", querier_lost(q)->msg);
	time_format(s->time, time);
	snprintf(when, sizeof(when), "%s %s",
		 s->match == MATCH_EXACT ? "at" : "within 5 minutes of", time);
	return absence_set(q, r, &s->selector, when, err);
}
