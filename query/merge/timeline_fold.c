/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/timeline_fold.h"

/*
 * Whether the value of a step is a level, which also holds until the next
 * profile: a state, or the rate of a flow whose profiles have a duration. Any
 * other value counts what happened since the previous profile.
 */
static bool fold_is_level(const struct timeline *t,
			  const struct timeline_line *l, size_t at)
{
	return l->kind == KIND_STATE ||
	       (t->o->rate && l->kind == KIND_FLOW && l->seconds[at] > 0);
}

/*
 * Return the value of one series in one step. For states it is the mean; for
 * flows and counters it is the sum or, with the option `rate`, the value per
 * second.
 */
static double fold_value(const struct timeline *t,
			 const struct timeline_line *l, size_t at)
{
	if (l->kind == KIND_STATE)
		return l->sum[at] / l->count[at];
	if (!t->o->rate)
		return l->sum[at];
	/*
	 * The sum of a flow is divided by the seconds that profiles cover, not
	 * by the length of the step, because profiles cover only a part of the
	 * step (docs/decisions.md, 95).
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
 * Return the number of steps between `from` and `to`, two steps with profiles,
 * if the steps between them are to be filled; else 0. Sums are not filled,
 * because a step without profiles has no sum.
 */
static size_t fold_gap(const struct timeline *t, const struct timeline_line *l,
		       size_t from, size_t to)
{
	size_t most = (size_t)(t->o->fill_ms / t->o->step_ms);

	if (l->kind != KIND_STATE && !t->o->rate)
		return 0;
	return to - from <= most ? to - from - 1 : 0;
}

/*
 * State of folding one series. The members other than `steps` and `most`
 * describe the last step that had profiles.
 */
struct fold {
	size_t steps; /* number of steps with profiles until now */
	size_t at;
	size_t gap;     /* number of filled steps directly before the step */
	uint32_t count; /* number of profiles in the step */
	uint32_t most;  /* largest number of profiles in any step */
	double seconds; /* seconds that these profiles cover */
	double value;
	bool level;
	/*
	 * Whether all steps since the previous step with profiles were filled,
	 * so that the interval between profiles is known.
	 */
	bool steady;
};

/*
 * Whether the next profile may still be in progress at the end of the range, if
 * the last profile is in the step `at`. The next profile is due one interval
 * later, and is stored only when its duration has passed, too.
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
 * Return for how many steps the last value is repeated: until the next profile
 * would be due, or to the end of the range if that profile may still be in
 * progress.
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
 * Return the share of a step, from 0 to 1, for which a level counts. A series
 * that begins or ends in a step, as when a program gets a new version, has
 * fewer profiles there than in the step beside it, and another series has the
 * rest of the step. Without this factor, the sum of both would be twice as high
 * in that step.
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

/*
 * Add the value of the step `at`, which has profiles, and fill the gap before
 * it.
 */
static void fold_step(const struct timeline *t, struct timeline_line *l,
		      struct fold *f, size_t at)
{
	double value = fold_value(t, l, at);
	bool level = fold_is_level(t, l, at);
	size_t gap = f->steps ? fold_gap(t, l, f->at, at) : 0;

	/*
	 * A value that is not a level counts what happened since the previous
	 * profile, so it is spread over all steps since then.
	 */
	if (!level)
		value /= (double)(gap + 1);
	for (size_t k = 1; k <= gap; k++)
		fold_add(l, f->at + k, f->level ? f->value : value);
	/*
	 * Now the interval is known: gap + 1 steps. If, by this interval, the
	 * profile before the first one was before the range, fill the steps
	 * before the first one, too.
	 */
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
