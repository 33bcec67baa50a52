/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem_profile.h"

#include <execinfo.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mutex.h"

_Static_assert(MEM_PROFILE_MARKS == 1 << 14, "mem_profile_mark() has 14 bits");

enum {
	/* Largest number of different stacks; others are not counted. */
	STACKS_MAX = 4096,
	/* Slots for sampled allocations that are not freed; a power of two. */
	LIVE_SLOTS = 16 << 10,
	/* The innermost frame is mem_profile_sample(). */
	OWN_FRAMES = 1,
};

/* A sampled allocation. */
struct live_sample {
	uintptr_t address; /* 0: a free slot */
	uint32_t stack;
	double weight; /* allocations that it stands for */
	size_t size;
};

/* The profile. All members are guarded by mu. */
static struct {
	struct mutex mu;
	struct mem_stack stacks[STACKS_MAX];
	uint32_t stack_count;
	uint32_t slots[2 * STACKS_MAX]; /* number of a stack plus 1 */
	struct live_sample live[LIVE_SLOTS];
	size_t live_count;
} profile = { .mu = { .pthread = PTHREAD_MUTEX_INITIALIZER } };

/* Set once, before there are threads. */
static size_t mem_profile_bytes;

_Thread_local int64_t mem_profile_left;
_Atomic uint16_t mem_profile_marks[MEM_PROFILE_MARKS];

/* State of the random numbers of a thread; 0: not begun. */
static _Thread_local uint64_t mem_profile_random;

void mem_profile_start(size_t rate)
{
	void *frames[4];

	/* The first call loads the unwinder, which allocates memory. */
	(void)backtrace(frames, 4);
	mem_profile_bytes = rate;
	mem_profile_left = 0;
}

size_t mem_profile_rate(void)
{
	return mem_profile_bytes;
}

/*
 * Return a seed for a thread, which is not 0. Threads are numbered, because one
 * may have its stack where another one had it.
 */
static uint64_t mem_profile_seed(void)
{
	static _Atomic uint64_t threads;
	uint64_t z = (atomic_fetch_add(&threads, 1) + 1) * 0x9e3779b97f4a7c15;

	/* splitmix64 by Vigna. */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) | 1;
}

/* Draw the bytes up to the next sample: exponentially distributed. */
static int64_t mem_profile_draw(void)
{
	uint64_t x = mem_profile_random;

	/* xorshift64 by Marsaglia. */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	mem_profile_random = x;
	return (int64_t)(-log(((double)(x >> 11) + 1) / 0x1p53) *
			 (double)mem_profile_bytes);
}

static uint64_t frames_hash(const struct mem_stack *s)
{
	return hash_key((struct bytes){ .ptr = (const uint8_t *)s->frames,
					.len = s->depth * sizeof(*s->frames) });
}

/* Find a stack, or add it. Returns STACKS_MAX if there are too many. */
static uint32_t stack_number(const struct mem_stack *s) REQUIRES(profile.mu)
{
	size_t at = frames_hash(s) % ARRAY_SIZE(profile.slots);
	uint32_t number;

	for (; profile.slots[at]; at = (at + 1) % ARRAY_SIZE(profile.slots)) {
		const struct mem_stack *x =
			&profile.stacks[profile.slots[at] - 1];

		if (x->depth == s->depth &&
		    !memcmp(x->frames, s->frames,
			    s->depth * sizeof(*s->frames)))
			return profile.slots[at] - 1;
	}
	if (profile.stack_count == STACKS_MAX)
		return STACKS_MAX;
	number = profile.stack_count++;
	profile.stacks[number] = *s;
	profile.slots[at] = number + 1;
	return number;
}

/* The slot of an address, or the free slot where it would be. */
static size_t live_slot(uintptr_t address) REQUIRES(profile.mu)
{
	size_t at =
		mem_profile_mark(address) * (LIVE_SLOTS / MEM_PROFILE_MARKS);

	while (profile.live[at].address && profile.live[at].address != address)
		at = (at + 1) % LIVE_SLOTS;
	return at;
}

/* Change the number of samples that have the mark of an address. */
static void mark_add(uintptr_t address, int by) REQUIRES(profile.mu)
{
	atomic_fetch_add_explicit(&mem_profile_marks[mem_profile_mark(address)],
				  (uint16_t)by, memory_order_relaxed);
}

/*
 * Free a slot. The samples in the slots behind it move up, if their search
 * would now end at the free one.
 */
static void live_remove(size_t at) REQUIRES(profile.mu)
{
	const struct live_sample x = profile.live[at];
	struct mem_stack *s = &profile.stacks[x.stack];
	size_t next = at;

	s->live_allocations -= x.weight;
	s->live_bytes -= x.weight * (double)x.size;
	mark_add(x.address, -1);
	profile.live_count--;
	profile.live[at].address = 0;
	while (profile.live[next = (next + 1) % LIVE_SLOTS].address) {
		const struct live_sample moved = profile.live[next];

		profile.live[next].address = 0;
		profile.live[live_slot(moved.address)] = moved;
	}
}

/* Fill a free slot. */
static void live_add(size_t at, const struct live_sample *x)
	REQUIRES(profile.mu)
{
	struct mem_stack *s = &profile.stacks[x->stack];

	s->live_allocations += x->weight;
	s->live_bytes += x->weight * (double)x->size;
	mark_add(x->address, 1);
	profile.live_count++;
	profile.live[at] = *x;
}

/* Record a sample. */
static void mem_profile_add(const struct live_sample *x,
			    const struct mem_stack *s)
{
	struct live_sample sample = *x;
	struct mem_stack *to;
	size_t at;

	mutex_lock(&profile.mu);
	sample.stack = stack_number(s);
	at = live_slot(x->address);
	/*
	 * A library freed the last memory at this address, which mem_free() did
	 * not see.
	 */
	if (profile.live[at].address) {
		live_remove(at);
		at = live_slot(x->address);
	}
	to = &profile.stacks[sample.stack];
	if (sample.stack < STACKS_MAX) {
		to->allocations += x->weight;
		to->bytes += x->weight * (double)x->size;
		if (profile.live_count < LIVE_SLOTS * 3 / 4)
			live_add(at, &sample);
	}
	mutex_unlock(&profile.mu);
}

__attribute__((noinline)) void mem_profile_sample(uintptr_t p, size_t size)
{
	struct live_sample x = { .address = p, .size = size };
	struct mem_stack s = { .depth = 0 };
	void *frames[MEM_FRAMES_MAX + OWN_FRAMES];
	int depth;

	if (!mem_profile_bytes) {
		mem_profile_left = INT64_MAX;
		return;
	}
	if (!mem_profile_random) {
		/* A thread's first allocation is sampled like any other. */
		mem_profile_random = mem_profile_seed();
		(void)mem_profile_draw();
		mem_profile_left = mem_profile_draw() - (int64_t)size;
		if (mem_profile_left >= 0)
			return;
	}
	mem_profile_left = mem_profile_draw();
	x.weight = 1 / -expm1(-(double)size / (double)mem_profile_bytes);
	depth = backtrace(frames, MEM_FRAMES_MAX + OWN_FRAMES);
	for (int i = OWN_FRAMES; i < depth; i++)
		s.frames[s.depth++] = (uintptr_t)frames[i];
	mem_profile_add(&x, &s);
}

void mem_profile_forget(uintptr_t p)
{
	size_t at;

	mutex_lock(&profile.mu);
	at = live_slot(p);
	if (profile.live[at].address)
		live_remove(at);
	mutex_unlock(&profile.mu);
}

void mem_profile_visit(void (*visit)(void *ctx, const struct mem_stack *s),
		       void *ctx)
{
	mutex_lock(&profile.mu);
	for (uint32_t i = 0; i < profile.stack_count; i++)
		visit(ctx, &profile.stacks[i]);
	mutex_unlock(&profile.mu);
}
