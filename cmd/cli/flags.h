/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of command-line flags: --name=value or --name value, --name and
 * --no-name for booleans, -o for --output. Everything else is a positional
 * argument; "--" ends the flags. -p, -F and -d are short for --pid, --frequency
 * and --duration.
 *
 * Ownership: text values are borrowed from argv or are constants.
 * Threads: one thread, before others start.
 */
#ifndef CMD_CLI_FLAGS_H
#define CMD_CLI_FLAGS_H

#include <stdio.h>

#include "base/err.h"

/*
 * The kind of a flag. It decides how the text of the value is parsed, and which
 * type flag.out points to, as listed here.
 */
enum flag_kind {
	FLAG_TEXT,     /* const char * */
	FLAG_TEXTS,    /* struct flag_texts; can be given several times */
	FLAG_BOOL,     /* bool */
	FLAG_INT,      /* int64_t, at least 0 */
	FLAG_DURATION, /* int64_t, ms */
	FLAG_SIZE,     /* int64_t, bytes */
	FLAG_TIME,     /* const char *, a time that the API accepts */
};

/* Largest number of values of a flag that can be given several times. */
#define FLAG_TEXTS_MAX 128

/* The values of a flag that can be given several times. */
struct flag_texts {
	const char *v[FLAG_TEXTS_MAX];
	size_t count;
};

/* One flag of a command. */
struct flag {
	const char *name; /* without dashes; NULL ends the list */
	enum flag_kind kind;
	/* where the value is stored; holds the default before parsing */
	void *out;
	/* the default, as a user would type it; NULL: none */
	const char *fallback;
	const char *help; /* one sentence for --help */
};

/*
 * Parse argv, which ends with a NULL after its *argc arguments, as that of
 * main() does. Positional arguments are moved to the front of argv, counted in
 * *argc, and followed by a NULL; --help sets *help. ERR_INVALID: a flag is
 * unknown or its value is wrong; the message names the flag.
 */
NODISCARD int flags_parse(const struct flag *flags, int *argc, char **argv,
			  bool *help, struct err *err);

/*
 * Set the value of each flag from the text of its default. Booleans become true
 * if their default is "yes"; other booleans, and flags without a default, are
 * left unchanged. A default that does not parse is a bug and ends the process.
 */
void flags_set_defaults(const struct flag *flags);

/* Print names, defaults and help of all flags. */
void flags_help(FILE *out, const struct flag *flags);

/* Write the current value of a flag as text to `out`, which has n bytes. */
void flag_format(const struct flag *f, char *out, size_t n);

#endif
