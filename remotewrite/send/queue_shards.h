/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shards of a queue: starts and ends them, and decides once a second how
 * many there should be.
 *
 * Ownership: the queue owns its shards.
 * Threads: the reader of the queue; others only before it runs and after it has
 * ended. queue_wake_shards(): any, with the queue's lock.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_SHARDS_H
#define REMOTEWRITE_SEND_QUEUE_SHARDS_H

#include "remotewrite/send/queue_private.h"
#include "remotewrite/send/reshard.h"

/* Measurements by which the reader decides about the number of shards. */
struct shard_meter {
	struct reshard_rate in;
	struct reshard_rate sent;
	struct reshard_rate busy;
	uint64_t read_count; /* samples that the reader has read; it counts */
	double sample_bytes; /* size of a sample in the log, about */
	/* the counts at the last measurement, and its time */
	uint64_t last_read;
	uint64_t last_sent;
	int64_t last_busy_ns;
	int64_t at_ns;
	int64_t wanted_ns; /* when the wanted number was decided; monotonic */
	int64_t pause_ns; /* monotonic; the number of shards is not changed before */
};

/* Count a sample that was read, with its compressed size. */
void shard_meter_add(struct shard_meter *m, size_t bytes);

/*
 * Start or end shards until there are `n`, at most max_shards. No sample may
 * be on its way. ERR_IO: a shard could not be started; there are fewer.
 */
NODISCARD int queue_set_shards(struct queue *q, size_t n, struct err *err);

/*
 * End shards until there are at most `n`; their samples are freed without
 * being acknowledged.
 */
void queue_end_shards(struct queue *q, size_t n);

/* Wake all shards, also those that wait for a response. */
void queue_wake_shards(struct queue *q) REQUIRES(q->mu);

/*
 * Once a second: measures, and sets the wanted number of shards. When it
 * differs from the number that run, and no sample is on its way, starts or ends
 * shards.
 */
void queue_reshard(struct queue *q, struct shard_meter *m);

#endif
