/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands print for people: messages and texts from outside, in which
 * control characters are escaped (base/printable.h). Names, labels, paths,
 * errors of servers and reports are printed by these functions alone. Formats
 * for programs, such as profiles, JSON and SVG, are written by cmd/cli/output.h.
 *
 * Threads: one thread at a time.
 */
#ifndef CMD_CLI_CONSOLE_H
#define CMD_CLI_CONSOLE_H

#include <stdio.h>

#include "base/bytes.h"

/* Print "everprof: ", a message and a line end on stderr. */
void console_say(const char *fmt, ...) PRINTF(1, 2);

/*
 * Print one line and its line end. Tabs and line ends within the formatted text
 * are escaped.
 */
void console_line(FILE *out, const char *fmt, ...) PRINTF(2, 3);

/* Print a text that is a part of a line. */
void console_text(FILE *out, struct str s);

/* Print a text of several lines, which keeps its line ends and tabs. */
void console_lines(FILE *out, struct str s);

#endif
