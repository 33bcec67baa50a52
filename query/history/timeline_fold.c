/* SPDX-License-Identifier: Apache-2.0 */
#include "query/history/timeline_fold.h"

/* How a series gets the value of a step. */
enum fold_mode {
	FOLD_SUM,     /* the sum of its profiles; a rate: over the whole step */
	FOLD_MEAN,    /* the mean of its profiles */
	FOLD_RATE,    /* per second that its profiles last */
	FOLD_COVERED, /* per second for which its machine was sampled */
	FOLD_LEVEL,   /* the mean over the time of the step */
};

static enum fold_mode fold_mode_of(const struct timeline *t,
				   const struct timeline_line *l,
				   const struct coverage_node *node)
{
	if (t->o->mean || (!t->o->rate && l->kind != KIND_STATE))
		return FOLD_SUM;
	if (node && t->o->rate && l->kind == KIND_FLOW)
		return FOLD_COVERED;
	if (t->o->fill_ms)
		return FOLD_LEVEL;
	return l->kind == KIND_STATE ? FOLD_MEAN :
	       l->kind == KIND_FLOW  ? FOLD_RATE :
				       FOLD_SUM;
}

/*
 * Set until when the value of the last profile holds, after which none is known.
 * The next one begins an interval later. It is stored when its duration has
 * passed, so it may be on its way at the end of the range.
 */
static void fold_hold_last(const struct timeline *t, struct fold_row *r)
{
	int64_t interval = r->begin - r->since;

	r->goes_on = t->o->to > r->begin &&
		     t->o->to <=
			     time_steps_add(time_steps_add(r->end, interval),
					    interval);
	r->held = r->goes_on ? t->o->to : time_steps_add(r->begin, interval);
}

/*
 * Return the number of steps into which [from, to) reaches, or one more; 0: it
 * reaches into none.
 */
static size_t fold_steps(const struct timeline *t, int64_t from, int64_t to)
{
	const struct time_steps *s = &t->steps;

	if (from > s->to || (to <= s->from && from < s->from))
		return 0;
	from = from > s->from ? from : s->from;
	to = to < s->to ? to : s->to;
	return to > from ?
		       (size_t)((double)(to - from) / 1e3 / s->seconds) + 2 :
		       1;
}

/* Set what heartbeats tell of a profile. */
static void fold_cover(const struct timeline *t, struct fold_row *r)
{
	const struct coverage_node *n = r->node;

	if (!n || !t->o->rate)
		return;
	/* Older data have no heartbeats at all. */
	if (coverage_is_later(n, r->begin)) {
		if (r->held > n->spans.v[0].from)
			r->held = n->spans.v[0].from;
		return;
	}
	r->is_covered = true;
	r->is_incomplete = !coverage_has(n, r->begin + (r->end - r->begin) / 2);
	r->held = r->end;
	if (r->begin >= n->last_from)
		r->held = coverage_held(n, t->o->to, t->o->fill_ms);
}

/* Set how a profile lies beside those before and after it. */
static void fold_neighbours(const struct timeline *t, struct fold_row *r,
			    const struct totals_view *v, size_t i)
{
	uint64_t fill = (uint64_t)t->fill_ms;
	bool has_next = i + 1 < v->count;

	r->is_first = !i;
	r->since = i ? v->rows[i - 1].ms : r->begin;
	r->follows = i && (uint64_t)r->begin - (uint64_t)r->since <= fill;
	r->held = r->end;
	if (has_next &&
	    (uint64_t)v->rows[i + 1].ms - (uint64_t)r->begin <= fill)
		r->held = v->rows[i + 1].ms;
	else if (!r->follows && t->spacing_ms)
		r->held = time_steps_add(r->begin, t->spacing_ms);
	else if (!r->follows)
		r->is_lone = true;
	else if (has_next)
		r->held = time_steps_add(r->begin, r->begin - r->since);
	else
		fold_hold_last(t, r);
}

struct fold_row fold_row_of(const struct timeline *t,
			    const struct totals_view *v, size_t i,
			    const struct coverage_node *node)
{
	const struct totals_row *row = &v->rows[i];
	int64_t ms = row->duration_ns > 0 ? row->duration_ns / 1000000 : 0;
	struct fold_row r = { .begin = row->ms,
			      .end = time_steps_add(row->ms, ms),
			      .node = node };

	fold_neighbours(t, &r, v, i);
	fold_cover(t, &r);
	r.steps = fold_steps(t, r.begin,
			     !t->o->rate && !t->o->fill_ms ? r.begin :
			     r.held > r.end                ? r.held :
							     r.end);
	return r;
}

/* Note that something was added to a step. */
static void fold_touch(struct timeline_line *l, size_t at)
{
	if (!l->end_step || at < l->first_step)
		l->first_step = at;
	if (at >= l->end_step)
		l->end_step = at + 1;
}

/* Add a value to the step in which a profile begins, if it is in the range. */
static void fold_put(const struct timeline *t, struct timeline_line *l,
		     int64_t ms, double value)
{
	size_t at = time_steps_at(&t->steps, ms);

	if (!time_steps_has(&t->steps, ms))
		return;
	fold_touch(l, at);
	l->sum[at] += value;
	l->count[at]++;
}

/* A part of a series: what has happened between two times. */
struct fold_part {
	int64_t from;
	int64_t to;
	double value;
	bool tells; /* whether the line knows of this time by it */
	bool holds; /* whether it is a value that holds for this time */
};

/* Note from when to when in a step a value holds; later parts come later. */
static void fold_note_held(const struct timeline *t, struct timeline_line *l,
			   size_t at, int64_t from, int64_t to)
{
	int64_t begin = time_steps_begin(&t->steps, at);
	double end = (double)(to - begin) / 1e3;

	if (l->end[at] == 0)
		l->first[at] = (double)(from - begin) / 1e3;
	if (end > l->end[at])
		l->end[at] = end;
}

/* Add a part evenly to the steps of its time. */
static void fold_spread(const struct timeline *t, struct timeline_line *l,
			const struct fold_part *p)
{
	const struct time_steps *s = &t->steps;
	double all = (double)((uint64_t)p->to - (uint64_t)p->from);

	if (p->to <= p->from || p->from >= s->to || p->to <= s->from)
		return;
	for (size_t at = p->from > s->from ? time_steps_at(s, p->from) : 0;
	     at < s->count && time_steps_begin(s, at) < p->to; at++) {
		int64_t begin = time_steps_begin(s, at);
		int64_t end = time_steps_end(s, at);
		double ms;

		begin = begin > p->from ? begin : p->from;
		end = end < p->to ? end : p->to;
		ms = (double)((uint64_t)end - (uint64_t)begin);
		fold_touch(l, at);
		l->sum[at] += p->value * ms / all;
		l->seconds[at] += p->tells ? ms / 1e3 : 0;
		if (p->holds)
			fold_note_held(t, l, at, begin, end);
	}
}

/* Return the seconds between two times. */
static double fold_seconds(int64_t from, int64_t to)
{
	return (double)((uint64_t)to - (uint64_t)from) / 1e3;
}

/* Add a level, which holds for a time. */
static void fold_hold(const struct timeline *t, struct timeline_line *l,
		      int64_t from, int64_t to, double level)
{
	fold_spread(t, l,
		    &(struct fold_part){ from, to,
					 level * fold_seconds(from, to), true,
					 true });
}

/* Add a level to the whole step in which a profile begins. */
static void fold_add_step(const struct timeline *t, struct timeline_line *l,
			  const struct fold_row *r, double level)
{
	size_t at = time_steps_at(&t->steps, r->begin);

	if (time_steps_has(&t->steps, r->begin))
		fold_hold(t, l, time_steps_begin(&t->steps, at),
			  time_steps_end(&t->steps, at), level);
}

/*
 * Add a level, which holds until the next profile. Nobody knows for how long one
 * without a neighbour holds, so it stands for its step.
 */
static void fold_add_level(const struct timeline *t, struct timeline_line *l,
			   const struct fold_row *r, double level)
{
	if (r->is_lone)
		fold_add_step(t, l, r, level);
	else
		fold_hold(t, l, r->begin, r->held, level);
}

/*
 * Add what has happened since the profile before. After the last profile, it goes
 * on like this for as long as the next one may be on its way. If the profile
 * before is too far away to fill the time between them, the rate stands for the
 * step; of the first profile of a counter, it is not known.
 */
static void fold_add_increase(const struct timeline *t, struct timeline_line *l,
			      const struct fold_row *r, double value)
{
	double rate = value / fold_seconds(r->since, r->begin);

	if (r->follows)
		fold_spread(t, l,
			    &(struct fold_part){ r->since, r->begin, value,
						 true, true });
	else if (!r->is_first)
		fold_add_step(t, l, r, rate);
	else if (l->kind == KIND_FLOW)
		fold_add_step(t, l, r, value / ((double)t->o->step_ms / 1e3));
	if (r->follows && r->goes_on)
		fold_hold(t, l, r->begin, r->held, rate);
}

/* Add the value of a flow to the time in which its machine was sampled. */
static void fold_add_covered(const struct timeline *t, struct timeline_line *l,
			     const struct fold_row *r, double value)
{
	double whole = fold_seconds(r->begin, r->end);
	double held = fold_seconds(r->begin, r->held);

	if (!r->is_incomplete && whole > 0)
		fold_spread(t, l,
			    &(struct fold_part){ r->begin, r->held,
						 value * held / whole, false,
						 false });
}

void fold_add_row(const struct timeline *t, struct timeline_line *l,
		  const struct fold_row *r, double value)
{
	bool lasts = l->kind == KIND_FLOW && r->end > r->begin;
	const struct coverage_node *node = r->is_covered ? r->node : NULL;
	enum fold_mode mode = fold_mode_of(t, l, node);

	/*
	 * Other profiles of the series say how long they were; of this one, the
	 * time to which its value belongs is unknown.
	 */
	if (l->kind == KIND_FLOW && !lasts && t->is_timed && mode != FOLD_SUM)
		return;
	switch (mode) {
	case FOLD_SUM:
	case FOLD_MEAN:
		/* How much a counter grew until its first profile is unknown. */
		if (!t->o->mean || l->kind != KIND_COUNTER || !r->is_first)
			fold_put(t, l, r->begin, value);
		break;
	case FOLD_RATE:
		if (lasts)
			fold_spread(t, l,
				    &(struct fold_part){ r->begin, r->end,
							 value, true, false });
		else
			fold_put(t, l, r->begin, value);
		break;
	case FOLD_COVERED:
		fold_add_covered(t, l, r, value);
		break;
	case FOLD_LEVEL:
		if (l->kind == KIND_STATE)
			fold_add_level(t, l, r, value);
		else if (lasts)
			fold_add_level(t, l, r,
				       value / fold_seconds(r->begin, r->end));
		else
			fold_add_increase(t, l, r, value);
		break;
	}
}

/* For how many seconds of a step heartbeats tell of a series. */
static double fold_looked(const struct timeline *t,
			  const struct coverage_node *node, size_t at)
{
	int64_t from = time_steps_begin(&t->steps, at);
	int64_t to = time_steps_end(&t->steps, at);
	int64_t ms = coverage_overlap(node, from, to);
	int64_t held = coverage_held(node, t->o->to, t->o->fill_ms);

	/* The last interval holds for this time, too. */
	from = from > node->last_to ? from : node->last_to;
	to = to < held ? to : held;
	return (double)(ms + (to > from ? to - from : 0)) / 1e3;
}

/* The value of a series in a step, and the share of the step that is known. */
struct fold_value {
	double share; /* 0: unknown */
	double value;
	double held; /* or the value times the seconds for which it holds */
};

/*
 * The value of a step of which heartbeats tell. If they tell of less than a half,
 * nobody knows the whole.
 */
static struct fold_value fold_value_covered(const struct timeline *t,
					    const struct timeline_line *l,
					    const struct coverage_node *node,
					    size_t at)
{
	double whole = time_steps_seconds(&t->steps, at);
	/* Of data before the first heartbeat, their profiles tell. */
	double known = fold_looked(t, node, at) + l->seconds[at];

	if (known < whole / 2)
		return (struct fold_value){ 0 };
	return (struct fold_value){ known / whole, l->sum[at] / known, 0 };
}

/* The value of a sum; a rate is that of a whole step. */
static struct fold_value fold_value_sum(const struct timeline *t,
					const struct timeline_line *l,
					size_t at)
{
	/*
	 * The range may cut the last step, but a profile there tells of a time
	 * that began before it.
	 */
	double seconds = t->o->rate ? (double)t->o->step_ms / 1e3 : 1;

	return (struct fold_value){ l->count[at] > 0, l->sum[at] / seconds, 0 };
}

static struct fold_value fold_value_of(const struct timeline *t,
				       const struct timeline_line *l,
				       const struct coverage_node *node,
				       size_t at)
{
	double whole = time_steps_seconds(&t->steps, at);
	double known = l->seconds[at];
	double sum = l->sum[at];
	enum fold_mode mode;

	if (node && coverage_is_later(node, time_steps_end(&t->steps, at) - 1))
		node = NULL;
	mode = fold_mode_of(t, l, node);
	if (node && mode == FOLD_COVERED)
		return fold_value_covered(t, l, node, at);
	if (mode == FOLD_MEAN && l->count[at])
		return (struct fold_value){ 1, sum / l->count[at], 0 };
	if (mode == FOLD_RATE && known > 0)
		return (struct fold_value){ known / whole, sum / known, 0 };
	/*
	 * The mean of what is known counts from the first to the last moment
	 * that is known, also for gaps between them.
	 */
	if (mode == FOLD_LEVEL && known > 0)
		return (struct fold_value){
			known / whole, 0,
			sum / known * (l->end[at] - l->first[at])
		};
	return fold_value_sum(t, l, at);
}

/* Note from when to when in a step the values of the series hold. */
static void fold_note_line(struct timeline_line *l, size_t at, double whole)
{
	if (l->end[at] == 0)
		return;
	if (l->end[at] > l->held_until[at])
		l->held_until[at] = l->end[at];
	if (whole - l->first[at] > l->held_since[at])
		l->held_since[at] = whole - l->first[at];
}

void timeline_fold(const struct timeline *t, struct timeline_line *l,
		   const struct coverage_node *node)
{
	bool covered = node && l->has_last &&
		       fold_mode_of(t, l, node) == FOLD_COVERED;
	size_t first = covered ? 0 : l->first_step;
	size_t end = covered ? t->steps.count : l->end_step;

	for (size_t at = first; at < end; at++) {
		struct fold_value v = fold_value_of(t, l, node, at);

		if (v.share > 0) {
			l->known[at] = true;
			l->values[at] += v.value;
			if (l->profiles)
				l->profiles[at] += l->count[at];
			l->held[at] += v.held;
			fold_note_line(l, at,
				       time_steps_seconds(&t->steps, at));
			if (v.share > l->covered[at])
				l->covered[at] = v.share < 1 ? v.share : 1;
		}
		l->sum[at] = 0;
		l->count[at] = 0;
		l->seconds[at] = 0;
		l->first[at] = 0;
		l->end[at] = 0;
	}
	l->has_last = false;
	l->end_step = 0;
}
