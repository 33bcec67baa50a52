/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of Pyroscope's API that merge profiles: flame graphs, profiles and
 * differences.
 *
 * Threads: any; one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_ANSWER_STACKS_H
#define PYROSCOPE_ANSWER_ANSWER_STACKS_H

#include "pyroscope/answer/call.h"

/*
 * SelectMergeStacktraces, and SelectMergeSpanProfile, which has other fields: a
 * flame graph, a graph in the language DOT, or a profile. Without profiles, the
 * answer is empty.
 */
NODISCARD int answer_stacktraces(struct pyroscope_call *c, struct err *err);

/* SelectMergeProfile: the merged profile, in pprof's format. */
NODISCARD int answer_profile(struct pyroscope_call *c, struct err *err);

/* Diff: the flame graph of two sides. */
NODISCARD int answer_diff(struct pyroscope_call *c, struct err *err);

#endif
