/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that the files of a queue share. No other file includes this
 * header.
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
#include "remotewrite/send/catch_up.h"
#include "remotewrite/send/cursor.h"
#include "remotewrite/send/queue.h"
#include "remotewrite/send/series_cache.h"
#include "remotewrite/send/write_client.h"
#include "remotewrite/wire/batch.h"

/*
 * Memory of the samples of a queue that are on their way, compressed, in bytes.
 * When it is exceeded, the reader waits; if no shard has a full batch then, the
 * shards send what they have.
 */
#define HELD_MAX ((size_t)12 << 20)

/* Number of routes; the hash of a series decides which one it takes. */
#define ROUTES 256

/*
 * A route: some series, whose samples go to the same shard as long as one of
 * them is on its way, so that the samples of a series stay in order.
 */
struct route {
	size_t samples; /* on their way */
	size_t shard;   /* valid while there are samples */
};

/* The counters of a queue, under Prometheus' names. */
struct queue_metrics {
	struct metric *sent;
	struct metric *failed;
	struct metric *retried;
	struct metric *dropped_rules;   /* by write_relabel_configs */
	struct metric *dropped_age;     /* by sample_age_limit */
	struct metric *dropped_backlog; /* by max_backlog */
	struct metric *dropped_damaged; /* the log is damaged */
	struct metric *passed_over;     /* places; see sample_log.skip() */
	struct metric *bytes;
	struct metric *raw_bytes;
	struct metric *pending;
	struct metric *shards;
	struct metric *shards_desired;
	struct metric *backlog;
	struct metric *catching_up;
	struct metric *newest_sent;
	struct histogram *duration;
};

/* A shard: a thread that sends the samples of some of the series. */
struct shard {
	struct queue *q;
	pthread_t thread;
	struct write_client *client;
	size_t written; /* samples of the last request that are durable */
	bool stored;    /* the last request has profiles as they are stored */
	/* The members below are guarded by the queue's mu. */
	pthread_cond_t wake;
	struct queued_sample *first;
	struct queued_sample *last;
	size_t count;
	size_t bytes; /* of the profiles that wait, decompressed */
	size_t load;  /* the same, with the profiles that are being sent */
	bool ended;   /* the shard is not needed any more */
};

struct queue {
	struct queue_options o;
	struct remote_write_config config; /* texts are copies, see `texts` */
	struct arena texts;
	char *shown; /* URL without user and password */
	struct http_config *http;
	struct cursor *cursor;
	uint64_t backlog_max; /* size of a backlog that is kept; 0: no limit */
	struct queue_metrics metrics;
	pthread_t reader;
	struct shard *shards; /* room for max_shards; see queue_shards.h */
	struct route routes[ROUTES]; /* guarded by mu */

	/* Guards the rules, which a reload replaces. */
	struct mutex rules_mu;
	struct series_rules rules;
	struct series_cache *series;

	/* Guards the members below, and what shards say. */
	struct mutex mu;
	pthread_cond_t room; /* a sample was acknowledged, or the queue stops */
	struct ack_window window;
	/* The clock that decides what is too old, as the reader saw it last. */
	struct trusted_clock clock;
	bool unsynced;   /* the cursor file has a state that is not durable */
	uint64_t synced; /* the position that is durable; see queue_synced() */
	bool stopping;
	/*
	 * Shards that run, and how many there should be. While they differ,
	 * samples are sent at once and no new ones are handed over. Only the
	 * reader changes the count, when no sample is on its way.
	 */
	size_t shard_count;
	size_t wanted_shards;
	size_t sending;      /* shards that have a batch */
	int64_t busy_ns;     /* time that shards spent sending, in total */
	uint64_t sent_count; /* samples that were accepted */
	int64_t answered_ns; /* when samples were accepted last; monotonic */
	bool snappy;         /* the receiver has refused zstd */
	size_t held_bytes;   /* memory of all samples on their way */
	uint64_t due_before; /* samples with lower numbers wait no longer */
	struct catch_up catch_up;
	uint64_t drop_until;    /* samples before this position are given up */
	int64_t drop_before_ms; /* and those with an earlier time */
	int64_t sent_ms;
	int64_t answer_ms;
	char last_error[512];
};

/* The reasons for which a sample leaves the queue. */
enum sample_fate {
	FATE_SENT,
	FATE_FAILED,  /* the receiver will never accept it */
	FATE_DAMAGED, /* the log has other bytes than were received */
	FATE_BACKLOG  /* max_backlog */
};

/*
 * Acknowledge the samples of a list, count them, and free them. Whatever
 * their fate, they are not sent again.
 */
void queue_finish(struct queue *q, struct queued_sample *list,
		  enum sample_fate fate);

/* Whether the queue is stopping. */
bool queue_is_stopping(struct queue *q);

#endif
