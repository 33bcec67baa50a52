/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the program's commands; program.c finds commands in it, and the
 * manual page and the completions describe what it lists, so that none of them
 * can be stale (docs/decisions.md, 100).
 *
 * Ownership: the table is borrowed, and constant.
 * Threads: commands_describe() before other threads start; the table may be
 * read by any thread.
 */
#ifndef CMD_CLI_COMMANDS_H
#define CMD_CLI_COMMANDS_H

#include "cmd/cli/cmd.h"

/* Maximum number of commands. */
#define COMMANDS_MAX 64

/*
 * One command: the words by which it is called, its function, and a phrase for
 * the list of commands.
 */
struct command {
	const char *group; /* first word; NULL: the command is one word */
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/*
 * All commands of this program, from its table; the commands of a group (with
 * the same first word) are adjacent. Set by program_run().
 */
extern const struct command *commands;
extern size_t command_count;

/* Write the words of a command as they are typed, such as "query top". */
void command_name(const struct command *c, char out[32]);

/* Called for each command with its usage and flags. */
typedef void (*command_print_fn)(const struct command *c, const struct usage *u,
				 const struct flag *flags);

/*
 * Call print() for each command in the order of the table. Afterwards, --help
 * of any command calls print() instead of printing the help.
 */
void commands_describe(command_print_fn print);

#endif
