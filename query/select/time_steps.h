/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time steps: a range of time, cut into steps of equal length from its begin on.
 * The end of the range cuts the last step.
 *
 * Threads: any.
 */
#ifndef QUERY_SELECT_TIME_STEPS_H
#define QUERY_SELECT_TIME_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct time_steps {
	int64_t from;
	int64_t to;
	int64_t step_ms;
	size_t count;   /* at least 1 */
	double seconds; /* length of each step but the last one */
	double last_seconds;
};

/* Add to a time, which stays in the range of its type. */
int64_t time_steps_add(int64_t ms, int64_t more);

/* Cut [from, to] into steps of `step_ms`, which is positive. */
struct time_steps time_steps_of(int64_t from, int64_t to, int64_t step_ms);

/* Whether a time is in the range, whose end belongs to it. */
bool time_steps_has(const struct time_steps *s, int64_t ms);

/* Return the number of the step of a time in the range. */
size_t time_steps_at(const struct time_steps *s, int64_t ms);

/* Return when a step begins. */
int64_t time_steps_begin(const struct time_steps *s, size_t i);

/* Return when a step ends: where the next one begins, or the range ends. */
int64_t time_steps_end(const struct time_steps *s, size_t i);

/* Return the length of a step in seconds; a range of length 0 has a whole step. */
double time_steps_seconds(const struct time_steps *s, size_t i);

#endif
