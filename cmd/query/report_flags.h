/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of reports (pprof/graph/report_options.h) as command-line flags.
 *
 * Ownership: values are borrowed from argv.
 * Threads: one thread at a time.
 */
#ifndef CMD_QUERY_REPORT_FLAGS_H
#define CMD_QUERY_REPORT_FLAGS_H

#include "cmd/cli/cmd.h"
#include "pprof/graph/report_options.h"

enum {
	/* Maximum number of report options. */
	REPORT_FLAGS_MAX = 40
};

/* The values of the flags, in the order of report_option_list(). */
struct report_flags {
	/* values of text options */
	struct flag_texts texts[REPORT_FLAGS_MAX];
	bool switches[REPORT_FLAGS_MAX];
};

/*
 * Write one flag for each report option to the array `at`, which must have
 * room. Returns a pointer to the element after the last flag.
 */
struct flag *report_flags_list(struct report_flags *f, struct flag *at);

/*
 * Convert the values to report options. ERR_INVALID: an option is wrong; the
 * message names it.
 */
NODISCARD int report_flags_options(const struct report_flags *f,
				   struct report_options *out, struct err *err);

/*
 * ERR_INVALID: the name of the output file promises another format than the
 * report has. `report` may be one of "proto", "raw" and "pgo", which are
 * profiles.
 */
NODISCARD int report_flags_check_output(const char *output, const char *report,
					struct err *err);

/*
 * Call `fn` with the name and the value of each text option that was given, and
 * of every switch ("true" or "false").
 */
void report_flags_each(const struct report_flags *f,
		       void (*fn)(void *ctx, const char *name,
				  const char *value),
		       void *ctx);

/*
 * Warn about filters that matched no samples, as pprof does, because they are
 * probably mistyped.
 */
void report_flags_warn(const struct no_match *none);

#endif
