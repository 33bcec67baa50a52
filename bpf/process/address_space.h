/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space: the executable mappings of a process. The kernel reports what
 * is mapped, but not what is unmapped; a new mapping therefore replaces what it
 * overlaps. After a fork, parent and child share one list of ranges until the
 * mappings of either process change, so that a fork costs no memory.
 *
 * Ownership: an address space has a counted reference to its ranges, which
 * other address spaces may share. A range has only the number of its file, not
 * a reference to the file.
 * Threads: one thread at a time, for all address spaces of a pool.
 */
#ifndef BPF_PROCESS_ADDRESS_SPACE_H
#define BPF_PROCESS_ADDRESS_SPACE_H

#include "base/vec.h"

enum {
	/*
	 * Largest number of executable ranges of a process. Programs with a JIT
	 * compiler have a few hundred.
	 */
	ADDRESS_RANGES_MAX = 4096,
	/*
	 * Limit of address_pool.ranges: all processes together have memory for
	 * this many ranges, 16 MB. The limit is checked only before an array
	 * grows, so the last array that grows may take `ranges` above the
	 * limit.
	 */
	ADDRESS_POOL_MAX = 512 << 10,
};

/*
 * Consecutive addresses that are mapped from one file, or from no file. `file`
 * is the number that the caller gives to the file, or a number that stands for
 * no file.
 */
struct address_range {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of `start` in the file */
	uint32_t file;
	uint32_t since; /* when the range was mapped, in units of the caller */
};

/*
 * Sorted ranges, of which no two overlap, and the number of address spaces that
 * share them.
 */
struct address_ranges {
	VEC(struct address_range) list;
	uint32_t users;
};

/* Counts the memory of all address spaces together. { 0 } is an empty pool. */
struct address_pool {
	size_t ranges; /* number of ranges for which there is memory */
};

/* The ranges of a process. { 0 } is empty. */
struct address_space {
	struct address_ranges *ranges; /* NULL: none */
};

/*
 * Whether the pool is full: no array of ranges can be copied or enlarged any
 * more.
 */
bool address_pool_is_full(const struct address_pool *pool);

/*
 * Add `range`, which is not empty, and remove its addresses from the other
 * ranges. False: `range` was not added, for one of two reasons. (1) The process
 * has too many ranges. The addresses of `range` are removed from the other
 * ranges all the same; of a range that would be cut into two, only the first
 * part remains. (2) The pool is full, and the array of ranges would have to be
 * copied or enlarged. Then all ranges are removed: otherwise, the address space
 * would still have ranges that are not mapped any more.
 */
NODISCARD bool address_space_map(struct address_pool *pool,
				 struct address_space *a,
				 struct address_range range);

/* Let the empty address space `a` share the ranges of `from`. */
void address_space_share(struct address_space *a,
			 const struct address_space *from);

/* Return the number of ranges. */
size_t address_space_count(const struct address_space *a);

/*
 * Return range number `number`, in the order of addresses, borrowed until the
 * next change.
 */
const struct address_range *address_space_at(const struct address_space *a,
					     size_t number);

/*
 * Return the range that contains `address`, borrowed until the next change, or
 * NULL.
 */
const struct address_range *address_space_find(const struct address_space *a,
					       uint64_t address);

/* Remove all ranges, and free the memory if nobody shares them. */
void address_space_clear(struct address_pool *pool, struct address_space *a);

#endif
