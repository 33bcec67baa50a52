/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that all reports work on: a profile with its filters applied, the
 * chosen sample type and units, and its nodes.
 *
 * Ownership: borrows the profile and the options; report_fini() frees the rest.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_STATE_H
#define PPROF_REPORT_REPORT_STATE_H

#include "pprof/graph/graph.h"
#include "pprof/graph/report_options.h"

/* The kind of a report. REPORT_DOT is the call graph, as text and as SVG. */
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

/*
 * A report that is being written: a profile that report_init() prepared, with
 * everything that the report prints.
 */
struct report {
	struct pprof *p;
	const struct report_options *o;
	enum report_kind kind;
	size_t value; /* index of the sample type */
	/*
	 * Name and unit of the sample type, and the unit that values are
	 * printed in. All three are borrowed.
	 */
	struct str type;
	struct str unit;
	struct str out_unit;
	/* The value that counts as 100 %, in the profile's unit. */
	int64_t total;
	/* The totals of the two sides of a diff that keeps them apart. */
	int64_t total_a;
	int64_t total_b;
	/* See report_options.rate_seconds. */
	double rate_seconds;
	/* Unit of each numeric label. */
	struct tag_units units;
	/* The distinct frames, at the granularity of the report. */
	struct nodes nodes;
	/* Names of filters that matched nothing, for warnings to the user. */
	struct no_match unmatched;
};

/*
 * ERR_TOOBIG if `out` has exceeded its maximum size, else 0. Call this when a
 * report is complete.
 */
NODISCARD int report_size(const struct buf *out, struct err *err);

/* The value of a sample for the report's sample type. */
int64_t report_weight(const struct report *r, size_t sample);

#endif
