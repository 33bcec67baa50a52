/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap profile: sizes are estimated well, memory that was freed is not held
 * any more, and threads do not disturb one another.
 */
#include <math.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/mem_profile.h"
#include "tests/check.h"

TestSuite(mem_profile, .timeout = 120);

enum {
	RATE = 1000,
	COUNT = 20000,
	SIZE = 300,
};

/* The sums of all stacks. */
struct sums {
	size_t stacks;
	double allocations;
	double bytes;
	double live_allocations;
	double live_bytes;
};

static void sums_add(void *sums, const struct mem_stack *s)
{
	struct sums *to = sums;

	cr_assert(s->depth > 0);
	cr_assert(s->depth <= MEM_FRAMES_MAX);
	cr_assert(s->frames[0]);
	to->stacks++;
	to->allocations += s->allocations;
	to->bytes += s->bytes;
	to->live_allocations += s->live_allocations;
	to->live_bytes += s->live_bytes;
}

static struct sums sums_now(void)
{
	struct sums s = { .stacks = 0 };

	mem_profile_visit(sums_add, &s);
	return s;
}

static bool is_near(double got, double want, double tolerance)
{
	if (fabs(got - want) <= tolerance)
		return true;
	fprintf(stderr, "got %.0f, want %.0f\n", got, want);
	return false;
}

Test(mem_profile, nothing_is_sampled_before_it_begins)
{
	mem_free(mem_alloc(100 << 20));
	cr_assert(!mem_profile_rate());
	cr_expect(!sums_now().stacks);
}

/* 6 MB by samples of 1000 bytes: the standard deviation is 1.4 %. */
Test(mem_profile, sizes_are_estimated)
{
	static void *p[COUNT];
	struct sums before;
	struct sums s;

	mem_profile_start(RATE);
	before = sums_now();
	for (size_t i = 0; i < COUNT; i++)
		p[i] = mem_alloc(SIZE);
	s = sums_now();
	cr_expect(is_near(s.bytes - before.bytes, COUNT * SIZE, 600000));
	cr_expect(is_near(s.allocations - before.allocations, COUNT, 2000));
	cr_expect(is_near(s.live_bytes - before.live_bytes, COUNT * SIZE,
			  600000));
	for (size_t i = 0; i < COUNT / 2; i++)
		mem_free(p[i]);
	s = sums_now();
	cr_expect(is_near(s.live_bytes - before.live_bytes, COUNT * SIZE / 2.0,
			  450000));
	for (size_t i = COUNT / 2; i < COUNT; i++)
		mem_free(p[i]);
	s = sums_now();
	cr_expect(is_near(s.live_bytes - before.live_bytes, 0, 1));
	cr_expect(is_near(s.live_allocations - before.live_allocations, 0, 1));
	cr_expect(is_near(s.bytes - before.bytes, COUNT * SIZE, 600000));
}

/* A large allocation is always sampled, and counts as itself. */
Test(mem_profile, memory_that_moves_counts_once)
{
	struct sums before;
	void *p;

	mem_profile_start(RATE);
	before = sums_now();
	p = mem_zalloc(1000, 1000);
	p = mem_realloc(p, 5000, 1000);
	cr_expect(is_near(sums_now().live_bytes - before.live_bytes, 5e6, 1));
	p = mem_realloc(p, 2000, 1000);
	cr_expect(is_near(sums_now().live_bytes - before.live_bytes, 2e6, 1));
	mem_free(p);
	mem_free(NULL);
	cr_expect(is_near(sums_now().live_bytes - before.live_bytes, 0, 1));
}

/* Hand memory from one thread to another, which frees it. */
static void *thread_frees(void *memory)
{
	void **p = memory;

	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < 100; i++) {
			mem_free(p[i]);
			p[i] = mem_alloc(SIZE + i);
		}
	}
	return NULL;
}

Test(mem_profile, threads_free_what_others_have_allocated)
{
	static void *p[4][100];
	pthread_t threads[4];
	struct sums before;

	mem_profile_start(RATE);
	before = sums_now();
	for (size_t t = 0; t < 4; t++) {
		for (size_t i = 0; i < 100; i++)
			p[t][i] = mem_alloc(SIZE);
		cr_assert(
			!pthread_create(&threads[t], NULL, thread_frees, p[t]));
	}
	for (size_t t = 0; t < 4; t++)
		pthread_join(threads[t], NULL);
	for (size_t t = 0; t < 4; t++) {
		for (size_t i = 0; i < 100; i++)
			mem_free(p[t][i]);
	}
	cr_expect(is_near(sums_now().live_bytes - before.live_bytes, 0, 1));
}

/* The tables have a size; what does not fit is left out. */
Test(mem_profile, more_samples_than_there_is_room_for)
{
	static void *p[100000];

	mem_profile_start(1);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = mem_alloc(16);
	cr_expect(sums_now().live_allocations > 10000);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		mem_free(p[i]);
	cr_expect(sums_now().live_allocations < 100);
}
