/* SPDX-License-Identifier: Apache-2.0 */
/* Held samples: which ones are taken, and when. */
#include "base/mem.h"
#include "bpf/collect/held_samples.h"
#include "tests/check.h"

TestSuite(held_samples, .timeout = 60);

/* The process that is being read. */
static uint32_t read_now;

static bool waits(void *ctx UNUSED, uint32_t pid)
{
	return pid == read_now;
}

static bool add_of(struct held_samples *h, uint32_t uid, uint32_t pid,
		   uint64_t now)
{
	const struct sample_record r = {
		.header = { .pid = pid, .kernel = 1, .user = 2 },
		.words = { 1, 2, 3 },
	};
	const struct window_input in = { .time = 100 + now, .samples = pid };

	return held_samples_add(h, &r, uid, &in, now);
}

static bool add(struct held_samples *h, uint32_t pid, uint64_t now)
{
	return add_of(h, 0, pid, now);
}

/* Take a sample and return its process; 0: there is none. */
static uint32_t take(struct held_samples *h, size_t *at, uint64_t now)
{
	struct held_sample s;
	uint32_t pid;

	if (!held_samples_take(h, at, waits, NULL, now, &s))
		return 0;
	pid = s.record->header.pid;
	cr_assert(s.in.samples == pid);
	cr_expect(s.record->words[2] == 3);
	mem_free(s.record);
	return pid;
}

Test(held_samples, wait_for_their_process_and_not_for_ever)
{
	struct held_samples h = { .list = { 0 } };
	size_t at = 0;

	read_now = 7;
	cr_assert(add(&h, 7, 0));
	cr_assert(add(&h, 8, 0));
	cr_assert(add(&h, 7, 10));
	cr_assert(add(&h, 9, 10));
	cr_assert(take(&h, &at, 20) == 8);
	cr_expect(take(&h, &at, 20) == 9);
	cr_assert(!take(&h, &at, 20));
	cr_expect(h.list.count == 2);
	at = 0;
	cr_expect(take(&h, &at, HELD_SAMPLES_MS) == 7);
	cr_assert(!take(&h, &at, HELD_SAMPLES_MS));
	cr_expect(h.list.count == 1);
	read_now = 0;
	at = 0;
	cr_assert(take(&h, &at, 20) == 7);
	cr_expect(!h.list.count);
	held_samples_fini(&h);
}

Test(held_samples, keep_a_window_open_that_has_ended)
{
	struct held_samples h = { .list = { 0 } };
	size_t at = 0;

	read_now = 7;
	cr_expect(!held_samples_before(&h, UINT64_MAX));
	/* Their times are 150 and 110. */
	cr_assert(add(&h, 8, 50));
	cr_assert(add(&h, 7, 10));
	cr_expect(held_samples_before(&h, 111));
	cr_expect(!held_samples_before(&h, 110));
	cr_expect(take(&h, &at, 60) == 8);
	cr_expect(held_samples_before(&h, 111));
	at = 0;
	cr_expect(take(&h, &at, 10 + HELD_SAMPLES_MS) == 7);
	cr_expect(!held_samples_before(&h, UINT64_MAX));
	held_samples_fini(&h);
}

Test(held_samples, have_a_limit)
{
	struct held_samples h = { .list = { 0 } };

	for (uint32_t i = 0; i < HELD_SAMPLES_MAX; i++)
		cr_assert(add(&h, i, 0));
	cr_expect(!add(&h, HELD_SAMPLES_MAX, 0));
	held_samples_fini(&h);
}

/* Processes that are read slowly leave room for those of others. */
Test(held_samples, have_a_limit_for_each_process_and_user)
{
	struct held_samples h = { .list = { 0 } };

	for (int i = 0; i < HELD_SAMPLES_PROCESS_MAX; i++)
		cr_assert(add_of(&h, 1000, 7, 0));
	cr_expect(!add_of(&h, 1000, 7, 0));
	for (uint32_t i = HELD_SAMPLES_PROCESS_MAX; i < HELD_SAMPLES_USER_MAX;
	     i++)
		cr_assert(add_of(&h, 1000, 100 + i, 0));
	cr_expect(!add_of(&h, 1000, 8, 0));
	cr_assert(add_of(&h, 1001, 8, 0));
	cr_expect(add_of(&h, 0, 9, 0));
	held_samples_fini(&h);
}
