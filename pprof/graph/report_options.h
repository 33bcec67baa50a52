/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of reports, with the names, meanings and defaults of pprof's options
 * (config.go of internal/driver).
 *
 * Ownership: strings are borrowed; they must outlive the report.
 * Threads: plain values.
 */
#ifndef PPROF_GRAPH_REPORT_OPTIONS_H
#define PPROF_GRAPH_REPORT_OPTIONS_H

#include "base/err.h"
#include "base/limits.h"
#include "pprof/filter/namefilter.h"
#include "pprof/filter/recursion.h"
#include "pprof/filter/tagfilter.h"
#include "pprof/graph/nodes.h"

/* Largest number of frames in the option `under`; deep recursion has so many. */
#define UNDER_MAX 1024

/* The options of one report. Empty strings select the default. */
struct report_options {
	struct str sample_index;
	struct name_filter names;
	struct tag_filter tags;
	struct str prune_from;
	enum recursion recursion;
	/*
	 * Keep only stacks that begin with these frames, the outermost first;
	 * the array ends at its first empty string.
	 */
	struct str under[UNDER_MAX];
	struct str symbol; /* reports peek, source: regexp of function names */
	enum granularity granularity;
	bool noinlines;
	bool ignore_versions; /* see pprof/filter/module_version.h */
	/*
	 * Whether addresses without a function get names before the report is
	 * made. The caller does that (query/merge/symbolize.h).
	 */
	bool symbolize;
	bool cum;  /* sort by cumulative instead of flat values */
	bool mean; /* show the mean value per event, not the sum */
	bool drop_negative;
	bool relative; /* show percentages of the total after filtering */
	/*
	 * For a diff that keeps its sides apart (-diff_base): compute the total
	 * as pprof's -base does, from the differences between the sides (see
	 * report_net_total()).
	 */
	bool net_total;
	bool trim;
	/* Maximum number of nodes to show; -1: the report's default; 0: all. */
	int64_t node_count;
	double node_fraction;
	double edge_fraction;
	double divide_by;
	struct str unit;
	/* Maximum number of nodes in a flame graph; -1: the default; 0: all. */
	int64_t max_nodes;
	/* Whether a flame graph grows from the innermost frames outwards. */
	bool invert;
	/*
	 * Regexp of a function: a flame graph shows what the function called,
	 * and who called the function.
	 */
	struct str pivot;
	struct limits limits; /* limits on memory and time of the report */
	/*
	 * For how long the programs were profiled, in ns, if has_duration is
	 * true; 0: not known. Otherwise, the duration of the profile tells.
	 */
	bool has_duration;
	int64_t duration_ns;
	/*
	 * The time in seconds by which the values have to be divided to be
	 * values in a second of one series; 0: they are compared as they are.
	 */
	double rate_seconds;
	/*
	 * Folder in which the report "source" finds source files, or NULL. Must
	 * not come from a request, because the report shows the files' lines.
	 */
	const char *source_root;
	struct str tagroot; /* label keys that become outer frames */
};

/* The name of an option with its help text. */
struct report_option_help {
	const char *name;
	const char *help;
	bool is_switch;
	/* Whether the option can be given several times. */
	bool repeats;
};

/*
 * Return all options that report_option() knows: a constant array that ends
 * with an entry whose name is NULL.
 */
const struct report_option_help *report_option_list(void);

/* Set all options to pprof's defaults. */
void report_options_init(struct report_options *o);

/* Return whether option number i of the list is a switch that is on. */
bool report_option_is_on(const struct report_options *o, size_t i);

/*
 * Set an option by its name, which is spelled as in a URL or after "--" on the
 * command line; if the option can be given several times, each value is added.
 * The value is borrowed. ERR_NOTFOUND: there is no such option; ERR_INVALID:
 * the value is wrong, and the message says how.
 */
NODISCARD int report_option(struct report_options *o, struct str name,
			    struct str value, struct err *err);

/*
 * Return whether the options remove samples, frames or labels, or turn labels
 * into frames.
 */
bool report_options_filter(const struct report_options *o);

#endif
