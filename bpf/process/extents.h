/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extents: allocator of ranges in an array that the program in the kernel
 * reads. A range that is freed can be allocated again only after a delay,
 * because the program may still be reading it.
 *
 * Ownership: struct extents owns its lists, not the array.
 * Threads: one thread at a time.
 * Units: milliseconds of a clock that never goes back.
 */
#ifndef BPF_PROCESS_EXTENTS_H
#define BPF_PROCESS_EXTENTS_H

#include "base/vec.h"

enum {
	/*
	 * For how long the program may still read a range that was freed. To
	 * walk the stack of one sample takes microseconds; the rest is for
	 * virtual machines that are paused.
	 */
	EXTENTS_DELAY_MS = 2000,
};

/* Some consecutive elements. */
struct extent {
	uint32_t first;
	uint32_t count;
};

/* An extent that is not used any more, and when it becomes free. */
struct extent_held {
	struct extent extent;
	uint64_t free_at;
};

/* The parts of an array that are free, and those that become free later. */
struct extents {
	VEC(struct extent) free;      /* sorted; no two touch each other */
	VEC(struct extent_held) held; /* in the order in which they get free */
	uint32_t used;                /* number of elements that are not free */
	uint32_t count;               /* number of all elements */
	/* elements that were given back, but are not free yet */
	uint32_t leaving;
};

/* Begin with an array of `count` elements, which are all free. */
void extents_init(struct extents *e, uint32_t count);

/* Free the lists. */
void extents_fini(struct extents *e);

/*
 * Take `count` consecutive elements from the smallest free part that has so
 * many; `count` is not 0. Extents that were given back are free if their
 * `free_at` is not after `now`. False: no free part has so many elements.
 */
NODISCARD bool extents_take(struct extents *e, uint32_t count, uint64_t now,
			    struct extent *out);

/*
 * Give an extent back. It becomes free at the time `free_at`. An extent without
 * elements is a no-op.
 */
void extents_give(struct extents *e, struct extent extent, uint64_t free_at);

#endif
