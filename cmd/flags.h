/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line flags: --name=value or --name value, --name and --no-name for
 * booleans, anything else is positional; "--" ends the flags.
 *
 * Ownership: values are borrowed from argv.
 * Threads: one thread, before others start.
 */
#ifndef CMD_FLAGS_H
#define CMD_FLAGS_H

#include <stdio.h>

#include "base/err.h"

enum flag_kind {
	FLAG_TEXT,     /* const char * */
	FLAG_BOOL,     /* bool */
	FLAG_INT,      /* int64_t, at least 0 */
	FLAG_DURATION, /* int64_t, ms */
	FLAG_SIZE,     /* int64_t, bytes */
	FLAG_TIME,     /* const char *, as the API takes times */
};

struct flag {
	const char *name; /* NULL ends the list */
	enum flag_kind kind;
	void *out;             /* holds the default before parsing */
	const char *otherwise; /* the default, as it is typed, for --help */
	const char *help;
};

/*
 * Parse argv; positional arguments are moved to its front and counted in
 * *argc. ERR_INVALID says which flag is wrong. --help sets *help.
 */
NODISCARD int flags_parse(const struct flag *flags, int *argc, char **argv,
			  bool *help, struct err *err);

/* Set each value from the text of its default. */
void flags_set_defaults(const struct flag *flags);

void flags_help(FILE *out, const struct flag *flags);

/* The value of a flag as text. */
void flag_format(const struct flag *f, char *out, size_t n);

#endif
