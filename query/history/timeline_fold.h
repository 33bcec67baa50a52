/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeline fold: what the profiles of one series add to the steps of a timeline,
 * and what the series adds to its group (docs/decisions.md, 95 and 140).
 *
 * A sum belongs to the step in which its profile begins. Everything else is a
 * function of time, and a step has the mean of its time: rates, and with `fill`
 * states, too.
 *
 * Threads: those of the timeline.
 * Units: milliseconds.
 */
#ifndef QUERY_HISTORY_TIMELINE_FOLD_H
#define QUERY_HISTORY_TIMELINE_FOLD_H

#include "query/history/timeline.h"

/* The times of a profile of a series, among those of its neighbours. */
struct fold_row {
	int64_t begin;
	int64_t end;        /* of its duration */
	int64_t held;       /* until when its value holds, with `fill` */
	int64_t since;      /* when the profile before began */
	bool is_first;      /* there is none before it */
	bool follows;       /* it comes at most `fill` after the one before */
	bool is_lone;       /* no other profile is within `fill` */
	bool goes_on;       /* it is the last one, and the next is on its way */
	bool is_covered;    /* heartbeats tell of its time … */
	bool is_incomplete; /* … but there is none of its interval */
	size_t steps;       /* number of steps into which it may reach */
	const struct coverage_node *node; /* its machine; NULL: not known */
};

/* Return the times of row i of a series. */
struct fold_row fold_row_of(const struct timeline *t,
			    const struct totals_view *v, size_t i,
			    const struct coverage_node *node);

/*
 * Add a value of a profile, or the increase of a counter, to the scratch members
 * of the line.
 */
void fold_add_row(const struct timeline *t, struct timeline_line *l,
		  const struct fold_row *r, double value);

/*
 * Add the values of the series whose totals are in the scratch members of the
 * line to the line, and clear the scratch members for the next series. Means
 * and rates are computed per series and then added, so that two equal instances
 * of a program give twice the value of one (docs/decisions.md, 95).
 */
void timeline_fold(const struct timeline *t, struct timeline_line *l,
		   const struct coverage_node *node);

#endif
