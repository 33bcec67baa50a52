/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of this process in memory: this program and its libraries, as the
 * mappings of a profile.
 *
 * Ownership: the texts are the profile's.
 * Threads: any.
 */
#ifndef CMD_SERVE_SELF_MAPPINGS_H
#define CMD_SERVE_SELF_MAPPINGS_H

#include "pprof/proto/decode.h"

/*
 * Add a mapping to the profile for each executable segment, with path and build
 * ID. This program is the first one.
 */
void self_mappings_add(struct pprof *p);

/* Return the number of the mapping of an address, or PPROF_NONE. */
uint32_t self_mappings_find(const struct pprof *p, uint64_t address);

#endif
