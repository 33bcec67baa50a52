/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: the table of what everprof can be asked to do.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include <stddef.h>

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

#endif
