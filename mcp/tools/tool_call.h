/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool call: what a tool is asked, and what it answers. Arguments have the names and
 * types of a table, which is also the tool's schema, and become parameters of the API
 * (docs/querying.md), so that both accept the same values.
 *
 * Ownership: a call borrows everything; its texts are in the arena of the request.
 * Threads: one thread per call.
 */
#ifndef MCP_TOOLS_TOOL_CALL_H
#define MCP_TOOLS_TOOL_CALL_H

#include "base/arena.h"
#include "base/json.h"
#include "base/yaml.h"
#include "mcp/tools/tool_rows.h"
#include "query/select/params.h"
#include "query/select/query_work.h"
#include "symbols/names/symbolizer.h"
#include "tsdb/open/tsdb.h"

/* An argument of a tool. */
struct tool_arg {
	const char *name; /* NULL ends a table */
	const char *help;
	/* Name of the parameter of the API; NULL: the tool itself reads it. */
	const char *param;
	const char *choices; /* values, separated by blanks; NULL: any text */
	/* Of a number: its default, smallest and largest value. */
	int64_t usual;
	int64_t min;
	int64_t max;
	bool is_number;
	bool is_time; /* Unix times in seconds become milliseconds */
	bool required;
};

enum {
	TOOL_WARNINGS_MAX = 8
};

/* A call. */
struct tool_call {
	struct tsdb *db;
	struct symbolizer *symbolizer;
	const char *source_root; /* see struct report_options */
	struct query_work *work;
	struct arena *arena;
	const struct tool_arg *args;       /* of the tool */
	const struct yaml_node *arguments; /* of the call; NULL: none */
	struct params params;              /* of the API, made of them */
	struct buf *text;                  /* the answer, for the model */
	struct json *facts; /* members of the answer for programs */
	const char *warnings[TOOL_WARNINGS_MAX + 1];
	size_t warning_count;
};

/* Write the schema of the arguments of a table (json-schema.org, 2020-12). */
void tool_call_schema(const struct tool_arg *args, struct json *j);

/*
 * Check the arguments, and set c->params. ERR_INVALID: an argument is not known, is
 * missing, or has a wrong value.
 */
NODISCARD int tool_call_read(struct tool_call *c, struct err *err);

/* Return an argument that is a text; empty: it is missing. */
struct str tool_call_text(const struct tool_call *c, const char *name);

/* Return an argument that is a number, or what is usual. */
int64_t tool_call_number(const struct tool_call *c, const char *name);

/* Add a parameter of the API. */
void tool_call_set(struct tool_call *c, const char *param, struct str value);

/* Return how many bytes the rows of the answer may have, after what it has already. */
size_t tool_call_room(const struct tool_call *c);

/*
 * Append the warnings to the answer, each in a line that begins with "#", as long as
 * they take less than half of it.
 */
void tool_call_warn(struct tool_call *c);

/*
 * Finish the answer: the line of the rows, of which `more` is the end, and the table.
 * `what` says what a row is.
 */
void tool_call_end(struct tool_call *c, const struct tool_rows *rows,
		   const char *what, const char *more);

/*
 * Return the message of an error for the model, in the arena: with the names of the
 * arguments, not of the parameters, and what to do.
 */
const char *tool_call_explain(const struct tool_call *c, const struct err *err);

#endif
