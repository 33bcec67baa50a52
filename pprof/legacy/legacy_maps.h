/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: parses the memory map at the end of a profile into
 * the profile's mappings.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread per parser.
 */
#ifndef PPROF_LEGACY_LEGACY_MAPS_H
#define PPROF_LEGACY_LEGACY_MAPS_H

#include "pprof/legacy/legacy_parser.h"

/* Returns whether the line begins the memory map. */
bool legacy_is_map_start(struct str line);

/*
 * Skips lines, from the current line on, until the memory map begins, then
 * parses it as legacy_maps() does. Returns 0; a profile need not have a map.
 */
int legacy_sections(struct legacy *l);

/*
 * Gives each location of a stack the mapping that covers its address. Addresses
 * that no mapping covers share one mapping of the whole address space. Sets
 * l->over if there are so many mappings and locations that this would take too
 * long.
 */
void legacy_assign_mappings(struct legacy *l);

/*
 * Parses all lines after the current line as the memory map and assigns its
 * mappings to the locations. Returns 0; a map that is too large sets l->over.
 */
int legacy_maps(struct legacy *l);

#endif
