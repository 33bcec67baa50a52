/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index of debug information: finds the compilation unit that contains an
 * address, and the function in this unit. libdw alone would not do: it searches
 * for a function from the beginning of the unit, and older versions of libdw
 * find the unit only with the section .debug_aranges, which not all compilers
 * write.
 *
 * Ownership: an index owns its ranges.
 * Threads: one thread per file.
 */
#ifndef SYMBOLS_FILE_DWARF_INDEX_H
#define SYMBOLS_FILE_DWARF_INDEX_H

#include <elfutils/libdw.h>

#include "base/vec.h"

/* An address range of an entry of the debug information. */
struct dwarf_span {
	uint64_t start;
	uint64_t end;
	Dwarf_Off entry; /* position of the entry of the unit or the function */
};

/*
 * The ranges, sorted by their start. Of ranges with the same start, the longest
 * comes first. So a range that lies within another one comes after it.
 */
struct dwarf_index {
	VEC(struct dwarf_span) spans;
};

/* Index all compilation units. */
void dwarf_index_units(struct dwarf_index *x, Dwarf *dwarf);

/* Index the functions of a unit. */
void dwarf_index_functions(struct dwarf_index *x, Dwarf_Die *unit);

/*
 * Return the innermost range that contains `address`. NULL: there is none, or
 * it is not among the ranges that are examined (DWARF_NESTED_MAX in
 * dwarf_index.c).
 */
const struct dwarf_span *dwarf_index_find(const struct dwarf_index *x,
					  uint64_t address);

/* Free the ranges. */
void dwarf_index_fini(struct dwarf_index *x);

#endif
