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

Test(ingest_limiter, decisions_on_uploads)
{
	static const struct {
		int64_t held;
		int64_t uploads;
		int64_t sender;
		int64_t size;
		enum ingest_verdict want;
	} cases[] = {
		/*
		 * Of 16 MB, uploads may use 8 MB, and one sender 6 MB. Of each,
		 * a quarter is kept for small bodies.
		 */
		{ 0, 0, 0, 4 * MB + 512 * KB, INGEST_SHARED },
		{ 0, 0, 0, 4 * MB + 513 * KB, INGEST_WAIT },
		{ 6 * MB, 6 * MB, 0, 256 * KB, INGEST_SHARED },
		{ 6 * MB, 6 * MB, 0, 257 * KB, INGEST_WAIT },
		{ 8 * MB - 256 * KB, 8 * MB - 256 * KB, 0, 256 * KB,
		  INGEST_SHARED },
		{ 8 * MB - 255 * KB, 8 * MB - 255 * KB, 0, 256 * KB,
		  INGEST_WAIT },
		{ 6 * MB, 6 * MB, 6 * MB - 256 * KB, 256 * KB, INGEST_SHARED },
		{ 6 * MB, 6 * MB, 6 * MB - 255 * KB, 256 * KB, INGEST_WAIT },
		{ 4 * MB, 4 * MB, 4 * MB, 512 * KB, INGEST_SHARED },
		{ 4 * MB, 4 * MB, 4 * MB, 513 * KB, INGEST_WAIT },
		/* Answers of targets may use what uploads do not use. */
		{ 16 * MB - 255 * KB, 0, 0, 256 * KB, INGEST_WAIT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ingest_state s = { .max = 16 * MB,
					  .held = cases[i].held,
					  .uploads = cases[i].uploads,
					  .sender = cases[i].sender,
					  .is_upload = true };

		cr_expect(ingest_decide(&s, cases[i].size) == cases[i].want,
			  "case %zu", i);
		s.slot_free = true;
		/* Only who holds nothing of the shared budget gets the slot. */
		cr_expect(ingest_decide(&s, cases[i].size) ==
				  (cases[i].want == INGEST_SHARED ?
					   INGEST_SHARED :
				   cases[i].sender ? INGEST_WAIT :
						     INGEST_SLOT),
			  "case %zu", i);
	}
}

Test(ingest_limiter, uploads_do_not_keep_answers_of_targets_waiting)
{
	struct ingest_limiter *in = ingest_limiter_new(64 * MB, 16 * MB);
	struct ingest_sender senders[8] = { 0 };
	struct ingest_share uploads[8][64] = { 0 };
	struct ingest_share answers[4] = { 0 };
	struct ingest_share large = { 0 };

	/* Eight senders take all that they get, in large and small bodies. */
	for (size_t k = 0; k < 64; k++) {
		for (size_t i = 0; i < 8; i++) {
			uploads[i][k].sender = &senders[i];
			(void)!ingest_limiter_take(in, &uploads[i][k],
						   k % 2 ? 8 * MB : 200 * KB);
		}
	}
	cr_expect(!ingest_limiter_has_room(in, &uploads[0][63], 300 * KB));
	cr_expect(ingest_limiter_held(in) <= 16 * MB + 8 * MB,
		  "one half of 32 MB, and the slot of uploads");
	/* Targets still get the other half, and their slot. */
	cr_expect(ingest_limiter_take(in, &large, 16 * MB));
	for (size_t i = 0; i < 4; i++)
		cr_expect(ingest_limiter_take(in, &answers[i], 2 * MB));
	for (size_t i = 0; i < 8; i++) {
		for (size_t k = 0; k < 64; k++)
			ingest_limiter_release(&uploads[i][k]);
		cr_expect(senders[i].held == 0);
	}
	for (size_t i = 0; i < 4; i++)
		ingest_limiter_release(&answers[i]);
	ingest_limiter_release(&large);
	cr_expect(ingest_limiter_held(in) == 0);
	ingest_limiter_free(in);
}

Test(ingest_limiter, a_sender_leaves_room_for_others)
{
	struct ingest_limiter *in = ingest_limiter_new(64 * MB, 16 * MB);
	struct ingest_sender greedy = { 0 };
	struct ingest_sender honest = { 0 };
	struct ingest_share v[200] = { 0 };
	struct ingest_share small = { .sender = &honest };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		v[i].sender = &greedy;
		(void)!ingest_limiter_take(in, &v[i], 200 * KB);
	}
	cr_expect(greedy.held <= 12 * MB, "%lld", (long long)greedy.held);
	cr_expect(!ingest_limiter_has_room(in, &v[199], 200 * KB));
	cr_expect(ingest_limiter_take(in, &small, 200 * KB));
	cr_assert(!small.slot);
	cr_expect(honest.held == 200 * KB);
	ingest_limiter_release(&small);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		ingest_limiter_release(&v[i]);
	cr_assert(ingest_limiter_held(in) == 0);
	cr_expect(greedy.held == 0);
	ingest_limiter_free(in);
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
