/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table room: decides which unwind tables give way to a new one. A table needs
 * one piece of an array. The oldest tables may lie far apart, so that many of
 * them would have to go until one piece is large enough. Therefore, tables that
 * are neighbours go together.
 *
 * Ownership: the caller's.
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
	uint32_t table;   /* number of its table, if it may go */
	uint64_t used_at; /* when it was used last */
	bool may_go;
};

/* The array. No two parts overlap. */
struct table_room {
	VEC(struct room_part) parts;
	uint32_t capacity; /* number of entries */
};

/* Free the list of parts. */
void table_room_fini(struct table_room *r);

/* Return how many entries are free when all parts go that may. */
uint32_t table_room_left(const struct table_room *r);

/*
 * Sort the parts by their places, and find neighbours that leave one free piece
 * of `count` entries when they go: parts [*first, *end), which may be none. If
 * there are several such groups of neighbours, choose the one whose last use is
 * longest ago. False: there are none.
 */
NODISCARD bool table_room_find(struct table_room *r, uint32_t count,
			       size_t *first, size_t *end);

#endif
