/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample filter: keeps the samples of a profile whose frames have, or have not,
 * certain functions, whose stacks begin with certain functions, and which belong to
 * certain spans or traces.
 *
 * Ownership: sample_filter_fini() frees expressions; texts are borrowed.
 * Threads: one thread at a time, because of regular expressions.
 */
#ifndef PYROSCOPE_ANSWER_SAMPLE_FILTER_H
#define PYROSCOPE_ANSWER_SAMPLE_FILTER_H

#include "base/limits.h"
#include "model/regex.h"
#include "pprof/merge/merge.h"
#include "pprof/report/report.h"
#include "pyroscope/wire/request.h"

enum {
	/* Largest number of names and of expressions of functions. */
	SAMPLE_FRAMES_MAX = 64,
	/* Digits of the ids of spans and traces. */
	SPAN_DIGITS = 16,
	TRACE_DIGITS = 32
};

/* A function that stacks must have, or must not have. */
struct sample_frame {
	bool is_excluded;
	struct str name;
	struct regex *regex; /* NULL: the name has to be equal */
};

/* A filter. */
struct sample_filter {
	struct sample_frame frames[SAMPLE_FRAMES_MAX];
	size_t frame_count;
	const struct request_texts *span_ids;
	const struct request_texts *trace_ids;
	/* The functions with which stacks begin, as an option of reports. */
	struct report_options sites;
	bool has_sites;
};

/*
 * Read what a request selects. ERR_INVALID: an expression is refused, an id has
 * not the right number of hexadecimal digits, or there are too many of them. The
 * caller calls sample_filter_fini() in any case.
 */
NODISCARD int sample_filter_read(struct sample_filter *f,
				 const struct profile_request *r,
				 struct err *err);

/* Whether the filter removes samples. */
bool sample_filter_is_set(const struct sample_filter *f);

/*
 * Remove the samples that are not selected. ERR_INVALID: an expression took too
 * many steps. ERR_LIMIT, ERR_TIMEOUT: those of the limits.
 */
NODISCARD int sample_filter_apply(struct sample_filter *f, struct pprof *p,
				  const struct limits *limits, struct err *err);

/* Free the expressions. */
void sample_filter_fini(struct sample_filter *f);

#endif
