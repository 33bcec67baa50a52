/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space: the executable mappings of a process. The kernel reports what
 * is mapped, but not what is unmapped; a new mapping therefore replaces what it
 * overlaps. After a fork, parent and child share their ranges until one of them
 * changes, so that a fork costs no memory.
 *
 * Ownership: an address space owns its share of its ranges; files are numbers of
 * the caller.
 * Threads: one thread at a time, for all address spaces of a pool.
 */
#ifndef BPF_PROCESS_ADDRESS_SPACE_H
#define BPF_PROCESS_ADDRESS_SPACE_H

#include "base/vec.h"

enum {
	/*
	 * Largest number of executable ranges of a process. Programs that
	 * compile their code themselves have some hundred.
	 */
	ADDRESS_RANGES_MAX = 4096,
	/*
	 * Largest number of ranges of all processes: 16 MB. The array that
	 * grows last may exceed it.
	 */
	ADDRESS_POOL_MAX = 512 << 10,
};

/* Consecutive addresses that are mapped from one file. */
struct address_range {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of `start` in the file */
	uint32_t file;
	uint32_t since; /* the caller's time at which it was mapped */
};

/* Ranges, sorted, of which no two overlap, and the number of their users. */
struct address_ranges {
	VEC(struct address_range) list;
	uint32_t users;
};

/* What all address spaces take together. { 0 } is an empty one. */
struct address_pool {
	size_t ranges; /* for which there is memory */
};

/* The ranges of a process. { 0 } is empty. */
struct address_space {
	struct address_ranges *ranges; /* NULL: none */
};

/* Whether the pool is full: no more address spaces can change. */
bool address_pool_is_full(const struct address_pool *pool);

/*
 * Add a range that is not empty, and cut what it overlaps. False: there is no
 * room. If the process has too many ranges, the new range is not added, but the
 * ranges that it overlaps are cut. If it would cut a range into two, only the
 * first part remains. If the pool is full, the address space becomes empty,
 * because it could not be kept right.
 */
NODISCARD bool address_space_map(struct address_pool *pool,
				 struct address_space *a,
				 struct address_range range);

/* Let an empty address space have the ranges that another one has. */
void address_space_share(struct address_space *a,
			 const struct address_space *from);

/* The number of ranges. */
size_t address_space_count(const struct address_space *a);

/* Return a range by its number, borrowed until the next change. */
const struct address_range *address_space_at(const struct address_space *a,
					     size_t number);

/* Return the range of an address, borrowed until the next change, or NULL. */
const struct address_range *address_space_find(const struct address_space *a,
					       uint64_t address);

/* Remove all ranges, and free the memory if nobody shares them. */
void address_space_clear(struct address_pool *pool, struct address_space *a);

#endif
