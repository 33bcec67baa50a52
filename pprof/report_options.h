/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of reports, with the names, meanings and defaults of pprof's
 * (internal/driver's config.go).
 *
 * Ownership: texts are borrowed. Threads: plain values.
 */
#ifndef PPROF_REPORT_OPTIONS_H
#define PPROF_REPORT_OPTIONS_H

#include "base/err.h"
#include "pprof/effort.h"
#include "pprof/filter/namefilter.h"
#include "pprof/filter/tagfilter.h"
#include "pprof/graph/nodes.h"

struct report_options {
	struct str sample_index;
	struct name_filter names;
	struct tag_filter tags;
	struct str prune_from;
	struct str symbol; /* peek, source: nodes that match */
	enum granularity granularity;
	bool noinlines;
	bool cum; /* sorted by cum */
	bool mean;
	bool drop_negative;
	bool relative; /* percentages of what the filters leave */
	bool trim;
	int64_t node_count; /* -1: the report's own; 0: all */
	double node_fraction;
	double edge_fraction;
	double divide_by;
	struct str unit;
	int64_t max_nodes;    /* flamegraph; -1: its own; 0: all */
	struct effort effort; /* asked before a report takes memory or time */
	/* A folder of sources; NULL: none. Never from a stranger. */
	const char *source_root;
	struct str tagroot; /* keys whose values become outermost frames */
};

/* Names and what they do, for help; a NULL name ends the list. */
struct report_option_help {
	const char *name;
	const char *help;
	bool is_switch;
};
const struct report_option_help *report_option_list(void);

void report_options_init(struct report_options *o);

/*
 * Set an option by its name, as it stands in a URL or after "--".
 * ERR_NOTFOUND: there is no such option. ERR_INVALID says what is wrong with
 * the value.
 */
NODISCARD int report_option(struct report_options *o, struct str name,
			    struct str value, struct err *err);

/* Whether samples, frames or labels are to be left out, or made. */
bool report_options_filter(const struct report_options *o);

#endif
