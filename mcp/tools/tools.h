/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools: what a model can ask, by name. Each tool answers with lines that begin with
 * "#", which say what follows, and a table.
 *
 * Ownership: the table is constant; a call is borrowed.
 * Threads: one thread per call.
 */
#ifndef MCP_TOOLS_TOOLS_H
#define MCP_TOOLS_TOOLS_H

#include "mcp/tools/tool_call.h"

/* A tool. */
struct tool {
	const char *name; /* NULL ends the table */
	const char *title;
	const char *help;
	const struct tool_arg *args;
	/*
	 * Answer a call whose arguments were read. An error is for the model; its
	 * message says what to do.
	 */
	int (*run)(struct tool_call *c, struct err *err);
};

/* Return all tools, in the order in which they are listed. */
const struct tool *tools_list(void);

/* Return the tool of a name; NULL: there is none. */
const struct tool *tools_find(struct str name);

/* The tools. */
int tool_list_series(struct tool_call *c, struct err *err);
int tool_list_labels(struct tool_call *c, struct err *err);
int tool_top(struct tool_call *c, struct err *err);
int tool_peek(struct tool_call *c, struct err *err);
int tool_stacks(struct tool_call *c, struct err *err);
int tool_diff(struct tool_call *c, struct err *err);
int tool_source(struct tool_call *c, struct err *err);

#endif
