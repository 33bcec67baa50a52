/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure rules of the sender: what to do after an attempt, how long to wait,
 * and how far the cursor may move.
 */
#include "remotewrite/send/ack_window.h"
#include "remotewrite/send/retry.h"
#include "tests/check.h"

TestSuite(retry, .timeout = 30);
TestSuite(window, .timeout = 30);

Test(retry, statuses_decide)
{
	static const struct {
		struct retry_attempt a;
		enum retry_verdict want;
	} cases[] = {
		{ { 204, true, 9, 9 }, RETRY_SENT },
		{ { 200, true, 1, 1 }, RETRY_SENT },
		/* Not from a receiver: a login page, a proxy that queues. */
		{ { 200, false, 0, 1 }, RETRY_LATER },
		{ { 202, false, 0, 9 }, RETRY_LATER },
		{ { 204, false, 0, 9 }, RETRY_LATER },
		/* A receiver that has stored less than was sent. */
		{ { 204, true, 8, 9 }, RETRY_LATER },
		{ { 0, false, 0, 9 }, RETRY_LATER },
		{ { 500, true, 0, 9 }, RETRY_LATER },
		{ { 503, false, 0, 1 }, RETRY_LATER },
		{ { 599, false, 0, 1 }, RETRY_LATER },
		{ { 429, true, 0, 9 }, RETRY_LATER },
		{ { 413, false, 0, 2 }, RETRY_SPLIT },
		{ { 413, false, 0, 1 }, RETRY_DROP },
		{ { 400, true, 0, 9 }, RETRY_DROP },
		/* The URL, the credentials or a proxy are wrong. */
		{ { 400, false, 0, 9 }, RETRY_LATER },
		{ { 415, true, 0, 9 }, RETRY_LATER },
		{ { 401, false, 0, 9 }, RETRY_LATER },
		{ { 403, true, 0, 9 }, RETRY_LATER },
		{ { 404, true, 0, 9 }, RETRY_LATER },
		{ { 302, false, 0, 9 }, RETRY_LATER },
		{ { 100, false, 0, 9 }, RETRY_LATER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(retry_decide(&cases[i].a) == cases[i].want, "%zu", i);
}

Test(retry, retry_after_is_seconds_or_a_date)
{
	static const int64_t now = 1795232204000; /* Sat 21 Nov 2026 03:36:44 */
	static const struct {
		const char *value;
		int64_t want;
	} cases[] = {
		{ "", 0 },
		{ "5", 5000 },
		{ "0", 0 },
		{ "-5", 0 },
		{ "-9223372036854775807", 0 },
		{ "99999999999", 3600000 },
		{ "Sat, 21 Nov 2026 03:37:44 GMT", 60000 },
		{ "Sat, 21 Nov 2026 03:35:44 GMT", 0 },
		{ "Sat, 21 Nov 2099 03:35:44 GMT", 3600000 },
		{ "Sat, 21 Nov 2026", 0 },
		{ "soon", 0 },
		{ "5 s", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(retry_after_ms(cases[i].value, now) == cases[i].want,
			  "%s", cases[i].value);
}

Test(retry, the_waiting_time_doubles_and_is_spread)
{
	const struct retry_bounds b = { .min_ms = 30, .max_ms = 5000 };
	int64_t full = 30;

	for (unsigned n = 1; n < 100; n++) {
		int64_t least = retry_backoff_ms(&b, n, 0);
		int64_t most = full / 2;

		for (uint64_t r = 0; r < 6000; r += 7) {
			int64_t ms = retry_backoff_ms(&b, n, r);

			cr_assert(ms >= full / 2, "%u", n);
			cr_assert(ms <= full, "%u", n);
			most = ms > most ? ms : most;
		}
		cr_assert(least == full / 2);
		cr_expect(most >= full - 1);
		full = full * 2 > 5000 ? 5000 : full * 2;
	}
	cr_expect(retry_backoff_ms(&(struct retry_bounds){ 1, 1 }, 5, 9) <= 1);
}

/* A place whose parts can be told from each other. */
static struct log_place place_at(uint64_t position)
{
	return (struct log_place){ .position = position,
				   .number = position + 1,
				   .ms = (int64_t)position + 2 };
}

static bool is_at(const struct ack_window *w, uint64_t position)
{
	return w->acked.position == position &&
	       w->acked.number == position + 1 &&
	       w->acked.ms == (int64_t)position + 2;
}

Test(window, the_position_moves_to_the_first_missing_sample)
{
	struct ack_window w;
	uint64_t n[4];

	ack_window_init(&w, place_at(10));
	for (int i = 0; i < 4; i++)
		n[i] = ack_window_add(&w, place_at(20 + 10 * (uint64_t)i));
	cr_assert(ack_window_count(&w) == 4);
	cr_expect(is_at(&w, 10));
	cr_assert(!ack_window_ack(&w, n[1]));
	cr_expect(is_at(&w, 10));
	cr_expect(!ack_window_ack(&w, n[3]));
	cr_assert(ack_window_ack(&w, n[0]));
	cr_expect(is_at(&w, 30));
	cr_expect(ack_window_count(&w) == 2);
	cr_expect(!ack_window_pass(&w, place_at(99)), "behind the last one");
	cr_expect(is_at(&w, 30));
	cr_assert(ack_window_ack(&w, n[2]));
	cr_expect(is_at(&w, 99));
	cr_expect(ack_window_pass(&w, place_at(120)));
	cr_assert(is_at(&w, 120));
	cr_expect(!ack_window_pass(&w, place_at(120)));
	cr_expect(!ack_window_count(&w));
	ack_window_fini(&w);
}

/* Thousands of samples, acknowledged in an order that is not theirs. */
Test(window, samples_are_acknowledged_in_any_order)
{
	struct ack_window w;
	uint64_t numbers[1000]; /* of the samples, plus 1; 0: acknowledged */
	uint64_t end = 0;

	ack_window_init(&w, place_at(0));
	for (int round = 0; round < 20; round++) {
		size_t count = 1 + (size_t)round * 50;

		for (size_t i = 0; i < count; i++)
			numbers[i] = ack_window_add(&w, place_at(++end)) + 1;
		for (size_t i = 0; i < count; i++) {
			size_t k = (i * 7 + (size_t)round) % count;

			/* 7 and count share a factor: take what is left. */
			while (!numbers[k])
				k = (k + 1) % count;
			(void)ack_window_ack(&w, numbers[k] - 1);
			numbers[k] = 0;
			cr_assert(w.acked.position <= end);
		}
		cr_assert(is_at(&w, end));
		cr_expect(!ack_window_count(&w));
		end = w.acked.position;
	}
	ack_window_fini(&w);
}
