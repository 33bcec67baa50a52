/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/queue_shards.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "remotewrite/send/shard.h"

/* Create the HTTP client of a shard, and start the thread of the shard. */
static int start_shard(struct queue *q, struct shard *s, struct err *err)
{
	const struct write_client_options o = {
		.url = q->config.url.ptr,
		.http = q->http,
		.zstd = q->config.zstd,
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

/*
 * Wait for the thread of a shard to end, then free what the shard owns: the
 * samples in it and its HTTP client.
 */
static void end_shard(struct shard *s)
{
	pthread_join(s->thread, NULL);
	queued_sample_free_all(s->first);
	write_client_free(s->client);
	pthread_cond_destroy(&s->wake);
}

int queue_start_shards(struct queue *q, struct err *err)
{
	size_t n = (size_t)q->config.queue.shards;
	int rc = 0;

	q->shards = mem_zalloc(n, sizeof(*q->shards));
	while (q->shard_count < n && !rc) {
		rc = start_shard(q, &q->shards[q->shard_count], err);
		q->shard_count += !rc;
	}
	metric_set(q->metrics.shards, (int64_t)q->shard_count);
	return rc;
}

void queue_end_shards(struct queue *q)
{
	for (size_t i = 0; i < q->shard_count; i++)
		end_shard(&q->shards[i]);
	q->shard_count = 0;
	mem_free(q->shards);
	q->shards = NULL;
}

void queue_wake_shards(struct queue *q)
{
	for (size_t i = 0; i < q->shard_count; i++) {
		pthread_cond_signal(&q->shards[i].wake);
		write_client_wake(q->shards[i].client);
	}
}
