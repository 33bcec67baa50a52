/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap profile: which functions allocate memory by base/mem.h, and hold it.
 * Allocations are sampled: on average one in each `rate` bytes, at random
 * (Poisson sampling, as in Go's runtime and tcmalloc). A sample of an
 * allocation of `size` bytes stands for 1 / (1 - exp(-size / rate)) allocations.
 * Memory that libraries allocate is not in the profile.
 *
 * Ownership: the tables are static, so the profile takes no memory itself.
 * Threads: any; mem_profile_start() before the first thread is started.
 * Locks: a mutex, under which nothing else is done. It is a leaf.
 */
#ifndef BASE_MEM_PROFILE_H
#define BASE_MEM_PROFILE_H

#include <stdatomic.h>

#include "base/defs.h"

enum {
	/* Outer frames of longer stacks are cut off. */
	MEM_FRAMES_MAX = 32,
	/* Default of `rate` in bytes. */
	MEM_PROFILE_RATE = 512 << 10,
	/* Number of marks, see mem_profile_frees(). */
	MEM_PROFILE_MARKS = 16 << 10,
};

/* A stack that has allocated memory. The numbers are estimates. */
struct mem_stack {
	uint64_t frames[MEM_FRAMES_MAX]; /* return addresses, innermost first */
	uint32_t depth;
	double allocations; /* since the start */
	double bytes;
	double live_allocations; /* of them not freed yet */
	double live_bytes;
};

/* Begin to sample. */
void mem_profile_start(size_t rate);

/* Return the rate in bytes; 0: nothing is sampled. */
size_t mem_profile_rate(void);

/* Show all stacks; the visitor may not allocate memory. */
void mem_profile_visit(void (*visit)(void *ctx, const struct mem_stack *s),
		       void *ctx);

/*
 * The rest of this header is for mem.c alone.
 */

/* Bytes that the thread may allocate before the next sample. */
extern _Thread_local int64_t mem_profile_left;

/* The number of sampled allocations that are not freed, by hash of address. */
extern _Atomic uint16_t mem_profile_marks[MEM_PROFILE_MARKS];

/* Record an allocation, if it is to be sampled. */
void mem_profile_sample(uintptr_t p, size_t size);

/* Forget an allocation, if it was sampled. */
void mem_profile_forget(uintptr_t p);

/* Return the mark of an address. */
static inline size_t mem_profile_mark(uintptr_t p)
{
	/* The multiplier of Fibonacci hashing. */
	return p * 0x9e3779b97f4a7c15ULL >> (64 - 14);
}

/* Note that memory was allocated. */
static inline void mem_profile_allocates(uintptr_t p, size_t size)
{
	mem_profile_left -= (int64_t)size;
	if (mem_profile_left < 0)
		mem_profile_sample(p, size);
}

/* Note that memory will be freed. Nearly all of it was not sampled. */
static inline void mem_profile_frees(const void *p)
{
	uintptr_t address = (uintptr_t)p;

	if (p &&
	    atomic_load_explicit(&mem_profile_marks[mem_profile_mark(address)],
				 memory_order_relaxed))
		mem_profile_forget(address);
}

#endif
