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
	size_t gap; /* number of steps that were filled before it */
	double value;
	bool level;
};

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
	fold_add(l, at, value);
	*f = (struct fold){ .steps = f->steps + 1,
			    .at = at,
			    .gap = gap,
			    .value = value,
			    .level = level };
}

void timeline_fold(const struct timeline *t, struct timeline_line *l)
{
	struct fold f = { 0 };

	for (size_t at = l->first_step; at < l->end_step; at++) {
		if (!l->count[at])
			continue;
		fold_step(t, l, &f, at);
		l->sum[at] = 0;
		l->count[at] = 0;
		l->seconds[at] = 0;
	}
	/* Until the next profile would be due, the last value holds. */
	for (size_t k = 1; k <= f.gap && f.at + k < t->points; k++)
		fold_add(l, f.at + k, f.value);
	l->has_last = false;
	l->end_step = 0;
}
