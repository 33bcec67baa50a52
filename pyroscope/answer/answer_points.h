/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SelectSeries of Pyroscope's API: values of a profile type over time.
 *
 * A point has the values of the step that ends with it, as many as there would
 * be if the programs had been profiled all the time: the rate by the time of
 * which the profiles tell, times the step. Grafana divides by the step, and shows
 * the true rate. States are as they are.
 *
 * Threads: any; one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_ANSWER_POINTS_H
#define PYROSCOPE_ANSWER_ANSWER_POINTS_H

#include "pyroscope/answer/call.h"

/* SelectSeries. */
NODISCARD int answer_points(struct pyroscope_call *c, struct err *err);

#endif
