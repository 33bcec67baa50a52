/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "client/address/endpoint.h"
#include "remotewrite/send/queue_cursor.h"
#include "remotewrite/send/queue_private.h"
#include "remotewrite/send/queue_reader.h"
#include "remotewrite/send/queue_shards.h"

/*
 * Default for the maximum size of the backlog in bytes; smaller on a small
 * disk, see queue_backlog_max().
 */
#define BACKLOG_DEFAULT (10ull * GIB)

/*
 * Create a counter or gauge with the labels in the local variable `labels`, and
 * store it in q->metrics.
 */
#define MAKE(kind, member, name, help) \
	(q->metrics.member = metrics_##kind(q->o.metrics, name, help, &labels))

/* Create the counter of the samples that are dropped for `reason`. */
static struct metric *queue_make_dropped(struct queue *q, const char *reason)
{
	const struct metric_labels labels = {
		{ "remote_name", "url", "reason" },
		{ q->config.name.ptr, q->shown, reason },
	};

	return metrics_counter(
		q->o.metrics, "everprof_remote_storage_samples_dropped_total",
		"Profiles that were read from the WAL and not sent, by reason.",
		&labels);
}

/* Create the gauges that show settings; Prometheus has such gauges, too. */
static void queue_make_settings(struct queue *q)
{
	const struct metric_labels labels = {
		{ "remote_name", "url" },
		{ q->config.name.ptr, q->shown },
	};
	const struct queue_config *c = &q->config.queue;
	const struct {
		const char *name;
		const char *help;
		int64_t value;
	} rows[] = {
		{ "everprof_remote_storage_shard_capacity",
		  "Maximum number of profiles that wait in a shard (capacity of the configuration).",
		  c->capacity },
		{ "everprof_remote_storage_max_samples_per_send",
		  "Maximum number of profiles in a request (max_samples_per_send of the configuration).",
		  c->max_samples },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		metric_set(metrics_gauge(q->o.metrics, rows[i].name,
					 rows[i].help, &labels),
			   rows[i].value);
}

/* Create the metrics of a queue. */
static void queue_make_metrics(struct queue *q)
{
	const struct metric_labels labels = {
		{ "remote_name", "url" },
		{ q->config.name.ptr, q->shown },
	};

	MAKE(counter, sent, "everprof_remote_storage_samples_total",
	     "Profiles that the receiver of remote write has accepted.");
	MAKE(counter, failed, "everprof_remote_storage_samples_failed_total",
	     "Profiles that the receiver of remote write has refused for good; they are not sent again.");
	MAKE(counter, retried, "everprof_remote_storage_samples_retried_total",
	     "Profiles that were sent again after a temporary failure.");
	MAKE(counter, bytes, "everprof_remote_storage_bytes_total",
	     "Bytes of the compressed bodies of remote-write requests that the receiver accepted.");
	MAKE(counter, raw_bytes,
	     "everprof_remote_storage_decompressed_bytes_total",
	     "Bytes of remote-write requests that the receiver accepted, before compression.");
	MAKE(gauge, pending, "everprof_remote_storage_samples_pending",
	     "Profiles that were read from the WAL and are not acknowledged by the receiver yet.");
	MAKE(gauge, shards, "everprof_remote_storage_shards",
	     "Number of shards, the threads that send profiles to the receiver.");
	MAKE(gauge, backlog, "everprof_remote_storage_backlog_bytes",
	     "Bytes of the WAL that the receiver has not acknowledged yet.");
	MAKE(counter, passed_over,
	     "everprof_remote_storage_places_unread_total",
	     "Places of the WAL that were passed over because the disk could not read them for some minutes; their profiles are sent when it can.");
	MAKE(gauge, newest_sent,
	     "everprof_remote_storage_queue_highest_sent_timestamp_seconds",
	     "Time of the newest profile that the receiver has accepted, in seconds since the Unix epoch.");
	q->metrics.duration = metrics_histogram(
		q->o.metrics,
		"everprof_remote_storage_sent_batch_duration_seconds",
		"Duration of remote-write requests in seconds, whatever their outcome.",
		&labels);
	q->metrics.dropped_rules =
		queue_make_dropped(q, "write_relabel_configs");
	q->metrics.dropped_age = queue_make_dropped(q, "sample_age_limit");
	q->metrics.dropped_backlog = queue_make_dropped(q, "max_backlog");
	q->metrics.dropped_damaged = queue_make_dropped(q, "damaged");
}

/*
 * Set those gauges of a queue to 0 that describe its current work, because the
 * queue has ended. The gauges stay in the output of /metrics, which would
 * otherwise show a backlog for a receiver that was removed.
 */
static void queue_clear_gauges(struct queue *q)
{
	metric_set(q->metrics.pending, 0);
	metric_set(q->metrics.shards, 0);
	metric_set(q->metrics.backlog, 0);
}

/*
 * Return the maximum size of the backlog (0: no limit); see
 * REMOTE_WRITE_BACKLOG_BY_DISK. The directory of the cursors is on the same
 * disk as the log, so fs_space() is asked about this directory.
 */
static uint64_t queue_backlog_max(const struct queue *q)
{
	uint64_t total = 0;
	uint64_t available = 0;
	uint64_t max = BACKLOG_DEFAULT;

	if (q->config.backlog_bytes != REMOTE_WRITE_BACKLOG_BY_DISK)
		return (uint64_t)q->config.backlog_bytes;
	if (!fs_space(q->o.dir, &total, &available, NULL) && total / 8 < max)
		max = total / 8;
	return max;
}

/* Start the shards, then the thread that feeds them. */
static int start_threads(struct queue *q, struct err *err)
{
	int rc = queue_start_shards(q, err);

	if (!rc)
		q->reader = thread_start("write-reader", queue_read, q);
	return rc;
}

/*
 * Copy the configuration with its texts, because a reload frees `c`, while the
 * queue goes on if its configuration has not changed.
 */
static void copy_config(struct queue *q, const struct remote_write_config *c)
{
	const char **headers =
		arena_array(&q->texts, const char *, c->header_count + 1);

	q->config = *c;
	q->config.url = str_of(arena_strndup(&q->texts, c->url));
	q->config.name = str_of(arena_strndup(&q->texts, c->name));
	q->config.key = arena_str(&q->texts, c->key);
	for (size_t i = 0; i < c->header_count; i++)
		headers[i] = arena_strndup(&q->texts, str_of(c->headers[i]));
	headers[c->header_count] = NULL;
	q->config.headers = headers;
	q->shown = endpoint_url_shown(q->config.url.ptr);
	q->http = http_config_new(&c->http);
}

int queue_start(const struct queue_options *o,
		const struct remote_write_config *config,
		const struct label *external, size_t external_count,
		struct queue **out, struct err *err)
{
	struct queue *q = mem_new(struct queue);
	int rc;

	q->o = *o;
	mutex_init(&q->mu);
	mutex_init(&q->rules_mu);
	clock_cond_init(&q->room);
	q->series = series_cache_new();
	copy_config(q, config);
	queue_set_rules(q, config, external, external_count);
	queue_make_metrics(q);
	queue_make_settings(q);
	q->drop_before_ms = INT64_MIN;
	rc = queue_open_cursor(q, err);
	q->backlog_max = queue_backlog_max(q);
	if (!rc)
		rc = start_threads(q, err);
	if (rc)
		queue_free(q);
	else
		*out = q;
	return rc;
}

void queue_set_rules(struct queue *q, const struct remote_write_config *config,
		     const struct label *external, size_t external_count)
{
	mutex_lock(&q->rules_mu);
	q->rules = (struct series_rules){ .relabel = &config->relabel,
					  .external = external,
					  .external_count = external_count };
	series_cache_clear(q->series);
	mutex_unlock(&q->rules_mu);
}

/*
 * Interrupt requests, wait for the threads of the queue to end, and sync the
 * cursor file.
 */
static void queue_stop(struct queue *q)
{
	mutex_lock(&q->mu);
	q->stopping = true;
	pthread_cond_broadcast(&q->room);
	queue_wake_shards(q);
	mutex_unlock(&q->mu);
	/*
	 * The reader uses the shards, so the reader must end before the shards
	 * are freed.
	 */
	if (q->reader)
		pthread_join(q->reader, NULL);
	queue_end_shards(q);
	queue_clear_gauges(q);
	if (q->cursor)
		/*
		 * If the sync fails, the file may have an older position after
		 * a power cut, and some samples are sent again.
		 */
		(void)!cursor_sync(q->cursor, NULL);
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	queue_stop(q);
	cursor_close(q->cursor);
	ack_window_fini(&q->window);
	series_cache_free(q->series);
	http_config_unref(q->http);
	mem_free(q->shown);
	arena_fini(&q->texts);
	pthread_cond_destroy(&q->room);
	mutex_destroy(&q->mu);
	mutex_destroy(&q->rules_mu);
	mem_free(q);
}

/* Return the counter of the samples with the fate `fate`. */
static struct metric *metric_of(const struct queue *q, enum sample_fate fate)
{
	switch (fate) {
	case FATE_SENT:
		return q->metrics.sent;
	case FATE_FAILED:
		return q->metrics.failed;
	case FATE_DAMAGED:
		return q->metrics.dropped_damaged;
	default:
		return q->metrics.dropped_backlog;
	}
}

/* Record that a sample with the time `ms` was accepted. */
static void note_sent(struct queue *q, int64_t ms) REQUIRES(q->mu)
{
	if (ms > q->sent_ms)
		q->sent_ms = ms;
}

void queue_finish(struct queue *q, struct queued_sample *list,
		  enum sample_fate fate)
{
	bool moved = false;

	mutex_lock(&q->mu);
	while (list) {
		struct queued_sample *next = list->next;

		metric_add(metric_of(q, fate), 1);
		if (fate == FATE_SENT)
			note_sent(q, list->sample.ms);
		moved |= ack_window_ack(&q->window, list->number);
		q->held_bytes -= queued_sample_size(list);
		mem_free(list);
		list = next;
	}
	if (moved)
		queue_write_cursor(q);
	metric_set(q->metrics.pending, (int64_t)ack_window_count(&q->window));
	metric_set(q->metrics.newest_sent, q->sent_ms / 1000);
	pthread_cond_broadcast(&q->room);
	mutex_unlock(&q->mu);
}

uint64_t queue_synced(struct queue *q)
{
	uint64_t position;

	mutex_lock(&q->mu);
	position = q->synced;
	mutex_unlock(&q->mu);
	return position;
}

void queue_status(struct queue *q, struct queue_status *out)
{
	struct sample_log *log = q->o.log;

	mutex_lock(&q->mu);
	*out = (struct queue_status){
		.name = q->config.name.ptr,
		.url = q->shown,
		.shards = (unsigned)q->shard_count,
		.pending = ack_window_count(&q->window),
		.sent_ms = q->sent_ms,
		.answer_ms = q->answer_ms,
	};
	snprintf(out->last_error, sizeof(out->last_error), "%s", q->last_error);
	mutex_unlock(&q->mu);
	out->backlog_bytes = log->bytes(log, queue_position(q));
}
