/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/timeline_fold.h"

/*
 * Whether a value says how it is at a time, and so also how it is until the
 * next profile: a state, or the rate of a flow in the seconds of its profile.
 */
static bool fold_is_level(const struct timeline *t,
			  const struct timeline_line *l, size_t at)
{
	return l->kind == KIND_STATE ||
	       (t->o->rate && l->kind == KIND_FLOW && l->seconds[at] > 0);
}

/*
 * The value of one series in one step. For states it is the mean; for flows and
 * counters it is the sum or, with the option `rate`, the value per second.
 */
static double fold_value(const struct timeline *t,
			 const struct timeline_line *l, size_t at)
{
	if (l->kind == KIND_STATE)
		return l->sum[at] / l->count[at];
	if (!t->o->rate)
		return l->sum[at];
	/*
	 * The rate of a flow is divided by the seconds that profiles cover, not
	 * by the length of the step, since profiles cover only a part of it
	 * (docs/decisions.md, 95).
	 */
	if (l->kind == KIND_FLOW && l->seconds[at] > 0)
		return l->sum[at] / l->seconds[at];
	return l->sum[at] * 1000 / (double)t->o->step_ms;
}

static void fold_add(struct timeline_line *l, size_t at, double value)
{
	l->known[at] = true;
	l->values[at] += value;
}

/*
 * How many steps lie between two steps with profiles, if they are to be filled;
 * else 0. Sums are not filled: a step without a profile has none.
 */
static size_t fold_gap(const struct timeline *t, const struct timeline_line *l,
		       size_t from, size_t to)
{
	size_t most = (size_t)(t->o->fill_ms / t->o->step_ms);

	if (l->kind != KIND_STATE && !t->o->rate)
		return 0;
	return to - from <= most ? to - from - 1 : 0;
}

/* State of folding one series: the last step that had a profile. */
struct fold {
	size_t steps; /* number of steps with profiles until now */
	size_t at;
	size_t gap;     /* number of steps that were filled before it */
	uint32_t count; /* number of its profiles */
	uint32_t most;  /* largest number of profiles of a step */
	double seconds; /* that its profiles took */
	double value;
	bool level;
	/* Its profiles come at intervals that are known. */
	bool steady;
};

/*
 * Whether the next profile may be on its way at the end of the range, if the
 * last one is in the step `at`: it is due one interval later, and is stored when
 * it is complete.
 */
static bool fold_awaits(const struct timeline *t, const struct fold *f,
			size_t at, uint32_t count, double seconds)
{
	double step = (double)t->o->step_ms;
	double interval = step * (double)(f->gap + 1) / (f->most ? f->most : 1);
	double taken = count ? seconds * 1000 / count : 0;

	return (double)(t->points - 1 - at) * step <= interval + taken;
}

/*
 * How many steps the last value holds: until the next profile would be due, or
 * to the end of the range if that profile may be on its way.
 */
static size_t fold_hold(const struct timeline *t, const struct fold *f)
{
	if (!t->o->fill_ms || !f->steps)
		return 0;
	return f->level && f->steady &&
			       fold_awaits(t, f, f->at, f->count, f->seconds) ?
		       t->points - 1 - f->at :
		       f->gap;
}

/*
 * The part of a step for which a level counts. A series that begins or ends in
 * a step, as when a program gets a new version, has fewer profiles there than in
 * the step beside it, and another series has the rest of the step. Without this,
 * the sum of both would be twice as high in that step.
 */
static double fold_share(const struct timeline *t,
			 const struct timeline_line *l, const struct fold *f,
			 size_t at)
{
	bool begins = !f->steps && at > 0;
	bool ends = at + 1 == l->end_step &&
		    !fold_awaits(t, f, at, l->count[at], l->seconds[at]);
	uint32_t beside = 0;

	if (!t->o->fill_ms)
		return 1;
	if (begins && at + 1 < l->end_step)
		beside = l->count[at + 1];
	else if (ends && f->steps && f->at + 1 == at)
		beside = f->count;
	return l->count[at] < beside ? (double)l->count[at] / beside : 1;
}

/* Add the value of a step with profiles, and those of the steps before it. */
static void fold_step(const struct timeline *t, struct timeline_line *l,
		      struct fold *f, size_t at)
{
	double value = fold_value(t, l, at);
	bool level = fold_is_level(t, l, at);
	size_t gap = f->steps ? fold_gap(t, l, f->at, at) : 0;

	/*
	 * The profile counts what happened since the one before it, so its
	 * value is spread over all the steps in between.
	 */
	if (!level)
		value /= (double)(gap + 1);
	for (size_t k = 1; k <= gap; k++)
		fold_add(l, f->at + k, f->level ? f->value : value);
	/* The profile before the first one of the range was as far away. */
	for (size_t k = 0; f->steps == 1 && f->at <= gap && k < f->at; k++)
		fold_add(l, k, f->level ? f->value : value);
	fold_add(l, at, level ? value * fold_share(t, l, f, at) : value);
	*f = (struct fold){ .steps = f->steps + 1,
			    .at = at,
			    .gap = gap,
			    .count = l->count[at],
			    .most = l->count[at] > f->most ? l->count[at] :
							     f->most,
			    .seconds = l->seconds[at],
			    .value = value,
			    .level = level,
			    .steady = f->steps && at == f->at + gap + 1 };
}

void timeline_fold(const struct timeline *t, struct timeline_line *l)
{
	struct fold f = { 0 };
	size_t hold;

	for (size_t at = l->first_step; at < l->end_step; at++) {
		if (!l->count[at])
			continue;
		fold_step(t, l, &f, at);
		l->sum[at] = 0;
		l->count[at] = 0;
		l->seconds[at] = 0;
	}
	hold = fold_hold(t, &f);
	for (size_t k = 1; k <= hold && f.at + k < t->points; k++)
		fold_add(l, f.at + k, f.value);
	l->has_last = false;
	l->end_step = 0;
}
