/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of this process, as the kernel reports it.
 *
 * Ownership: keeps nothing.
 * Threads: any.
 */
#ifndef CMD_PROCESS_MEMORY_H
#define CMD_PROCESS_MEMORY_H

#include "base/defs.h"

/*
 * A field of /proc/self/status in kB, named with its colon, such as "RssAnon:".
 * 0 if the field cannot be read.
 */
int64_t memory_kb(const char *field);

#endif
