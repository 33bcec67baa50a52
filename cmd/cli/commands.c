/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/commands.h"

#include <stdio.h>

#include "base/bytes.h"

const struct command *commands;
size_t command_count;

void command_name(const struct command *c, char out[32])
{
	snprintf(out, 32, "%s%s%s", c->group ? c->group : "",
		 c->group ? " " : "", c->name);
}

/*
 * The command being described and the function to call for it. Global, because
 * --help handlers receive no context.
 */
static const struct command *described;
static command_print_fn print_described;

/* The function that --help calls while commands are described. */
static void commands_describe_one(const struct usage *u,
				  const struct flag *flags)
{
	print_described(described, u, flags);
}

/*
 * The flags of a command exist only within its function. So each function is
 * called with --help, which passes them to commands_describe_one().
 */
void commands_describe(command_print_fn print)
{
	char help[] = "--help";

	print_described = print;
	cmd_help_with(commands_describe_one);
	for (size_t i = 0; i < command_count; i++) {
		char *argv[] = { help, NULL };

		described = &commands[i];
		described->run(1, argv);
	}
}
