/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of this process, as the kernel tells it.
 *
 * Ownership: keeps nothing.
 * Threads: any.
 */
#ifndef CMD_MEMORY_H
#define CMD_MEMORY_H

#include "base/defs.h"

/* A field of /proc/self/status in kB, such as "RssAnon:"; 0 without it. */
int64_t memory_kb(const char *field);

#endif
