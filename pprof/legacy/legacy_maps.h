/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: memory maps.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread a parser.
 */
#ifndef PPROF_LEGACY_LEGACY_MAPS_H
#define PPROF_LEGACY_LEGACY_MAPS_H

#include "pprof/legacy/legacy_parser.h"

bool legacy_is_map_start(struct str line);

/* The same, after skipping to where it begins. */
int legacy_sections(struct legacy *l);

/* Give each location the mapping of its address, a fake one if need be. */
void legacy_assign_mappings(struct legacy *l);

/* legacy_maps.c: the memory map that the lines behind this one are. */
int legacy_maps(struct legacy *l);

#endif
