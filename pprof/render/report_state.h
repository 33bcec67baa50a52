/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile made ready to be reported: what all reports work on.
 *
 * Ownership: borrows the profile and the options; report_fini() frees the rest.
 * Threads: one thread a report.
 */
#ifndef PPROF_RENDER_REPORT_STATE_H
#define PPROF_RENDER_REPORT_STATE_H

#include "pprof/graph/graph.h"
#include "pprof/report_options.h"

enum report_kind {
	REPORT_TOP,
	REPORT_TREE,
	REPORT_PEEK,
	REPORT_TRACES,
	REPORT_FOLDED,
	REPORT_FLAMEGRAPH,
	REPORT_SPEEDSCOPE,
	REPORT_DOT,
	REPORT_SOURCE,
};

/* A profile made ready to be reported. */
struct report {
	struct pprof *p;
	const struct report_options *o;
	enum report_kind kind;
	size_t value; /* which sample type */
	struct str type;
	struct str unit;
	struct str out_unit;
	int64_t total;
	struct tag_units units;
	struct nodes nodes;
	struct no_match unmatched;
};

/* Whether a sample is of a diff's base. */
bool report_is_base(const struct pprof *p, size_t sample);

/* ERR_TOOBIG when out is over its maximum. */
NODISCARD int report_size(const struct buf *out, struct err *err);

/* What a sample weighs in this report. */
int64_t report_weight(const struct report *r, size_t sample);

#endif
