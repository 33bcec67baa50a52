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

/* A profile that is not stored, decompressed, and what is asked of it. */
struct stacks_file {
	struct bytes raw;
	struct str type; /* the sample type */
	int64_t max_nodes;
};

/*
 * Append the flame graph of a file as SelectMergeStacktraces does, or of two files as
 * Diff does. ERR_INVALID: it has no such type, or the files have different types.
 */
NODISCARD int answer_file_stacks(struct pyroscope_call *c,
				 const struct stacks_file *f, struct err *err);
NODISCARD int answer_file_diff(struct pyroscope_call *c,
			       const struct stacks_file *base,
			       const struct stacks_file *now, struct err *err);

#endif
