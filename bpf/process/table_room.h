/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table room: decides which unwind tables are evicted for a new one. A table
 * needs one contiguous piece of an array. The tables that were used longest ago
 * may lie far apart, so that many of them would have to go until one free piece
 * is large enough. Therefore, tables that are neighbours are evicted together.
 *
 * Ownership: the caller owns struct table_room.
 * Threads: one thread at a time.
 * Units: milliseconds of a clock that never goes back.
 */
#ifndef BPF_PROCESS_TABLE_ROOM_H
#define BPF_PROCESS_TABLE_ROOM_H

#include "base/vec.h"
#include "bpf/process/extents.h"

/* A part of the array that is not free. */
struct room_part {
	struct extent extent;
	uint32_t table;   /* number of the part's table, if `may_go` */
	uint64_t used_at; /* when it was used last */
	bool may_go;
};

/* The array, as a list of the parts that are not free. No two parts overlap. */
struct table_room {
	VEC(struct room_part) parts;
	uint32_t capacity; /* number of entries */
};

/* Free the list of parts. */
void table_room_fini(struct table_room *r);

/* Return how many entries are free once all parts with `may_go` are gone. */
uint32_t table_room_left(const struct table_room *r);

/*
 * Sort the parts by their places. Then find neighbours, the parts [*first,
 * *end), that may go and would leave one free piece of at least `count`
 * entries. If there is such a piece already, [*first, *end) is empty. Of
 * several such groups of neighbours, choose the one whose most recent use is
 * longest ago. False: no neighbours that may go leave such a piece.
 */
NODISCARD bool table_room_find(struct table_room *r, uint32_t count,
			       size_t *first, size_t *end);

#endif
