/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a terminal: escapes the characters with which a name could move the
 * cursor, change colors or titles, or reorder the text around it.
 *
 * These are the control characters (U+0000 to U+001F, U+007F to U+009F), the ends of
 * lines and paragraphs (U+2028, U+2029), the bidirectional controls (U+200E, U+200F,
 * U+202A to U+202E, U+2066 to U+2069), and what cannot be seen (U+200B to U+200D,
 * U+2060 to U+2065, U+FEFF, the tags U+E0000 to U+E007F). A control below
 * U+0100 is written as \x1b, another as \u202e, and a byte that is not part of
 * valid UTF-8 as \xff. Backslashes are not escaped, so the result is for people
 * to read, not for programs to parse. All text from outside passes through
 * these functions on its way to a terminal (docs/decisions.md, 172).
 *
 * Threads: pure functions.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include "base/buf.h"

/*
 * Return the code of the character with which s begins if it is a control
 * character, otherwise -1. `n` is the length of the character as
 * str_utf8_len() returns it.
 */
int32_t printable_control(struct str s, size_t n);

/*
 * Append a text that belongs on one line: line ends and tabs are escaped, too.
 */
void printable_add(struct buf *out, struct str s);

/* Append a text of several lines, which keeps its line ends and tabs. */
void printable_add_lines(struct buf *out, struct str s);

#endif
