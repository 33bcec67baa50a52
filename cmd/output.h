/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a command's result goes.
 *
 * Ownership: the caller closes what it opens.
 * Threads: one thread at a time.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/bytes.h"
#include "base/err.h"

/* Into the file `output`, in place of what it held; "-": standard output. */
NODISCARD int save_output(const char *output, struct bytes b, struct err *err);

#endif
