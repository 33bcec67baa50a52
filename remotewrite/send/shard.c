/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/shard.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "remotewrite/send/queue_private.h"
#include "remotewrite/send/retry.h"
#include "remotewrite/wire/write_request.h"

void shard_add(struct queue *q, struct shard *s, struct queued_sample *i,
	       struct log_place place)
{
	i->number = ack_window_add(&q->window, place);
	q->held_bytes += queued_sample_size(i);
	if (s->last)
		s->last->next = i;
	else
		s->first = i;
	s->last = i;
	s->count++;
	s->bytes += i->sample.raw_len;
	metric_set(q->metrics.pending, (int64_t)ack_window_count(&q->window));
	pthread_cond_signal(&s->wake);
}

/*
 * Whether a batch is ready to be sent. If samples wait in the shard, sets *at
 * to the time of clock_mono_ns() at which they are sent at the latest.
 */
static bool shard_is_ready(const struct shard *s, int64_t *at)
	REQUIRES(s->q->mu)
{
	const struct queue_config *c = &s->q->config.queue;

	if (!s->first)
		return false;
	*at = s->first->queued_ns + c->deadline_ms * 1000000;
	return s->count >= (size_t)c->max_samples ||
	       s->bytes >= (size_t)c->max_bytes ||
	       (s->q->held_bytes > HELD_MAX && !s->q->sending) ||
	       s->first->number < s->q->due_before || clock_mono_ns() >= *at;
}

/* Wait until there is a batch to send. Returns false if the queue stops. */
static bool wait_for_batch(struct shard *s) REQUIRES(s->q->mu)
{
	int64_t at = 0;

	while (!s->q->stopping && !shard_is_ready(s, &at)) {
		struct timespec t = clock_mono_at(at);

		if (s->first)
			(void)mutex_wait_until(&s->q->mu, &s->wake, &t);
		else
			mutex_wait(&s->q->mu, &s->wake);
	}
	return !s->q->stopping;
}

/*
 * Wait for a batch, and take it out of the shard: the oldest samples, up to the
 * limits of a request, but at least one. The batch is empty if the queue stops.
 */
static struct batch take_batch(struct shard *s)
{
	const struct queue_config *c = &s->q->config.queue;
	struct batch b = { 0 };

	mutex_lock(&s->q->mu);
	if (wait_for_batch(s)) {
		b = batch_cut(&s->first, (size_t)c->max_samples,
			      (size_t)c->max_bytes);
		if (!s->first)
			s->last = NULL;
		s->count -= b.count;
		s->bytes -= batch_bytes(&b);
		s->q->sending++;
	}
	mutex_unlock(&s->q->mu);
	return b;
}

/*
 * Log that the sample `i` is not sent, because its profile is damaged or too
 * large for a message.
 */
static void shard_report_damage(struct shard *s, const struct queued_sample *i,
				const struct err *err)
{
	char at[40];

	time_format(i->sample.ms, at);
	log_event(
		s->q->o.events, LOG_ERROR,
		err->code == ERR_TOOBIG ?
			"remote write skips a profile that is too large" :
			"remote write skips a damaged profile",
		LOG_FIELDS(log_text("remote_name", s->q->config.name.ptr),
			   log_int("segment", (int64_t)(i->sample.lsn >> 32)),
			   log_int("offset", (int64_t)(uint32_t)i->sample.lsn),
			   log_text("time", at), log_err(err)));
}

/*
 * Build the message of a batch. Samples that cannot be added to the message
 * leave the batch: they are logged and finished as damaged.
 */
static void build_message(struct shard *s, struct batch *b)
{
	struct queued_sample **at = &b->first;
	struct queued_sample *bad = NULL;

	write_client_begin(s->client);
	while (*at) {
		struct queued_sample *i = *at;
		struct err err;

		if (!write_client_add(s->client, &i->sample, &err)) {
			at = &i->next;
			continue;
		}
		shard_report_damage(s, i, &err);
		*at = i->next;
		b->count--;
		i->next = bad;
		bad = i;
	}
	queue_finish(s->q, bad, FATE_DAMAGED);
}

/*
 * Note the outcome of an attempt for the status page and the API. Log a failure
 * unless the attempt before failed, too, and log the first success after a
 * failure.
 */
static void note_attempt(struct queue *q, const struct attempt *a)
{
	bool changed;

	mutex_lock(&q->mu);
	changed = !*q->last_error != !*a->error;
	if (!*a->error)
		q->answer_ms = clock_ms(NULL);
	snprintf(q->last_error, sizeof(q->last_error), "%s", a->error);
	mutex_unlock(&q->mu);
	if (!changed)
		return;
	if (*a->error)
		log_event(
			q->o.events, LOG_WARN,
			"a request of remote write failed (this is logged again only after one has succeeded); everprof sends its profiles again, unless the receiver refuses them for good, as long as they are within max_backlog",
			LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
				   log_text("url", q->shown),
				   log_text("error", a->error)));
	else
		log_event(
			q->o.events, LOG_INFO, "remote write succeeds again",
			LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
				   log_text("url", q->shown)));
}

/* Whether max_backlog has given up a sample. */
static bool is_given_up(const struct queue *q, const struct queued_sample *i)
{
	return i->sample.lsn < q->drop_until ||
	       i->sample.ms < q->drop_before_ms;
}

/* Whether max_backlog has given up a sample of a batch; q->mu is held. */
static bool has_given_up(const struct queue *q, const struct batch *b)
{
	const struct queued_sample *i = b->first;

	while (i && !is_given_up(q, i))
		i = i->next;
	return i;
}

/*
 * Take out of a batch the samples that max_backlog has given up, because of the
 * size of the backlog or their age.
 */
static struct batch take_given_up(struct queue *q, struct batch *b)
{
	struct queued_sample **at = &b->first;
	struct batch out = { 0 };
	struct queued_sample **end = &out.first;

	mutex_lock(&q->mu);
	while (*at) {
		struct queued_sample *i = *at;

		if (!is_given_up(q, i)) {
			at = &i->next;
			continue;
		}
		*at = i->next;
		i->next = NULL;
		*end = i;
		end = &i->next;
		b->count--;
		out.count++;
	}
	mutex_unlock(&q->mu);
	return out;
}

/*
 * Format the earliest and the latest time of a batch. The samples may have any
 * order.
 */
static void batch_times(const struct batch *b, char from[40], char to[40])
{
	int64_t first = INT64_MAX;
	int64_t last = INT64_MIN;

	for (const struct queued_sample *i = b->first; i; i = i->next) {
		first = i->sample.ms < first ? i->sample.ms : first;
		last = i->sample.ms > last ? i->sample.ms : last;
	}
	time_format(first, from);
	time_format(last, to);
}

/* Log that max_backlog has given up the samples in `b`. */
static void report_given_up(struct shard *s, const struct batch *b)
{
	char from[40];
	char to[40];

	batch_times(b, from, to);
	log_event(
		s->q->o.events, LOG_ERROR,
		"the profiles that wait for remote write exceed max_backlog (size or age); the oldest are dropped",
		LOG_FIELDS(log_text("remote_name", s->q->config.name.ptr),
			   log_int("profiles", (int64_t)b->count),
			   log_text("from", from), log_text("to", to)));
}

/*
 * Drop those samples of a batch that max_backlog has given up. Returns whether
 * there were such samples.
 */
static bool shard_give_up(struct shard *s, struct batch *b)
{
	struct batch gone = take_given_up(s->q, b);

	if (!gone.count)
		return false;
	report_given_up(s, &gone);
	queue_finish(s->q, gone.first, FATE_BACKLOG);
	return true;
}

/*
 * Wait before the next attempt; `attempt` is the number of the last one.
 * Returns false if the queue stops.
 */
static bool pause_before_retry(struct shard *s, const struct batch *b,
			       const struct attempt *a, unsigned attempt)
{
	const struct queue_config *c = &s->q->config.queue;
	const struct retry_bounds bounds = { c->min_backoff_ms,
					     c->max_backoff_ms };
	int64_t ms = retry_backoff_ms(&bounds, attempt, retry_random());
	int64_t at;
	bool stopping;

	if (ms < a->retry_after_ms)
		/*
		 * Add a part of the random time `ms`, because senders that were
		 * told the same time must not come back together.
		 */
		ms = a->retry_after_ms + ms / 2;
	at = clock_mono_ns() + ms * 1000000;
	mutex_lock(&s->q->mu);
	while (!s->q->stopping && clock_mono_ns() < at &&
	       !has_given_up(s->q, b)) {
		struct timespec t = clock_mono_at(at);

		(void)mutex_wait_until(&s->q->mu, &s->wake, &t);
	}
	stopping = s->q->stopping;
	mutex_unlock(&s->q->mu);
	return !stopping;
}

/* Append the labels with which a sample is sent, in the form of a selector. */
static void labels_of_sample(const struct queued_sample *i, struct buf *out)
{
	const struct write_series series = { .message = i->sample.labels };
	struct labels *labels = NULL;

	if (!write_series_labels(&series, &labels, NULL))
		labels_text(labels, out);
	labels_unref(labels);
}

/*
 * Log that the receiver will never accept some or all profiles of a batch. The
 * text of the response (in a->error) may name some of the refused profiles, but
 * need not, so also log the labels of the first profile of the batch.
 */
static void report_refusal(struct shard *s, const struct batch *b,
			   const struct attempt *a)
{
	struct buf labels = { 0 };
	char from[40];
	char to[40];

	labels_of_sample(b->first, &labels);
	batch_times(b, from, to);
	log_event(
		s->q->o.events, LOG_ERROR,
		"remote write: the receiver refused profiles; they are not sent again",
		LOG_FIELDS(
			log_text("remote_name", s->q->config.name.ptr),
			log_int("profiles", (int64_t)(b->count - s->written)),
			log_int("of", (int64_t)b->count),
			log_text("first_of_request", buf_cstr(&labels)),
			log_text("from", from), log_text("to", to),
			log_text("error", a->error)));
	buf_fini(&labels);
}

/*
 * The callback stops() of write_client_send(): whether to stop waiting for the
 * response. `ctx` is the queue.
 */
static bool shard_stops(void *ctx)
{
	return queue_is_stopping(ctx);
}

/*
 * Send the message of a batch, repeatedly if needed, until its outcome is
 * known. Return the verdict. The verdict is RETRY_LATER only if the queue is
 * being stopped, or if max_backlog has given up samples of the batch. In the
 * second case, the message has to be built again.
 */
static enum retry_verdict send_message(struct shard *s, struct batch *b)
{
	struct queue *q = s->q;

	for (unsigned attempt = 1;; attempt++) {
		struct attempt a;
		enum retry_verdict v;

		write_client_send(s->client, attempt, shard_stops, q, &a);
		histogram_observe(q->metrics.duration, a.took_ns);
		v = retry_decide(&(struct retry_attempt){
			a.status, a.judged, a.written, b->count });
		if (!a.done || queue_is_stopping(q))
			return v == RETRY_SENT ? RETRY_SENT : RETRY_LATER;
		note_attempt(q, &a);
		s->written = a.written < b->count ? a.written : 0;
		if (v == RETRY_DROP)
			report_refusal(s, b, &a);
		if (v == RETRY_SENT) {
			metric_add(q->metrics.bytes, (int64_t)a.body_len);
			metric_add(q->metrics.raw_bytes,
				   (int64_t)a.message_len);
		}
		if (v != RETRY_LATER)
			return v;
		metric_add(q->metrics.retried, (int64_t)b->count);
		if (!pause_before_retry(s, b, &a, attempt) ||
		    shard_give_up(s, b))
			return v;
	}
}

/*
 * Send a batch without the samples that are damaged or given up. A batch of
 * which no sample is left counts as sent. Return the verdict, which is
 * RETRY_LATER only if the queue is being stopped.
 */
static enum retry_verdict send_rest(struct shard *s, struct batch *b)
{
	enum retry_verdict v = RETRY_SENT;

	(void)shard_give_up(s, b);
	do {
		build_message(s, b);
		v = b->count ? send_message(s, b) : RETRY_SENT;
	} while (v == RETRY_LATER && !queue_is_stopping(s->q));
	return v;
}

/*
 * Finish a batch of which the receiver refused some or all profiles. The
 * receiver tells only how many profiles it has stored, not which, so the first
 * ones count as stored.
 */
static void finish_refused(struct shard *s, struct batch *b)
{
	struct batch stored = { 0 };

	if (s->written)
		stored = batch_cut(&b->first, s->written, SIZE_MAX);
	queue_finish(s->q, stored.first, FATE_SENT);
	queue_finish(s->q, b->first, FATE_FAILED);
}

/* Send a batch, in halves if it is too large for the receiver. */
/* NOLINTNEXTLINE(misc-no-recursion): the depth is the logarithm of the count */
static void send_batch(struct shard *s, struct batch b)
{
	enum retry_verdict v = send_rest(s, &b);

	if (v == RETRY_SPLIT) {
		struct batch first = batch_cut(&b.first, b.count / 2, SIZE_MAX);

		b.count -= first.count;
		send_batch(s, first);
		send_batch(s, b);
	} else if (v == RETRY_SENT && b.count) {
		queue_finish(s->q, b.first, FATE_SENT);
	} else if (v == RETRY_DROP) {
		finish_refused(s, &b);
	} else {
		/*
		 * Either no sample is left, or the queue stops. In the second
		 * case, the samples are sent again after the next start.
		 */
		queued_sample_free_all(b.first);
	}
}

/* Record that the shard is not sending a batch any more. */
static void end_batch(struct shard *s)
{
	mutex_lock(&s->q->mu);
	s->q->sending--;
	/*
	 * Wake the reader. If the reader waits because of HELD_MAX, it wakes
	 * the shards. If no shard is sending then, the shards send batches that
	 * are not full.
	 */
	pthread_cond_broadcast(&s->q->room);
	mutex_unlock(&s->q->mu);
}

void *shard_run(void *shard)
{
	struct shard *s = shard;
	struct batch b;

	while ((b = take_batch(s)).count) {
		send_batch(s, b);
		end_batch(s);
	}
	return NULL;
}
