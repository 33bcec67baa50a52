/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tool rows: the table of an answer, as comma-separated values (RFC 4180), which a
 * language model reads. The model has room for so many tokens, so there are as many rows
 * as fit; no cell is cut to make room for others. The first row is always there, if
 * need be cut, because a page without rows would have no next page.
 *
 * Names come from profiles, so from anybody: control characters are escaped
 * (base/printable.h), a name is cut at ROWS_NAME_MAX bytes, and a name that could read
 * like a sentence or like a line of ours, which begin with "#", is in quotes.
 *
 * Ownership: tool_rows_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef MCP_TOOLS_TOOL_ROWS_H
#define MCP_TOOLS_TOOL_ROWS_H

#include "base/buf.h"
#include "base/bytes.h"

enum {
	ROWS_NAME_MAX = 200,
	/*
	 * How many bytes ten tokens stand for, at least: numbers have few in a token
	 * (./dev soak assistants).
	 */
	ROWS_BYTES_IN_TEN_TOKENS = 25
};

/* A table. */
struct tool_rows {
	struct buf text;  /* the rows that fit, after the line of the names */
	struct buf row;   /* the row that is being written */
	size_t max_bytes; /* of the text */
	int64_t offset;   /* rows before the first one that is wanted */
	int64_t limit;    /* rows that are wanted */
	int64_t seen;     /* rows that were begun */
	int64_t shown;    /* rows that are in the text */
	bool is_full;     /* a row did not fit */
};

/* Begin a table with the names of its columns, such as "function,flat". */
void tool_rows_init(struct tool_rows *t, const char *columns, int64_t offset,
		    int64_t limit, size_t max_bytes);

/* Begin a row. False: it is not wanted, and only counts. */
bool tool_rows_begin(struct tool_rows *t);

/* Add a cell to the row. */
void tool_rows_text(struct tool_rows *t, struct str text);
/* Add a line of a text as it is: tabs stay, other control characters are escaped. */
void tool_rows_line_text(struct tool_rows *t, struct str line);

void tool_rows_number(struct tool_rows *t, int64_t value);
void tool_rows_percent(struct tool_rows *t, int64_t value, int64_t total);

/* Add a cell of a value that was scaled to another unit, with up to four digits. */
void tool_rows_scaled(struct tool_rows *t, double value);

/* End the row. False: it did not fit, and is not shown. */
bool tool_rows_end(struct tool_rows *t);

/*
 * Add a cell of names that `separator` follows in `text`, each of which is cut by itself:
 * of more than `max` names, those in the middle are left out, and counted.
 */
void tool_rows_names(struct tool_rows *t, struct str text, char separator,
		     size_t max);

/* Append a name with its control characters escaped, cut at `max` bytes. */
void tool_rows_name(struct buf *out, struct str name, size_t max);

/*
 * Append the line that says which rows there are and how to get more, without its end.
 * `what` says what a row is, such as "rows".
 */
void tool_rows_line(const struct tool_rows *t, const char *what,
		    struct buf *out);

/* Free everything. */
void tool_rows_fini(struct tool_rows *t);

#endif
