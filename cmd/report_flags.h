/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of reports as flags of commands.
 *
 * Ownership: values are borrowed from argv.
 * Threads: one thread at a time.
 */
#ifndef CMD_REPORT_FLAGS_H
#define CMD_REPORT_FLAGS_H

#include "cmd/cmd.h"
#include "pprof/report_options.h"

enum {
	REPORT_FLAGS_MAX = 40
};

struct report_flags {
	const char *texts[REPORT_FLAGS_MAX]; /* by report_option_list() */
	bool switches[REPORT_FLAGS_MAX];
};

/* Append the flags of all options; returns where the next flag goes. */
struct flag *report_flags_list(struct report_flags *f, struct flag *at);

/* ERR_INVALID says which option is wrong. */
NODISCARD int report_flags_options(const struct report_flags *f,
				   struct report_options *out, struct err *err);

/* Tell fn the name and value of each option that was given. */
void report_flags_each(const struct report_flags *f,
		       void (*fn)(void *ctx, const char *name,
				  const char *value),
		       void *ctx);

#endif
