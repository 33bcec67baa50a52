/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of a queue: which shard gets a sample, when it waits for room, and
 * what it does with samples that are missing, damaged or too many.
 */
#include "remotewrite/send/queue_reader.h"

#include "tests/remotewrite/fake_queue.h"

TestSuite(queue_reader, .timeout = 120);

static void begin(struct fake_queue *f)
{
	fake_queue_begin(f, queue_read, &f->q);
}

static void end(struct fake_queue *f)
{
	fake_queue_stop(f);
	fake_queue_fini(f);
}

/* How many samples were handed to the shards. */
static uint64_t handed(struct fake_queue *f)
{
	return FAKE_LOCKED(f, ack_window_count(&f->q.window));
}

/* Acknowledge all samples that the shards have. */
static void finish_all(struct fake_queue *f)
{
	for (size_t i = 0; i < FAKE_SHARDS; i++) {
		struct queued_sample *all;

		mutex_lock(&f->q.mu);
		all = f->shards[i].first;
		f->shards[i].first = NULL;
		f->shards[i].last = NULL;
		f->shards[i].count = 0;
		f->shards[i].bytes = 0;
		mutex_unlock(&f->q.mu);
		queue_finish(&f->q, all, FATE_SENT);
	}
}

Test(queue_reader, the_samples_of_a_series_go_to_one_shard_in_order)
{
	struct fake_queue f;
	size_t used = 0;

	fake_queue_init(&f, "queue_config: {}");
	for (unsigned i = 0; i < 300; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, i % 30, 1000 + i, 10);
	begin(&f);
	FAKE_WAIT(handed(&f) == 300);
	fake_queue_stop(&f);
	for (size_t s = 0; s < FAKE_SHARDS; s++) {
		const struct queued_sample *i = f.shards[s].first;
		int64_t last[30] = { 0 };
		size_t of[30] = { 0 };

		used += i != NULL;
		for (; i; i = i->next) {
			size_t series = (size_t)(i->sample.ms - 1000) % 30;

			cr_expect(i->sample.ms > last[series]);
			last[series] = i->sample.ms;
			of[series]++;
		}
		for (size_t k = 0; k < 30; k++)
			cr_expect(of[k] == 0 || of[k] == 10, "%zu: %zu", k,
				  of[k]);
	}
	cr_expect(used == FAKE_SHARDS, "%zu", used);
	fake_queue_fini(&f);
}

Test(queue_reader, it_waits_for_a_shard_that_is_full)
{
	struct fake_queue f;

	fake_queue_init(&f, "queue_config: {capacity: 5}");
	for (unsigned i = 0; i < 12; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, 1, 1000 + i, 10);
	begin(&f);
	FAKE_WAIT(handed(&f) == 5);
	usleep(20000);
	cr_expect(handed(&f) == 5);
	finish_all(&f);
	FAKE_WAIT(handed(&f) == 5);
	finish_all(&f);
	FAKE_WAIT(handed(&f) == 2);
	finish_all(&f);
	FAKE_WAIT(FAKE_LOCKED(&f, f.q.window.acked.position) == 13);
	cr_expect(metric_get(f.q.metrics.sent) == 12);
	cr_expect(!metric_get(f.q.metrics.dropped_damaged));
	end(&f);
}

Test(queue_reader, large_samples_are_limited_by_their_memory)
{
	struct fake_queue f;

	fake_queue_init(&f, "queue_config: {}");
	for (unsigned i = 0; i < 40; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, i, 1000 + i, 1 << 20);
	begin(&f);
	FAKE_WAIT(handed(&f) >= 12);
	usleep(20000);
	cr_expect(handed(&f) <= 14, "%llu", (unsigned long long)handed(&f));
	end(&f);
}

Test(queue_reader, samples_that_the_log_lacks_are_counted)
{
	struct fake_queue f;

	fake_queue_init(&f, "queue_config: {}");
	fake_log_put(&f.log, FAKE_SAMPLE, 1, 1000, 10);
	fake_log_put(&f.log, FAKE_LOST, 0, 0, 0);
	fake_log_put(&f.log, FAKE_LOST, 0, 0, 0);
	fake_log_put(&f.log, FAKE_SAMPLE, 1, 1003, 10);
	fake_log_put(&f.log, FAKE_CORRUPT, 0, 0, 0);
	fake_log_put(&f.log, FAKE_SAMPLE, 1, 1005, 10);
	/* Nothing is known of what comes again later. */
	fake_log_put(&f.log, FAKE_MOVED, 0, 0, 0);
	fake_log_put(&f.log, FAKE_SAMPLE, 1, 1007, 10);
	begin(&f);
	FAKE_WAIT(handed(&f) == 4);
	cr_expect(metric_get(f.q.metrics.dropped_damaged) == 3, "%lld",
		  (long long)metric_get(f.q.metrics.dropped_damaged));
	end(&f);
}

Test(queue_reader, rules_decide_what_is_sent)
{
	struct fake_queue f;

	fake_queue_init(&f, "write_relabel_configs: [{source_labels: [job], "
			    "regex: j1, action: drop}]");
	for (unsigned i = 0; i < 9; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, i % 3, 1000 + i, 10);
	begin(&f);
	FAKE_WAIT(handed(&f) == 6);
	FAKE_WAIT(metric_get(f.q.metrics.dropped_rules) == 3);
	finish_all(&f);
	FAKE_WAIT(FAKE_LOCKED(&f, f.q.window.acked.position) == 10);
	end(&f);
}

Test(queue_reader, a_backlog_that_is_too_large_loses_its_oldest_samples)
{
	struct fake_queue f;

	fake_queue_init(&f, "max_backlog: {size: 1000B, age: 0s}, "
			    "queue_config: {capacity: 3}");
	for (unsigned i = 0; i < 40; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, 1, 1000 + i, 100);
	begin(&f);
	/* What shards have is given up by them, the rest is passed over. */
	FAKE_WAIT(FAKE_LOCKED(&f, f.q.drop_until) > 20);
	FAKE_WAIT(metric_get(f.q.metrics.dropped_backlog) > 20);
	cr_expect(metric_get(f.q.metrics.dropped_backlog) < 35);
	end(&f);
}

Test(queue_reader, the_end_of_a_backlog_is_sent_at_once)
{
	struct fake_queue f;

	fake_queue_init(&f, "queue_config: {max_bytes_per_send: 1KB}");
	for (unsigned i = 0; i < 20; i++)
		fake_log_put(&f.log, FAKE_SAMPLE, 1, 1000 + i, 100);
	begin(&f);
	FAKE_WAIT(handed(&f) == 20);
	FAKE_WAIT(FAKE_LOCKED(&f, f.q.due_before) ==
		  FAKE_LOCKED(&f, f.q.window.next));
	end(&f);
}
