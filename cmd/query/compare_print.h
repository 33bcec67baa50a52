/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare print: the answer of report=compare for people: as a table for a
 * terminal, or as Markdown for a pull request.
 *
 * Threads: pure functions.
 */
#ifndef CMD_QUERY_COMPARE_PRINT_H
#define CMD_QUERY_COMPARE_PRINT_H

#include "cmd/cli/api_client.h"

#include "base/buf.h"

/* Append a table. Names are as the profile has them: control characters, too. */
void compare_print_text(json_t *data, struct buf *out);

/*
 * Append Markdown of at most 60 000 bytes. `verdicts` are lines of the gate, or
 * empty. Names cannot end a table's cell or mention a user.
 */
void compare_print_markdown(json_t *data, struct str verdicts, struct buf *out);

#endif
