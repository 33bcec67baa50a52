/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SelectSeries of Pyroscope's API: values of a profile type over time; SelectHeatmap: those
 * of single profiles.
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

/*
 * SelectHeatmap: how many profiles of a step have a value in each twentieth of the range of
 * all values. That of spans is empty.
 */
NODISCARD int answer_heatmap(struct pyroscope_call *c, struct err *err);

#endif
