/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure rules of the sender: what to do after an attempt, how long to wait,
 * how many shards to use, and how far the cursor may move.
 */
#include "remotewrite/send/ack_window.h"
#include "remotewrite/send/catch_up.h"
#include "remotewrite/send/reshard.h"
#include "remotewrite/send/retry.h"
#include "tests/check.h"

TestSuite(retry, .timeout = 30);
TestSuite(reshard, .timeout = 30);
TestSuite(catch_up, .timeout = 30);
TestSuite(window, .timeout = 30);

Test(retry, statuses_decide)
{
	static const struct {
		struct retry_attempt a;
		enum retry_verdict want;
	} cases[] = {
		{ { 204, true, true, 9, 9 }, RETRY_SENT },
		{ { 200, false, true, 1, 1 }, RETRY_SENT },
		/* Not from a receiver: a login page, a proxy that queues. */
		{ { 200, true, false, 0, 1 }, RETRY_LATER },
		{ { 202, true, false, 0, 9 }, RETRY_LATER },
		{ { 204, true, false, 0, 9 }, RETRY_LATER },
		/* A receiver that has stored less than was sent. */
		{ { 204, true, true, 8, 9 }, RETRY_LATER },
		{ { 0, true, false, 0, 9 }, RETRY_LATER },
		{ { 500, true, true, 0, 9 }, RETRY_LATER },
		{ { 503, true, false, 0, 1 }, RETRY_LATER },
		{ { 599, true, false, 0, 1 }, RETRY_LATER },
		{ { 429, true, true, 0, 9 }, RETRY_LATER },
		{ { 415, true, true, 0, 9 }, RETRY_SNAPPY },
		{ { 413, true, false, 0, 2 }, RETRY_SPLIT },
		{ { 413, true, false, 0, 1 }, RETRY_DROP },
		{ { 400, true, true, 0, 9 }, RETRY_DROP },
		/* The URL, the credentials or a proxy are wrong. */
		{ { 400, true, false, 0, 9 }, RETRY_LATER },
		{ { 415, false, true, 0, 9 }, RETRY_LATER },
		{ { 401, true, false, 0, 9 }, RETRY_LATER },
		{ { 403, true, true, 0, 9 }, RETRY_LATER },
		{ { 404, true, true, 0, 9 }, RETRY_LATER },
		{ { 302, true, false, 0, 9 }, RETRY_LATER },
		{ { 100, true, false, 0, 9 }, RETRY_LATER },
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

			cr_assert(ms >= full / 2 && ms <= full, "%u", n);
			most = ms > most ? ms : most;
		}
		cr_expect(least == full / 2 && most >= full - 1);
		full = full * 2 > 5000 ? 5000 : full * 2;
	}
	cr_expect(retry_backoff_ms(&(struct retry_bounds){ 1, 1 }, 5, 9) <= 1);
}

Test(reshard, shards_follow_the_rates)
{
	static const struct {
		const char *what;
		struct reshard_input in;
		unsigned want;
	} cases[] = {
		{ "nothing was sent yet",
		  { .in_rate = 100,
		    .is_moving = true,
		    .shards = 3,
		    .min = 1,
		    .max = 10 },
		  3 },
		{ "one shard keeps up",
		  { .in_rate = 100,
		    .sent_rate = 100,
		    .busy_rate = 0.9,
		    .is_moving = true,
		    .shards = 1,
		    .min = 1,
		    .max = 10 },
		  1 },
		{ "the input needs four",
		  { .in_rate = 400,
		    .sent_rate = 100,
		    .busy_rate = 1,
		    .is_moving = true,
		    .shards = 1,
		    .min = 1,
		    .max = 10 },
		  4 },
		{ "a backlog needs more than the input",
		  { .in_rate = 100,
		    .sent_rate = 100,
		    .busy_rate = 1,
		    .backlog = 4000,
		    .is_moving = true,
		    .shards = 1,
		    .min = 1,
		    .max = 10 },
		  3 },
		{ "no more than the maximum",
		  { .in_rate = 1e9,
		    .sent_rate = 1,
		    .busy_rate = 1,
		    .is_moving = true,
		    .shards = 1,
		    .min = 1,
		    .max = 10 },
		  10 },
		{ "no fewer than the minimum",
		  { .in_rate = 1,
		    .sent_rate = 100,
		    .busy_rate = 1,
		    .is_moving = true,
		    .shards = 9,
		    .min = 2,
		    .max = 10 },
		  2 },
		{ "a small change is ignored",
		  { .in_rate = 120,
		    .sent_rate = 100,
		    .busy_rate = 4,
		    .is_moving = true,
		    .shards = 4,
		    .min = 1,
		    .max = 10 },
		  4 },
		{ "the receiver does not answer",
		  { .in_rate = 400,
		    .sent_rate = 100,
		    .busy_rate = 1,
		    .shards = 1,
		    .min = 1,
		    .max = 10 },
		  1 },
		{ "not fewer while it is late",
		  { .in_rate = 1,
		    .sent_rate = 100,
		    .busy_rate = 1,
		    .delay_s = 11,
		    .is_moving = true,
		    .shards = 9,
		    .min = 1,
		    .max = 10 },
		  9 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(reshard_decide(&cases[i].in) == cases[i].want,
			  "%s: %u", cases[i].what,
			  reshard_decide(&cases[i].in));
}

Test(reshard, rates_follow_the_newest_values)
{
	struct reshard_rate r = { 0 };

	reshard_rate_add(&r, 100, 10);
	cr_expect(r.value == 10);
	reshard_rate_add(&r, 200, 10);
	cr_expect(r.value == 12);
	for (int i = 0; i < 100; i++)
		reshard_rate_add(&r, 0, 10);
	cr_expect(r.value < 1e-6);
}

Test(catch_up, a_large_backlog_begins_it_and_a_small_one_ends_it)
{
	struct catch_up c = { 0 };
	const uint64_t begin = 1600 * MIB;

	cr_expect(!catch_up_measure(&c, 1 << 30, 0), "0: never");
	cr_expect(!catch_up_measure(&c, begin, begin) && !c.active);
	cr_expect(!catch_up_is_stored(&c));
	cr_expect(catch_up_measure(&c, begin + 1, begin) && c.active);
	cr_expect(catch_up_is_stored(&c));
	cr_expect(!catch_up_measure(&c, begin / 16 + 1, begin) && c.active);
	cr_expect(catch_up_measure(&c, begin / 16, begin) && !c.active);
	cr_expect(!catch_up_is_stored(&c));
}

/* What is being sent must not keep the queue from ending it. */
Test(catch_up, it_ends_with_a_few_requests_left)
{
	struct catch_up c = { 0 };

	cr_expect(catch_up_measure(&c, 65 * MIB, 64 * MIB));
	cr_expect(!catch_up_measure(&c, CATCH_UP_FLOOR + 1, 64 * MIB));
	cr_expect(catch_up_measure(&c, CATCH_UP_FLOOR, 64 * MIB));
	cr_expect(catch_up_measure(&c, 1001, 1000));
	cr_expect(!catch_up_measure(&c, 501, 1000));
	cr_expect(catch_up_measure(&c, 500, 1000));
}

/*
 * Let as many requests of the present way pass as a measurement has, behind the
 * one with which it begins.
 */
static void pass_requests(struct catch_up *c, int64_t *now, uint64_t bytes)
{
	bool stored = c->stored;

	for (int i = 0; i <= CATCH_UP_REQUESTS; i++) {
		*now += CATCH_UP_SPAN_NS / CATCH_UP_REQUESTS;
		cr_expect(c->stored == stored);
		catch_up_note(c, stored, bytes / CATCH_UP_REQUESTS, *now);
	}
}

Test(catch_up, the_faster_way_is_used_and_the_other_one_is_tried)
{
	struct catch_up c = { 0 };
	int64_t now = 5;
	int tries = 0;

	(void)catch_up_measure(&c, 2000, 1000);
	pass_requests(&c, &now, 80 * MIB);
	cr_expect(!catch_up_is_stored(&c), "the other way is not known yet");
	pass_requests(&c, &now, 50 * MIB);
	cr_expect(catch_up_is_stored(&c));
	for (int i = 0; i < 2 * CATCH_UP_PROBE; i++) {
		tries += !catch_up_is_stored(&c);
		pass_requests(&c, &now, c.stored ? 80 * MIB : 50 * MIB);
	}
	cr_expect(tries == 2, "%d", tries);
	/* The network has become slow. */
	for (int i = 0; i < 2 * CATCH_UP_PROBE; i++)
		pass_requests(&c, &now, c.stored ? 10 * MIB : 50 * MIB);
	cr_expect(!catch_up_is_stored(&c));
	/* A small gain is not worth the traffic. */
	for (int i = 0; i < 2 * CATCH_UP_PROBE; i++)
		pass_requests(&c, &now, c.stored ? 52 * MIB : 50 * MIB);
	cr_expect(!catch_up_is_stored(&c));
}

Test(catch_up, a_fast_way_is_kept_and_a_refused_one_is_not_used)
{
	struct catch_up c = { 0 };
	int64_t now = 5;

	(void)catch_up_measure(&c, 2000, 1000);
	for (int i = 0; i < 3 * CATCH_UP_PROBE; i++) {
		pass_requests(&c, &now, 400 * MIB);
		cr_assert(catch_up_is_stored(&c));
	}
	/* Requests that began in the other way do not count. */
	catch_up_note(&c, false, 1, now + 10LL * CATCH_UP_SPAN_NS);
	cr_expect(c.requests == 0 && catch_up_is_stored(&c));
	catch_up_refuse(&c);
	cr_expect(!catch_up_is_stored(&c));
	/* It may be another receiver the next time. */
	(void)catch_up_measure(&c, 0, 1000);
	(void)catch_up_measure(&c, 2000, 1000);
	cr_expect(catch_up_is_stored(&c));
}

/* The backlog has grown because the receiver was away. */
Test(catch_up, an_outage_says_nothing_about_a_way)
{
	struct catch_up c = { 0 };
	int64_t now = 5;

	(void)catch_up_measure(&c, 2000, 1000);
	now += 3600LL * CATCH_UP_SPAN_NS;
	pass_requests(&c, &now, 400 * MIB);
	cr_expect(c.rates[true] >= CATCH_UP_FAST && catch_up_is_stored(&c));
	catch_up_note(&c, true, 400 * MIB, now += 1000);
	catch_up_note(&c, true, 400 * MIB, now += 3600LL * CATCH_UP_SPAN_NS);
	pass_requests(&c, &now, 400 * MIB);
	cr_expect(c.rates[true] >= CATCH_UP_FAST && catch_up_is_stored(&c));
}

/* Packed requests may get through, because they have fewer bytes. */
Test(catch_up, after_a_failure_requests_are_packed)
{
	struct catch_up c = { 0 };
	int64_t now = 5;

	(void)catch_up_measure(&c, 2000, 1000);
	for (unsigned wait = 1; wait <= 2 * CATCH_UP_PROBE; wait *= 2) {
		unsigned n = 0;

		cr_assert(catch_up_is_stored(&c));
		for (int i = 0; i < 4; i++)
			catch_up_fail(&c); /* all shards */
		for (; !catch_up_is_stored(&c) && n < 99; n++)
			pass_requests(&c, &now, MIB);
		cr_expect(n == (wait < CATCH_UP_PROBE ? wait : CATCH_UP_PROBE),
			  "%u: %u", wait, n);
	}
	pass_requests(&c, &now, 400 * MIB);
	cr_expect(c.failures == 0 && catch_up_is_stored(&c));
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
	cr_expect(ack_window_count(&w) == 4 && is_at(&w, 10));
	cr_expect(!ack_window_ack(&w, n[1]) && is_at(&w, 10));
	cr_expect(!ack_window_ack(&w, n[3]));
	cr_expect(ack_window_ack(&w, n[0]) && is_at(&w, 30));
	cr_expect(ack_window_count(&w) == 2);
	ack_window_pass(&w, place_at(99)); /* behind the last one */
	cr_expect(is_at(&w, 30));
	cr_expect(ack_window_ack(&w, n[2]) && is_at(&w, 99));
	ack_window_pass(&w, place_at(120));
	cr_expect(is_at(&w, 120) && !ack_window_count(&w));
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
		cr_expect(is_at(&w, end) && !ack_window_count(&w));
		end = w.acked.position;
	}
	ack_window_fini(&w);
}
