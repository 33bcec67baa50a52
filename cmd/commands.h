/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: the table of what everprof can be asked to do.
 *
 * Ownership: the table is constant.
 * Threads: any.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/cmd.h"

#define COMMANDS_MAX 64

struct command {
	const char *group; /* NULL: none */
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

extern const struct command commands[];
extern const size_t command_count;

/* As it is typed: "query top". */
void command_name(const struct command *c, char out[32]);

/*
 * Hand each command, in order, to print() with its usage and flags. --help does
 * nothing else afterwards.
 */
typedef void (*command_print_fn)(const struct command *c, const struct usage *u,
				 const struct flag *flags);
void commands_describe(command_print_fn print);

#endif
