/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space: the executable mappings of a process. The kernel reports what
 * is mapped, but not what is unmapped; a new mapping therefore replaces what it
 * overlaps.
 *
 * Ownership: an address space owns its ranges; files are numbers of the caller.
 * Threads: one thread at a time.
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
};

/* Consecutive addresses that are mapped from one file. */
struct address_range {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of `start` in the file */
	uint32_t file;
	uint32_t since; /* the caller's time at which it was mapped */
};

/* The ranges of a process, sorted; no two overlap. { 0 } is empty. */
struct address_space {
	VEC(struct address_range) ranges;
	uint64_t refused; /* number of ranges for which there was no room */
};

/*
 * Add a range that is not empty, and cut what it overlaps. False: the process
 * has too many; what is overlapped is cut all the same, and of a range that
 * would be cut into two, only the first part remains.
 */
NODISCARD bool address_space_map(struct address_space *a,
				 struct address_range range);

/* Return the range of an address, borrowed until the next change, or NULL. */
const struct address_range *address_space_find(const struct address_space *a,
					       uint64_t address);

/* Remove all ranges and free the memory. */
void address_space_fini(struct address_space *a);

#endif
