/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard: which samples a request has, when it is sent, and what becomes of its
 * samples after each answer.
 */
#include "remotewrite/send/shard.h"

#include "tests/remotewrite/fake_queue.h"

TestSuite(shard, .timeout = 120);

/* Hand samples with the times `from` to `to` to the first shard. */
static void put(struct fake_queue *f, int64_t from, int64_t to)
{
	struct shard *s = &f->shards[0];

	mutex_lock(&f->q.mu);
	for (int64_t ms = from; ms <= to; ms++) {
		const struct logged_sample sample = { .lsn = (uint64_t)ms,
						      .ms = ms,
						      .raw_len = 100 };
		struct queued_sample *i =
			queued_sample_new(&sample, (struct bytes){ 0 });

		shard_add(&f->q, s, i,
			  (struct log_place){ .position = (uint64_t)ms + 1 });
	}
	mutex_unlock(&f->q.mu);
}

/* Up to which position everything is acknowledged. */
static uint64_t acked(struct fake_queue *f)
{
	return FAKE_LOCKED(f, f->q.window.acked.position);
}

#define SOON "batch_send_deadline: 1ms, min_backoff: 1ms, max_backoff: 2ms"

static void begin(struct fake_queue *f, const char *config)
{
	fake_queue_init(f, config);
	fake_queue_begin(f, shard_run, &f->shards[0]);
}

static void end(struct fake_queue *f)
{
	fake_queue_stop(f);
	fake_queue_fini(f);
}

Test(shard, full_requests_are_sent_in_order_and_the_rest_later)
{
	struct fake_queue f;

	begin(&f, "queue_config: {max_samples_per_send: 3, "
		  "batch_send_deadline: 1h}");
	put(&f, 1, 8);
	FAKE_WAIT(acked(&f) == 7);
	cr_expect(!strcmp(fake_writer_text(), "1 2 3 | 4 5 6"), "%s",
		  fake_writer_text());
	cr_expect(metric_get(f.q.metrics.sent) == 6);
	cr_expect(metric_get(f.q.metrics.bytes) == 6);
	/* Samples up to a number need not wait. */
	mutex_lock(&f.q.mu);
	f.q.due_before = f.q.window.next;
	queue_wake_shards(&f.q);
	mutex_unlock(&f.q.mu);
	FAKE_WAIT(acked(&f) == 9);
	cr_expect(!strcmp(fake_writer_text(), "1 2 3 | 4 5 6 | 7 8"));
	cr_expect(!FAKE_LOCKED(&f, f.q.held_bytes));
	end(&f);
}

Test(shard, a_request_has_as_many_bytes_as_it_may)
{
	struct fake_queue f;

	begin(&f, "queue_config: {max_bytes_per_send: 1KB, "
		  "batch_send_deadline: 1ms}");
	put(&f, 1, 25);
	FAKE_WAIT(acked(&f) == 26);
	cr_expect(fake_writer_count() >= 3);
	cr_expect(fake_writer.v.v[0]->count <= 10, "%zu",
		  fake_writer.v.v[0]->count);
	end(&f);
}

static void busy_twice(const struct fake_sent *s, struct attempt *a)
{
	if (s->number < 3)
		fake_writer_answer(a, 503, 0);
}

Test(shard, a_temporary_failure_is_retried_with_the_same_samples)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON "}");
	fake_writer.judge = busy_twice;
	put(&f, 1, 2);
	FAKE_WAIT(acked(&f) == 3);
	cr_expect(fake_writer_count() >= 3);
	cr_expect(metric_get(f.q.metrics.sent) == 2);
	cr_expect(metric_get(f.q.metrics.retried) >= 2);
	cr_expect(!*f.q.last_error);
	end(&f);
}

static void not_a_receiver(const struct fake_sent *s, struct attempt *a)
{
	/* A login page, and then a receiver that stored less than was sent. */
	if (s->number == 1)
		a->judged = false;
	if (s->number == 2)
		fake_writer_answer(a, 204, s->count - 1);
}

Test(shard, an_answer_counts_only_if_it_says_that_all_is_stored)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON ", max_samples_per_send: 2}");
	fake_writer.judge = not_a_receiver;
	put(&f, 1, 2);
	FAKE_WAIT(acked(&f) == 3);
	cr_expect(!strcmp(fake_writer_text(), "1 2 | 1 2 | 1 2"), "%s",
		  fake_writer_text());
	end(&f);
}

static void at_most_two(const struct fake_sent *s, struct attempt *a)
{
	if (s->count > 2)
		fake_writer_answer(a, 413, 0);
}

Test(shard, a_request_that_is_too_large_is_split)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON ", max_samples_per_send: 5}");
	fake_writer.judge = at_most_two;
	put(&f, 1, 5);
	FAKE_WAIT(acked(&f) == 6);
	cr_expect(!strcmp(fake_writer_text(),
			  "1 2 3 4 5 | 1 2 | 3 4 5 | 3 | 4 5"),
		  "%s", fake_writer_text());
	cr_expect(metric_get(f.q.metrics.sent) == 5);
	cr_expect(!metric_get(f.q.metrics.failed));
	end(&f);
}

static void never_fits(const struct fake_sent *s UNUSED, struct attempt *a)
{
	fake_writer_answer(a, 413, 0);
}

Test(shard, one_profile_that_is_too_large_is_given_up)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON "}");
	fake_writer.judge = never_fits;
	put(&f, 1, 1);
	FAKE_WAIT(acked(&f) == 2);
	cr_expect(metric_get(f.q.metrics.failed) == 1);
	end(&f);
}

static void all_but_one(const struct fake_sent *s, struct attempt *a)
{
	fake_writer_answer(a, 400, s->count - 1);
}

Test(shard, refused_profiles_are_counted_and_the_others_are_sent)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON ", max_samples_per_send: 4}");
	fake_writer.judge = all_but_one;
	put(&f, 1, 4);
	FAKE_WAIT(acked(&f) == 5);
	cr_expect(fake_writer_count() == 1, "it is not sent again");
	cr_expect(metric_get(f.q.metrics.sent) == 3);
	cr_expect(metric_get(f.q.metrics.failed) == 1);
	end(&f);
}

Test(shard, a_damaged_profile_leaves_its_request)
{
	struct fake_queue f;

	fake_writer.damaged_ms = 2;
	begin(&f, "queue_config: {" SOON ", max_samples_per_send: 3}");
	put(&f, 1, 3);
	FAKE_WAIT(acked(&f) == 4);
	cr_expect(!strcmp(fake_writer_text(), "1 3"), "%s", fake_writer_text());
	cr_expect(metric_get(f.q.metrics.dropped_damaged) == 1);
	/* A request without any sample is not sent. */
	put(&f, 2, 2);
	FAKE_WAIT(metric_get(f.q.metrics.dropped_damaged) == 2);
	cr_expect(fake_writer_count() == 1);
	end(&f);
}

static void down(const struct fake_sent *s UNUSED, struct attempt *a)
{
	*a = (struct attempt){ .done = true, .samples = a->samples };
	snprintf(a->error, sizeof(a->error), "connection refused");
}

Test(shard, samples_beyond_max_backlog_are_given_up_while_the_receiver_is_down)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON ", max_samples_per_send: 3}");
	fake_writer.judge = down;
	put(&f, 1, 3);
	FAKE_WAIT(fake_writer_count() > 2);
	cr_expect(acked(&f) == 1);
	mutex_lock(&f.q.mu);
	cr_expect(!strcmp(f.q.last_error, "connection refused"));
	f.q.drop_until = 2;
	queue_wake_shards(&f.q);
	mutex_unlock(&f.q.mu);
	FAKE_WAIT(acked(&f) == 2);
	cr_expect(metric_get(f.q.metrics.dropped_backlog) == 1);
	/* And those with an earlier time. */
	mutex_lock(&f.q.mu);
	f.q.drop_before_ms = 3;
	queue_wake_shards(&f.q);
	mutex_unlock(&f.q.mu);
	FAKE_WAIT(acked(&f) == 3);
	cr_expect(metric_get(f.q.metrics.dropped_backlog) == 2);
	pthread_mutex_lock(&fake_writer.mu);
	fake_writer.judge = NULL;
	pthread_mutex_unlock(&fake_writer.mu);
	FAKE_WAIT(acked(&f) == 4);
	cr_expect(metric_get(f.q.metrics.sent) == 1);
	end(&f);
}

Test(shard, a_stop_leaves_unanswered_samples_unacknowledged)
{
	struct fake_queue f;

	begin(&f, "queue_config: {" SOON ", max_samples_per_send: 2}");
	fake_writer.holds = true;
	put(&f, 1, 4);
	FAKE_WAIT(FAKE_LOCKED(&f, f.q.sending) == 1);
	fake_queue_stop(&f);
	cr_expect(f.q.window.acked.position == 1);
	cr_expect(!metric_get(f.q.metrics.sent));
	fake_queue_fini(&f);
}
