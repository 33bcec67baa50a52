/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of Pyroscope's API that list profile types, labels and series.
 *
 * Threads: any; one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_ANSWER_LISTS_H
#define PYROSCOPE_ANSWER_ANSWER_LISTS_H

#include "pyroscope/answer/call.h"

/* ProfileTypes: the profile ids that have profiles in the range. */
NODISCARD int answer_profile_types(struct pyroscope_call *c, struct err *err);

/* LabelNames: the names of labels of the series that the matchers select. */
NODISCARD int answer_label_names(struct pyroscope_call *c, struct err *err);

/* LabelValues: the values of one of these labels. */
NODISCARD int answer_label_values(struct pyroscope_call *c, struct err *err);

/* Series: the distinct values of some labels, together. */
NODISCARD int answer_series_list(struct pyroscope_call *c, struct err *err);

/* GetProfileStats: whether there are profiles, and of which time. */
NODISCARD int answer_stats(struct pyroscope_call *c, struct err *err);

#endif
