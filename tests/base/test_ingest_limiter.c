/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ingest_limiter.h"
#include "tests/check.h"

TestSuite(ingest_limiter, .timeout = 20);

#define KB 1024LL
#define MB (1024 * KB)

Test(ingest_limiter, admission_decisions)
{
	static const struct {
		int64_t held;
		bool slot_free;
		int64_t size;
		enum ingest_verdict want;
	} cases[] = {
		/*
		 * All cases have 16 MB, of which a quarter is kept for small
		 * bodies.
		 */
		{ 0, true, 1, INGEST_SHARED },
		{ 0, true, 8 * MB, INGEST_SHARED },
		{ 0, true, 8 * MB + 1, INGEST_SLOT },
		{ 0, false, 8 * MB + 1, INGEST_WAIT },
		{ 12 * MB - 512 * KB, true, 512 * KB, INGEST_SHARED },
		{ 12 * MB - 511 * KB, true, 512 * KB, INGEST_SLOT },
		{ 12 * MB - 511 * KB, false, 512 * KB, INGEST_WAIT },
		{ 12 * MB, false, 256 * KB, INGEST_SHARED },
		{ 16 * MB - 256 * KB, false, 256 * KB, INGEST_SHARED },
		{ 16 * MB - 255 * KB, false, 256 * KB, INGEST_WAIT },
		{ 16 * MB, true, 1, INGEST_SLOT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ingest_state s = { .max = 16 * MB,
					  .held = cases[i].held,
					  .slot_free = cases[i].slot_free };

		cr_expect(ingest_decide(&s, cases[i].size) == cases[i].want,
			  "case %zu", i);
	}
}

static void count(void *ctx)
{
	unsigned *n = ctx;

	(*n)++;
}

Test(ingest_limiter, held_memory_is_limited_and_returned)
{
	unsigned rooms = 0;
	struct ingest_limiter *in = ingest_limiter_new(64 * MB, 16 * MB);
	struct ingest_share v[200] = { 0 };
	bool is_done[200] = { false };
	int64_t most = 0;
	size_t waiting = 0;

	ingest_limiter_set_room(in, count, &rooms);
	/*
	 * Two hundred bodies grow in turn, by 64 KB each time, as far as the
	 * limiter lets them.
	 */
	for (int64_t size = 64 * KB; size <= 8 * MB; size += 64 * KB) {
		waiting = 0;
		for (size_t i = 0; i < ARRAY_SIZE(v); i++)
			waiting += !ingest_limiter_take(in, &v[i], size);
		most = ingest_limiter_held(in) > most ?
			       ingest_limiter_held(in) :
			       most;
	}
	cr_expect(most <= 48 * MB, "32 MB are shared, 16 are the slot");
	cr_expect(waiting == ARRAY_SIZE(v) - 1, "one goes on");
	/* One body after the other gets its memory, ends and gives it back. */
	for (size_t done = 0; done < ARRAY_SIZE(v); done++) {
		size_t at = ARRAY_SIZE(v);

		for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
			if (!is_done[i] &&
			    ingest_limiter_take(in, &v[i], 16 * MB))
				at = i;
		}
		cr_assert(at < ARRAY_SIZE(v));
		cr_expect(ingest_limiter_held(in) <= 48 * MB);
		ingest_limiter_release(&v[at]);
		is_done[at] = true;
	}
	cr_expect(ingest_limiter_held(in) == 0);
	cr_expect(rooms >= ARRAY_SIZE(v));
	ingest_limiter_free(in);
}
