/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with commands: the settings of its process, finding the command,
 * help, and the helper processes that everprof starts as itself.
 *
 * Ownership: the table of commands and all texts are borrowed, and constant.
 * Threads: program_run() is all that main() does.
 */
#ifndef CMD_PROGRAM_H
#define CMD_PROGRAM_H

#include "cmd/cli/commands.h"

struct program {
	const char *name;
	const char *about; /* lines at the beginning of its help */
	const char *hint;  /* lines at the end, or "" */
	const struct command *commands;
	size_t count;
};

/* Run the command that the arguments name; returns the exit code. */
int program_run(const struct program *p, int argc, char **argv);

#endif
