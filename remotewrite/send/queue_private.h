/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that the source files queue*.c and shard.c share. Apart from
 * tests, no other source file includes this header.
 *
 * Ownership: the queue owns its shards; a shard owns the samples that wait in
 * it.
 * Threads: see struct queue.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_PRIVATE_H
#define REMOTEWRITE_SEND_QUEUE_PRIVATE_H

#include <pthread.h>

#include "base/mutex.h"
#include "base/trusted_clock.h"
#include "base/vec.h"
#include "client/transfer/http_config.h"
#include "remotewrite/send/ack_window.h"
#include "remotewrite/send/cursor.h"
#include "remotewrite/send/queue.h"
#include "remotewrite/send/series_cache.h"
#include "remotewrite/send/write_client.h"
#include "remotewrite/wire/batch.h"

/*
 * Limit on the memory, in bytes, of the samples that a queue has read and not
 * finished yet (queue_finish()). Profiles count with the size that they have in
 * the log, where most are compressed. Above the limit the reader waits, and if
 * no shard is sending a batch, the shards send batches that are not full.
 */
#define HELD_MAX ((size_t)12 << 20)

/*
 * The metrics of a queue. Where Prometheus has such a metric, the name is that
 * of Prometheus, with everprof_ instead of prometheus_ at the beginning; see
 * queue_make_metrics().
 */
struct queue_metrics {
	struct metric *sent;
	struct metric *failed;
	struct metric *retried;
	struct metric *dropped_rules;   /* by write_relabel_configs */
	struct metric *dropped_age;     /* by sample_age_limit */
	struct metric *dropped_backlog; /* by max_backlog */
	struct metric *dropped_damaged; /* lost, damaged or badly labelled */
	struct metric *passed_over;     /* places; see sample_log.skip() */
	struct metric *bytes;
	struct metric *raw_bytes;
	struct metric *pending;
	struct metric *shards;
	struct metric *backlog;
	struct metric *newest_sent;
	struct histogram *duration;
};

/* A shard: a thread that sends the samples of some of the series. */
struct shard {
	struct queue *q;
	pthread_t thread;
	struct write_client *client;
	size_t written; /* durable samples of a partly refused request */
	/* The members below are guarded by the queue's mu. */
	pthread_cond_t wake;
	struct queued_sample *first;
	struct queued_sample *last;
	size_t count;
	size_t bytes; /* of the profiles that wait, decompressed */
};

struct queue {
	struct queue_options o;
	struct remote_write_config config; /* texts are copies, see `texts` */
	struct arena texts;
	char *shown; /* the URL for display, by endpoint_url_shown() */
	struct http_config *http;
	struct cursor *cursor;
	uint64_t backlog_max; /* maximum size of the backlog; 0: no limit */
	struct queue_metrics metrics;
	pthread_t reader;
	/*
	 * The shards that run. While the reader runs, there are as many as the
	 * configuration says.
	 */
	struct shard *shards;
	size_t shard_count;

	/* Guards the rules, which a reload replaces, and the cache `series`. */
	struct mutex rules_mu;
	struct series_rules rules;
	struct series_cache *series;

	/*
	 * Guards the members below, and those of struct shard from `wake` on.
	 */
	struct mutex mu;
	/*
	 * signalled when samples were finished, a batch ended, or the queue
	 * stops
	 */
	pthread_cond_t room;
	struct ack_window window;
	/*
	 * A copy of the reader's clock, for the cursor file. Before the reader
	 * runs: the clock in the file.
	 */
	struct trusted_clock clock;
	bool unsynced;   /* the state for the cursor file is not durable yet */
	bool unsaved;    /* a failure to write the cursor file was reported */
	uint64_t synced; /* the position that is durable; see queue_synced() */
	bool stopping;
	size_t sending;    /* shards that are sending a batch */
	size_t held_bytes; /* memory of samples that are not finished */
	/*
	 * samples whose queued_sample.number is below this value are sent even
	 * in a batch that is not full
	 */
	uint64_t due_before;
	uint64_t drop_until; /* samples before this position are given up */
	/* samples with an earlier time are given up, too */
	int64_t drop_before_ms;
	int64_t sent_ms;
	int64_t answer_ms;
	char last_error[512];
};

/* The reasons for which a sample leaves the queue. */
enum sample_fate {
	FATE_SENT,
	FATE_FAILED,  /* the receiver will never accept the sample */
	FATE_DAMAGED, /* the profile in the log is damaged */
	FATE_BACKLOG  /* given up because of max_backlog */
};

/*
 * Acknowledge the samples of a list, count them, and free them. Whatever their
 * fate, they are not sent again. If the position of the queue moves, write the
 * cursor file.
 */
void queue_finish(struct queue *q, struct queued_sample *list,
		  enum sample_fate fate);

/* Whether the queue is stopping. */
bool queue_is_stopping(struct queue *q);

#endif
