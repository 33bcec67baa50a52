/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/queue_reader.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/outage.h"
#include "base/trusted_clock.h"
#include "base/units.h"
#include "remotewrite/send/queue_cursor.h"
#include "remotewrite/send/queue_private.h"
#include "remotewrite/send/queue_shards.h"
#include "remotewrite/send/shard.h"

#define SECOND_NS 1000000000LL

/*
 * How long the reader waits at a time for new samples, for space in a shard or
 * for the disk, in ms.
 */
#define WAIT_MS 200LL

/*
 * The size to which a backlog that exceeds `max` is cut: nine tenths of `max`.
 */
#define BACKLOG_LEFT(max) ((max) / 10 * 9)

/* The state of the reader. */
struct reader {
	struct queue *q;
	/* position in the log after the last sample that was read */
	uint64_t position;
	struct buf buf;
	struct logged_sample sample;
	int64_t saved_ns;   /* when queue_sync_cursor() was called last */
	int64_t checked_ns; /* when max_backlog was checked last */
	bool skipped; /* set by limit_backlog() when it has dropped samples */
	/*
	 * decompressed bytes of the profiles that were read and not dropped
	 * since the reader was last at the end of the log
	 */
	uint64_t run_bytes;
	struct trusted_clock clock; /* decides what is too old */
	int64_t clock_saved_ns;     /* when `clock` was saved last */
	struct outage outage;       /* of the disk with the log */
	/*
	 * expected: the number of the next sample, if none is lost. before_ms:
	 * the time of the previous sample. In both, 0: not known.
	 */
	uint64_t expected;
	int64_t before_ms;
	struct err damage; /* why samples may be missing; code 0: no reason */
	bool ages;         /* the sample before was too old to be sent */
};

/* Return the place in the log that the reader has reached. */
static struct log_place reader_place(const struct reader *r)
{
	return (struct log_place){ .position = r->position,
				   .number = r->expected,
				   .ms = r->before_ms };
}

/*
 * Let the position of the queue move up to the place of the reader, past
 * samples that need no acknowledgement, such as dropped ones; see
 * ack_window_pass().
 */
static void reader_pass(struct reader *r)
{
	mutex_lock(&r->q->mu);
	if (ack_window_pass(&r->q->window, reader_place(r)))
		r->q->unsynced = true;
	mutex_unlock(&r->q->mu);
}

/*
 * Count and log that `samples` samples are missing in the log before r->sample,
 * the sample that was read last.
 */
static void report_loss(struct reader *r, uint64_t samples)
{
	int64_t now = r->sample.ms;
	int64_t before = r->before_ms ? r->before_ms : now;
	char from[40];
	char to[40];

	time_format(before < now ? before : now, from);
	time_format(before < now ? now : before, to);
	metric_add(r->q->metrics.dropped_damaged, (int64_t)samples);
	log_event(
		r->q->o.events, LOG_ERROR,
		"the WAL is damaged or incomplete: it lacks profiles, which remote write therefore cannot send",
		LOG_FIELDS(log_text("remote_name", r->q->config.name.ptr),
			   log_int("profiles", (int64_t)samples),
			   log_text("from", r->before_ms ? from : "unknown"),
			   log_text("to", to),
			   log_int("segment", (int64_t)(r->sample.lsn >> 32)),
			   log_int("offset", (int64_t)(uint32_t)r->sample.lsn),
			   log_text("error",
				    r->damage.code ? r->damage.msg : "")));
}

/*
 * Compare the number of r->sample, the sample that was read last, with the
 * expected number. If the number is higher than expected, report the samples in
 * between as lost. Then expect the number after that of r->sample.
 */
static void reader_count(struct reader *r)
{
	uint64_t number = r->sample.number;

	if (r->expected && number > r->expected)
		report_loss(r, number - r->expected);
	r->expected = number ? number + 1 : 0;
	r->before_ms = r->sample.ms;
	r->damage.code = 0;
}

/*
 * Count and log that r->sample, the sample that was read last, cannot be sent,
 * and pass it.
 */
static void report_unusable(struct reader *r, const struct err *err)
{
	char at[40];

	time_format(r->sample.ms, at);
	metric_add(r->q->metrics.dropped_damaged, 1);
	log_event(
		r->q->o.events, LOG_ERROR,
		"remote write skips a profile, because external_labels and write_relabel_configs make no valid labels for it",
		LOG_FIELDS(log_text("remote_name", r->q->config.name.ptr),
			   log_text("time", at), log_err(err)));
	reader_pass(r);
}

/* Whether the reader has to wait before it hands a sample to the shard `s`. */
static bool is_full(const struct queue *q, const struct shard *s)
	REQUIRES(q->mu)
{
	return s->count >= (size_t)q->config.queue.capacity ||
	       (q->held_bytes > HELD_MAX && ack_window_count(&q->window));
}

/*
 * At most once a second: make the cursor durable. If that succeeds and the
 * cursor has changed, call queue_options.moved(), so that the log may drop the
 * samples before the cursor.
 */
static void save_position(struct reader *r)
{
	int64_t now = clock_mono_ns();

	if (now - r->saved_ns < SECOND_NS)
		return;
	r->saved_ns = now;
	if (queue_sync_cursor(r->q))
		r->q->o.moved(r->q->o.ctx);
}

/* The samples that one call of limit_backlog() has skipped. */
struct skipped {
	uint64_t samples;
	int64_t first_ms;
	int64_t last_ms;
};

/*
 * Skip samples, without reading their bodies, until the rest of the log has at
 * most `until_bytes` bytes and its first sample is not from before `before_ms`.
 * Stop earlier if the log ends, if the disk cannot read a sample, or if the
 * queue stops. Add the skipped samples to *out.
 */
static void skip_backlog(struct reader *r, uint64_t until_bytes,
			 int64_t before_ms, struct skipped *out)
{
	struct sample_log *log = r->q->o.log;

	while (!queue_is_stopping(r->q)) {
		uint64_t position = r->position;
		int rc = log->read(log, &position, false, &r->buf, &r->sample,
				   NULL);

		if (rc == ERR_AGAIN || rc == ERR_IO)
			return;
		if (!rc && log->bytes(log, r->position) <= until_bytes &&
		    r->sample.ms >= before_ms)
			return;
		r->position = position;
		if (rc == ERR_NOTFOUND)
			r->expected = 0;
		if (rc)
			continue;
		reader_count(r);
		if (!out->samples++ || r->sample.ms < out->first_ms)
			out->first_ms = r->sample.ms;
		if (r->sample.ms > out->last_ms)
			out->last_ms = r->sample.ms;
	}
}

/* Count and log the samples that max_backlog has dropped. */
static void report_skipped(struct reader *r, const struct skipped *s)
{
	char from[40];
	char to[40];

	time_format(s->first_ms, from);
	time_format(s->last_ms, to);
	metric_add(r->q->metrics.dropped_backlog, (int64_t)s->samples);
	log_event(
		r->q->o.events, LOG_ERROR,
		"the profiles that wait for remote write exceed max_backlog (size or age); the oldest are dropped",
		LOG_FIELDS(log_text("remote_name", r->q->config.name.ptr),
			   log_int("profiles", (int64_t)s->samples),
			   log_text("from", from), log_text("to", to)));
}

/*
 * Return the lowest position between `from` and `to` after which the rest of
 * the log has at most `max` bytes. Return `to` if there is no such position.
 */
static uint64_t position_of_bytes(struct sample_log *log, uint64_t max,
				  uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t middle = from + (to - from) / 2;

		if (log->bytes(log, middle) <= max)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/*
 * Return the time before which samples are older than `limit_ms`, or INT64_MIN
 * if `limit_ms` is 0 (no limit) or the clock cannot be trusted yet.
 */
static int64_t reader_oldest(struct reader *r, int64_t limit_ms)
{
	struct trusted_time now =
		trusted_clock_check(&r->clock, NULL, r->q->o.clock_steady_ms);

	return limit_ms && now.decides ? now.earliest_ms - limit_ms : INT64_MIN;
}

/*
 * Copy the reader's clock to q->clock, for the cursor file. The clock is saved
 * with each new position, and at least about once a minute, so that the queue
 * can judge the time of day after a restart.
 */
static void note_clock(struct reader *r)
{
	mutex_lock(&r->q->mu);
	r->q->clock = r->clock;
	if (r->checked_ns - r->clock_saved_ns > CLOCK_MINUTE_NS) {
		r->clock_saved_ns = r->checked_ns;
		r->q->unsynced = true;
	}
	mutex_unlock(&r->q->mu);
}

/* Tell the shards to give up the samples with times before `ms`. */
static void set_drop_before(struct queue *q, int64_t ms)
{
	mutex_lock(&q->mu);
	q->drop_before_ms = ms;
	mutex_unlock(&q->mu);
}

/* Tell the shards to give up the samples before `position`. */
static void give_up(struct queue *q, uint64_t position)
{
	mutex_lock(&q->mu);
	q->drop_until = position;
	queue_wake_shards(q);
	mutex_unlock(&q->mu);
}

/*
 * Return the size in bytes to which the backlog has to shrink, or UINT64_MAX if
 * the backlog is small enough.
 */
static uint64_t backlog_target(struct queue *q)
{
	struct sample_log *log = q->o.log;
	uint64_t bytes = log->bytes(log, queue_position(q));
	uint64_t max = q->backlog_max;

	metric_set(q->metrics.backlog, (int64_t)bytes);
	return !max || bytes <= max ? UINT64_MAX : BACKLOG_LEFT(max);
}

/*
 * Once a second: if the backlog exceeds max_backlog, give up the oldest
 * samples. The reader skips those that it has not read yet; the shards give up
 * those that they have.
 */
static void limit_backlog(struct reader *r)
{
	struct queue *q = r->q;
	int64_t age = q->config.backlog_ms;
	int64_t before_ms = reader_oldest(r, age);
	struct skipped s = { 0 };
	uint64_t target;

	if (clock_mono_ns() - r->checked_ns < SECOND_NS)
		return;
	r->checked_ns = clock_mono_ns();
	note_clock(r);
	set_drop_before(q, before_ms);
	target = backlog_target(q);
	if (target == UINT64_MAX && !age)
		return;
	skip_backlog(r, target, before_ms, &s);
	if (s.samples) {
		r->skipped = true;
		report_skipped(r, &s);
		reader_pass(r);
	}
	if (s.samples || target != UINT64_MAX)
		give_up(q, position_of_bytes(q->o.log, target,
					     queue_position(q), r->position));
}

/*
 * Hand a sample to its shard if there is room; otherwise wait up to WAIT_MS for
 * room. `hash` decides which shard gets the sample. Returns whether the sample
 * was handed over.
 */
static bool try_hand_over(struct reader *r, struct queued_sample *i,
			  uint64_t hash)
{
	struct queue *q = r->q;
	struct timespec at = clock_mono_at(clock_mono_ns() + WAIT_MS * 1000000);
	/* All samples of a series go to one shard, which keeps their order. */
	struct shard *s = &q->shards[hash % q->shard_count];
	bool full;

	mutex_lock(&q->mu);
	full = is_full(q, s);
	if (full) {
		/*
		 * A shard may have to send a batch that is not full; see
		 * shard_is_ready().
		 */
		queue_wake_shards(q);
		(void)mutex_wait_until(&q->mu, &q->room, &at);
	} else {
		shard_add(q, s, i, reader_place(r));
	}
	mutex_unlock(&q->mu);
	return !full;
}

/*
 * Save the position and limit the backlog, each at most once a second. Also
 * called while the reader waits for room in a shard.
 */
static void do_upkeep(struct reader *r)
{
	save_position(r);
	limit_backlog(r);
}

/*
 * Hand a sample to its shard, as soon as there is room. If max_backlog
 * meanwhile drops later samples of the log, drop this sample, too. If the queue
 * stops meanwhile, free the sample without an acknowledgement.
 */
static void hand_over(struct reader *r, struct queued_sample *i, uint64_t hash)
{
	while (!try_hand_over(r, i, hash)) {
		r->skipped = false;
		do_upkeep(r);
		if (!r->skipped && !queue_is_stopping(r->q))
			continue;
		if (r->skipped)
			metric_add(r->q->metrics.dropped_backlog, 1);
		mem_free(i);
		return;
	}
}

/* Whether r->sample is too old to be sent, by sample_age_limit. */
static bool is_too_old(struct reader *r)
{
	return r->sample.ms < reader_oldest(r, r->q->config.queue.age_limit_ms);
}

/*
 * Count r->sample, which is too old to be sent, and pass it. Of several such
 * samples in a row, log only the first one.
 */
static void reader_drop_old(struct reader *r)
{
	char at[40];

	metric_add(r->q->metrics.dropped_age, 1);
	time_format(r->sample.ms, at);
	if (!r->ages)
		log_event(
			r->q->o.events, LOG_WARN,
			"remote write drops profiles that are older than sample_age_limit; further ones in a row are only counted",
			LOG_FIELDS(
				log_text("remote_name", r->q->config.name.ptr),
				log_text("time", at)));
	r->ages = true;
	reader_pass(r);
}

/*
 * Relabel r->sample, the sample that was read last, and hand it to its shard,
 * unless it is dropped.
 */
static void take_sample(struct reader *r)
{
	struct queue *q = r->q;
	struct queued_sample *i = NULL;
	struct sent_series to = { 0 };
	struct err err;
	int rc;

	reader_count(r);
	if (is_too_old(r)) {
		reader_drop_old(r);
		return;
	}
	r->ages = false;
	mutex_lock(&q->rules_mu);
	rc = series_cache_find(q->series, r->sample.labels, &q->rules, &to,
			       &err);
	if (!rc && to.labels.len)
		i = queued_sample_new(&r->sample, to.labels);
	mutex_unlock(&q->rules_mu);
	if (rc) {
		report_unusable(r, &err);
		return;
	}
	if (!i) {
		metric_add(q->metrics.dropped_rules, 1);
		reader_pass(r);
		return;
	}
	r->run_bytes += r->sample.raw_len;
	hand_over(r, i, to.hash);
}

/*
 * At the end of the log: if the reader had a backlog of a full request or more,
 * make the shards send the last samples of the backlog now. These samples have
 * waited in the log already, so they need not wait for batch_send_deadline.
 */
static void end_backlog(struct reader *r)
{
	struct queue *q = r->q;

	if (r->run_bytes >= (uint64_t)q->config.queue.max_bytes) {
		mutex_lock(&q->mu);
		q->due_before = q->window.next;
		queue_wake_shards(q);
		mutex_unlock(&q->mu);
	}
	r->run_bytes = 0;
}

/*
 * Wait for new samples. First move the position of the queue to that of the
 * reader: at the end of the log, read() may have passed bytes that contain no
 * sample, which need no acknowledgement.
 */
static void wait_for_samples(struct reader *r)
{
	struct sample_log *log = r->q->o.log;

	end_backlog(r);
	reader_pass(r);
	save_position(r);
	log->wait(log, r->position, WAIT_MS);
}

/* Wait up to WAIT_MS, unless the queue stops. */
static void reader_pause(struct queue *q)
{
	struct timespec at = clock_mono_at(clock_mono_ns() + WAIT_MS * 1000000);

	mutex_lock(&q->mu);
	if (!q->stopping)
		(void)mutex_wait_until(&q->mu, &q->room, &at);
	mutex_unlock(&q->mu);
}

/* Log that the disk cannot read the log. */
static void report_outage(const struct queue *q, const struct err *err)
{
	log_event(
		q->o.events, LOG_WARN,
		"remote write cannot read the WAL and tries again; meanwhile, no profile is lost",
		LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
			   log_err(err)));
}

/* Count and report that the reader passes over the place `from` of the WAL. */
static void report_passed_over(const struct queue *q, uint64_t from,
			       const struct err *err)
{
	metric_add(q->metrics.passed_over, 1);
	log_event(
		q->o.events, LOG_ERROR,
		"remote write passes over a place of the WAL that the disk cannot read; its profiles are sent when the disk reads them again",
		LOG_FIELDS(log_text("remote_name", q->config.name.ptr),
			   log_int("segment", (int64_t)(from >> 32)),
			   log_int("offset", (int64_t)(uint32_t)from),
			   log_err(err)));
}

/*
 * Handle that the disk could not read the sample at `from`. Usually, wait a
 * moment, after which the caller tries again. If reads have failed for
 * OUTAGE_MS, pass over the sample instead: log->skip() makes sure that the log
 * appends the sample again when the disk can read it. If skip() fails, wait,
 * too.
 */
static void wait_for_disk(struct reader *r, uint64_t from, struct err *err)
{
	struct sample_log *log = r->q->o.log;

	if (!r->outage.since_ns)
		report_outage(r->q, err);
	if (outage_note(&r->outage, ERR_IO, 0, err) == ERR_AGAIN ||
	    log->skip(log, &r->position, err)) {
		reader_pause(r->q);
		return;
	}
	report_passed_over(r->q, from, err);
	r->expected = 0;
	reader_pass(r);
}

/*
 * Pass the place that log->read() has skipped with the error `rc`.
 * ERR_NOTFOUND: the log appends the samples of this place again, so the number
 * of the next sample says nothing about a loss. Other errors: the place is
 * damaged, and the number of the next sample will tell how many samples are
 * lost.
 */
static void pass_damage(struct reader *r, int rc, const struct err *err)
{
	if (rc == ERR_NOTFOUND)
		r->expected = 0;
	else if (!r->damage.code)
		r->damage = *err;
	reader_pass(r);
}

void *queue_read(void *queue)
{
	struct queue *q = queue;
	struct sample_log *log = q->o.log;
	struct reader r = { .q = q };

	mutex_lock(&q->mu);
	r.position = q->window.acked.position;
	r.expected = q->window.acked.number;
	r.before_ms = q->window.acked.ms;
	r.clock = q->clock;
	mutex_unlock(&q->mu);
	while (!queue_is_stopping(q)) {
		uint64_t from = r.position;
		struct err err;
		int rc = log->read(log, &r.position, true, &r.buf, &r.sample,
				   &err);

		if (rc != ERR_IO)
			outage_end(&r.outage);
		if (!rc)
			take_sample(&r);
		else if (rc == ERR_IO)
			wait_for_disk(&r, from, &err);
		else if (rc == ERR_AGAIN)
			wait_for_samples(&r);
		else
			pass_damage(&r, rc, &err);
		do_upkeep(&r);
	}
	buf_fini(&r.buf);
	return NULL;
}
