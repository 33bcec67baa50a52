/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/queue_shards.h"

#include <stdlib.h>

#include "base/thread.h"
#include "remotewrite/send/shard.h"

#define SECOND_NS 1000000000LL

/* Without an accepted sample for this time, the number of shards stays. */
#define STILL_NS (10 * SECOND_NS)

/* After the wanted number could not be reached, it stays for this time. */
#define PAUSE_NS (60 * SECOND_NS)

/* Weight of the newest sample in the average size of a sample. */
#define SIZE_WEIGHT 0.01

void shard_meter_add(struct shard_meter *m, size_t bytes)
{
	if (!m->read_count++)
		m->sample_bytes = (double)bytes;
	m->sample_bytes += SIZE_WEIGHT * ((double)bytes - m->sample_bytes);
}

/* Start a shard. It takes no samples before the count includes it. */
static int start_shard(struct queue *q, struct shard *s, struct err *err)
{
	const struct write_client_options o = {
		.url = q->config.url.ptr,
		.http = q->http,
		.headers = q->config.headers,
		.header_count = q->config.header_count,
		.user_agent = q->o.user_agent,
		.timeout_ms = q->config.timeout_ms,
	};
	int rc;

	*s = (struct shard){ .q = q };
	rc = write_client_new(&o, &s->client, err);
	if (rc)
		return rc;
	clock_cond_init(&s->wake);
	s->thread = thread_start("write-shard", shard_run, s);
	return 0;
}

/* Wait for the end of a shard, and free it and the samples in it. */
static void end_shard(struct shard *s)
{
	mutex_lock(&s->q->mu);
	s->ended = true;
	pthread_cond_signal(&s->wake);
	mutex_unlock(&s->q->mu);
	pthread_join(s->thread, NULL);
	queued_sample_free_all(s->first);
	write_client_free(s->client);
	pthread_cond_destroy(&s->wake);
}

/* Set how many shards there are. */
static void set_count(struct queue *q, size_t n)
{
	mutex_lock(&q->mu);
	q->shard_count = n;
	metric_set(q->metrics.shards, (int64_t)n);
	mutex_unlock(&q->mu);
}

/* The number of shards; the caller is the only thread that changes it. */
static size_t shard_count(struct queue *q)
{
	size_t n;

	mutex_lock(&q->mu);
	n = q->shard_count;
	mutex_unlock(&q->mu);
	return n;
}

void queue_end_shards(struct queue *q, size_t n)
{
	size_t have = shard_count(q);

	while (have > n) {
		/* From here on, queue_wake_shards() does not use it. */
		set_count(q, --have);
		end_shard(&q->shards[have]);
	}
}

int queue_set_shards(struct queue *q, size_t n, struct err *err)
{
	size_t have = shard_count(q);
	int rc = 0;

	while (have < n && !rc) {
		rc = start_shard(q, &q->shards[have], err);
		if (!rc)
			set_count(q, ++have);
	}
	queue_end_shards(q, n);
	return rc;
}

void queue_wake_shards(struct queue *q)
{
	for (size_t i = 0; i < q->shard_count; i++) {
		pthread_cond_signal(&q->shards[i].wake);
		write_client_wake(q->shards[i].client);
	}
}

/* Add what happened since the last measurement to the rates. */
static void meter_update(struct queue *q, struct shard_meter *m, int64_t now)
	REQUIRES(q->mu)
{
	double seconds = (double)(now - m->at_ns) / SECOND_NS;

	reshard_rate_add(&m->in, (double)(m->read_count - m->last_read),
			 seconds);
	reshard_rate_add(&m->sent, (double)(q->sent_count - m->last_sent),
			 seconds);
	reshard_rate_add(&m->busy,
			 (double)(q->busy_ns - m->last_busy_ns) / SECOND_NS,
			 seconds);
	m->last_read = m->read_count;
	m->last_sent = q->sent_count;
	m->last_busy_ns = q->busy_ns;
}

/* Whether the receiver has accepted a request lately. */
static bool queue_is_moving(const struct queue *q, int64_t now) REQUIRES(q->mu)
{
	return q->answered_ns && now - q->answered_ns < STILL_NS;
}

/*
 * Whether all shards are to be used: while the queue catches up, until the
 * backlog is small. The number can only change while the receiver accepts
 * requests.
 */
static bool queue_needs_all(const struct queue *q, int64_t now) REQUIRES(q->mu)
{
	return q->catch_up.active && queue_is_moving(q, now);
}

/* How many shards there should be. `backlog` is in samples. */
static size_t wanted_by_meter(struct queue *q, struct shard_meter *m,
			      double backlog, int64_t now) REQUIRES(q->mu)
{
	double desired = 0;
	const struct reshard_input in = {
		.in_rate = m->in.value,
		.sent_rate = m->sent.value,
		.busy_rate = m->busy.value,
		.backlog = backlog,
		.delay_s = m->sent.value > 0 ? backlog / m->sent.value : 0,
		.is_moving = queue_is_moving(q, now),
		.shards = (unsigned)q->shard_count,
		.min = (unsigned)q->config.queue.min_shards,
		.max = (unsigned)q->config.queue.max_shards,
		.desired = &desired,
	};
	size_t n = reshard_decide(&in);

	metric_set(q->metrics.shards_desired, (int64_t)(desired + 0.5));
	return queue_needs_all(q, now) ? (size_t)q->config.queue.max_shards : n;
}

/* Log that the queue begins or ends to catch up on a backlog. */
static void report_catch_up(struct queue *q, bool active, uint64_t bytes)
{
	metric_set(q->metrics.catching_up, active);
	log_event(q->o.events, LOG_INFO,
		  active ? "remote write begins to catch up on a backlog" :
			   "remote write has caught up on a backlog",
		  LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
			     log_int("backlog_bytes", (int64_t)bytes)));
}

/* Wants no other number of shards than there are, for a while. */
static void keep_count(struct queue *q, struct shard_meter *m) REQUIRES(q->mu)
{
	q->wanted_shards = q->shard_count;
	m->pause_ns = clock_mono_ns() + PAUSE_NS;
}

/*
 * Wants all shards if the queue catches up, as soon as the receiver accepts
 * requests: a second later, much of the backlog could have been sent.
 */
static void want_all_shards(struct queue *q, struct shard_meter *m, int64_t now)
	REQUIRES(q->mu)
{
	size_t all = (size_t)q->config.queue.max_shards;

	if (!queue_needs_all(q, now) || q->wanted_shards != q->shard_count ||
	    q->shard_count == all || now < m->pause_ns)
		return;
	q->wanted_shards = all;
	m->wanted_ns = now;
	queue_wake_shards(q);
}

/* Measure once a second, and decide. */
static void decide_shards(struct queue *q, struct shard_meter *m)
{
	int64_t now = clock_mono_ns();
	uint64_t bytes;
	bool changed;
	bool active;

	if (now - m->at_ns < SECOND_NS) {
		mutex_lock(&q->mu);
		want_all_shards(q, m, now);
		mutex_unlock(&q->mu);
		return;
	}
	bytes = q->o.log->bytes(q->o.log, queue_position(q));
	mutex_lock(&q->mu);
	changed = catch_up_measure(&q->catch_up, bytes,
				   (uint64_t)q->config.queue.catch_up_bytes);
	active = q->catch_up.active;
	if (m->at_ns)
		meter_update(q, m, now);
	m->at_ns = now;
	if (q->wanted_shards != q->shard_count) {
		/* A request takes long: the other shards go on meanwhile. */
		if (now - m->wanted_ns > STILL_NS)
			keep_count(q, m);
	} else if (m->sample_bytes > 0 && now >= m->pause_ns) {
		q->wanted_shards = wanted_by_meter(
			q, m, (double)bytes / m->sample_bytes, now);
		m->wanted_ns = now;
	}
	if (q->wanted_shards != q->shard_count)
		queue_wake_shards(q);
	mutex_unlock(&q->mu);
	if (changed)
		report_catch_up(q, active, bytes);
}

/* Log that fewer shards run than are wanted, and wants no more. */
static void report_shards(struct queue *q, struct shard_meter *m,
			  const struct err *err)
{
	log_event(
		q->o.events, LOG_WARN,
		"remote write cannot start another shard; it goes on with fewer",
		LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
			   log_err(err)));
	mutex_lock(&q->mu);
	keep_count(q, m);
	mutex_unlock(&q->mu);
}

void queue_reshard(struct queue *q, struct shard_meter *m)
{
	bool idle;
	size_t wanted;
	struct err err;

	decide_shards(q, m);
	mutex_lock(&q->mu);
	wanted = q->wanted_shards;
	idle = !ack_window_count(&q->window);
	mutex_unlock(&q->mu);
	if (idle && queue_set_shards(q, wanted, &err))
		report_shards(q, m, &err);
}
