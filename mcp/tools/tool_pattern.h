/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool pattern: the argument "function", a regular expression of names of functions.
 * Models copy names from other answers, such as "pkg.(*T).Run" of Go or "operator+(X)" of
 * C++, which as expressions are wrong or match something else. So a name that is the text
 * of the argument matches; and if a function has exactly this name, only that one does.
 *
 * Ownership: texts are in the arena of the call.
 * Threads: one thread per call.
 */
#ifndef MCP_TOOLS_TOOL_PATTERN_H
#define MCP_TOOLS_TOOL_PATTERN_H

#include "mcp/tools/tool_call.h"
#include "pprof/profile/profile.h"

/*
 * Set the parameter "symbol" of a call. ERR_INVALID: the argument is no expression, and
 * too long to be a name.
 */
NODISCARD int tool_pattern_set(struct tool_call *c, struct err *err);

/* Return the expression that was set. */
struct str tool_pattern(const struct tool_call *c);

/* Whether a function of a profile has exactly the name that the argument is. */
bool tool_pattern_is_name(const struct tool_call *c, const struct pprof *p);

/* Return an expression for exactly this name, in the arena. */
struct str tool_pattern_name(const struct tool_call *c);

/* Return ERR_NOTFOUND: no function matches; the message says what to do. */
NODISCARD int tool_pattern_unmatched(const struct tool_call *c,
				     struct err *err);

#endif
