/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of this process, as the kernel reports it.
 *
 * Threads: any.
 */
#ifndef CMD_CLI_PROCESS_MEMORY_H
#define CMD_CLI_PROCESS_MEMORY_H

#include "base/defs.h"

/*
 * The value of a field of /proc/self/status in kB. `field` includes the colon,
 * as in "RssAnon:". 0 if the field cannot be read.
 */
int64_t memory_kb(const char *field);

#endif
