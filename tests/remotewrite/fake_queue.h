/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue whose threads a test starts itself: only its reader, or only a shard.
 * Its receiver is the one of fake_writer.h.
 *
 * Ownership: fake_queue_fini() frees everything but the log.
 * Threads: one thread, besides those that the test starts.
 */
#ifndef TESTS_REMOTEWRITE_FAKE_QUEUE_H
#define TESTS_REMOTEWRITE_FAKE_QUEUE_H

#include "base/yaml.h"
#include "remotewrite/send/queue_private.h"
#include "remotewrite/send/queue_shards.h"
#include "tests/remotewrite/fake_log.h"
#include "tests/remotewrite/fake_writer.h"
#include "tests/tempdir.h"

#define FAKE_SHARDS 3

struct fake_queue {
	struct queue q;
	struct fake_log log;
	struct metrics *metrics;
	struct log events;
	struct yaml y;
	struct remote_write_configs configs;
	struct shard shards[FAKE_SHARDS];
	pthread_t thread;
	struct tempdir dir; /* of the cursor */
};

static void fake_queue_moved(void *ctx UNUSED)
{
}

static struct metric *fake_queue_counter(struct fake_queue *f, const char *name)
{
	return metrics_counter(f->metrics, name, "", NULL);
}

/* Prepare a queue with this queue_config, and three shards without threads. */
static void fake_queue_init(struct fake_queue *f, const char *config)
{
	struct queue *q = &f->q;
	char *text = mem_printf("[{url: 'http://x/w', name: c, %s}]", config);

	memset(f, 0, sizeof(*f));
	f->dir = tempdir_make();
	fake_log_init(&f->log);
	f->metrics = metrics_new();
	f->events.level = LOG_ERROR + 1;
	yaml_parse(&f->y, "test", bytes_of(str_of(text)));
	mem_free(text);
	remote_write_decode(&f->y, f->y.root, &f->configs);
	cr_assert(!f->y.error_count, "%.*s", STR_ARG(yaml_first_error(&f->y)));
	mutex_init(&q->mu);
	mutex_init(&q->rules_mu);
	clock_cond_init(&q->room);
	q->config = f->configs.v[0];
	q->o = (struct queue_options){ .log = &f->log.log,
				       .events = &f->events,
				       .dir = f->dir.path,
				       .moved = fake_queue_moved };
	q->shown = mem_strdup("http://x/w");
	q->series = series_cache_new();
	q->rules.relabel = &f->configs.v[0].relabel;
	q->backlog_max = (uint64_t)(q->config.backlog_bytes > 0 ?
					    q->config.backlog_bytes :
					    0);
	q->drop_before_ms = INT64_MIN;
	ack_window_init(&q->window,
			(struct log_place){ .position = 1, .number = 1 });
	q->metrics = (struct queue_metrics){
		.sent = fake_queue_counter(f, "sent"),
		.failed = fake_queue_counter(f, "failed"),
		.retried = fake_queue_counter(f, "retried"),
		.dropped_rules = fake_queue_counter(f, "rules"),
		.dropped_age = fake_queue_counter(f, "age"),
		.dropped_backlog = fake_queue_counter(f, "backlog"),
		.dropped_damaged = fake_queue_counter(f, "damaged"),
		.passed_over = fake_queue_counter(f, "passed_over"),
		.bytes = fake_queue_counter(f, "bytes"),
		.raw_bytes = fake_queue_counter(f, "raw_bytes"),
		.pending = fake_queue_counter(f, "pending"),
		.shards = fake_queue_counter(f, "shards"),
		.backlog = fake_queue_counter(f, "backlog_bytes"),
		.newest_sent = fake_queue_counter(f, "newest"),
		.duration = metrics_histogram(f->metrics, "d", "", NULL),
	};
	q->shards = f->shards;
	q->shard_count = FAKE_SHARDS;
	for (size_t i = 0; i < FAKE_SHARDS; i++) {
		const struct write_client_options o = { .zstd = true };

		f->shards[i].q = q;
		clock_cond_init(&f->shards[i].wake);
		cr_assert(!write_client_new(&o, &f->shards[i].client, NULL));
	}
}

static void fake_queue_begin(struct fake_queue *f, void *(*fn)(void *),
			     void *arg)
{
	cr_assert(!pthread_create(&f->thread, NULL, fn, arg));
}

/* Stop the thread of the test. */
static void fake_queue_stop(struct fake_queue *f)
{
	mutex_lock(&f->q.mu);
	f->q.stopping = true;
	pthread_cond_broadcast(&f->q.room);
	queue_wake_shards(&f->q);
	mutex_unlock(&f->q.mu);
	pthread_join(f->thread, NULL);
}

static void fake_queue_fini(struct fake_queue *f)
{
	for (size_t i = 0; i < FAKE_SHARDS; i++) {
		queued_sample_free_all(f->shards[i].first);
		write_client_free(f->shards[i].client);
		pthread_cond_destroy(&f->shards[i].wake);
	}
	ack_window_fini(&f->q.window);
	series_cache_free(f->q.series);
	cursor_close(f->q.cursor);
	mem_free(f->q.shown);
	pthread_cond_destroy(&f->q.room);
	mutex_destroy(&f->q.mu);
	mutex_destroy(&f->q.rules_mu);
	remote_write_configs_fini(&f->configs);
	yaml_fini(&f->y);
	metrics_free(f->metrics);
	fake_log_fini(&f->log);
	fake_writer_reset();
	tempdir_fini(&f->dir);
}

/* Wait for a condition, for a minute at most. */
#define FAKE_WAIT(condition)                                       \
	do {                                                       \
		for (int i_ = 0; i_ < 60000 && !(condition); i_++) \
			usleep(1000);                              \
		cr_assert(condition, #condition);                  \
	} while (0)

/* A value that the queue's lock guards. */
#define FAKE_LOCKED(f, expression)             \
	({                                     \
		__auto_type v_ = (expression); \
		mutex_lock(&(f)->q.mu);        \
		v_ = (expression);             \
		mutex_unlock(&(f)->q.mu);      \
		v_;                            \
	})

#endif
