/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the result of a command to a file or to standard output.
 *
 * Ownership: keeps nothing.
 * Threads: one thread at a time.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * Replace the content of the file `output` with `b`; "-" is standard output,
 * whose write errors main() reports. Errors of opening and writing the file are
 * passed on.
 */
NODISCARD int save_output(const char *output, struct bytes b, struct err *err);

#endif
