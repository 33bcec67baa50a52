/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how many shards a remote-write queue needs, as Prometheus does. Pure.
 *
 * Source: Prometheus, storage/remote/queue_manager.go, calculateDesiredShards()
 * and ewma.go.
 *
 * Ownership: plain values.
 * Threads: any.
 */
#ifndef REMOTEWRITE_SEND_RESHARD_H
#define REMOTEWRITE_SEND_RESHARD_H

#include "base/defs.h"

/* A rate that follows the newest values: an average with weight 0.2. */
struct reshard_rate {
	double value; /* a second */
	bool started;
};

/* Add what happened in an interval to a rate. */
void reshard_rate_add(struct reshard_rate *r, double events, double seconds);

/* Measurements of a queue. */
struct reshard_input {
	double in_rate;   /* samples read from the log, a second */
	double sent_rate; /* samples that were acknowledged, a second */
	/* seconds that shards were sending, a second: 2.0 is two shards */
	double busy_rate;
	double backlog; /* samples that wait in the log */
	double delay_s; /* age of the oldest sample that is not sent */
	/* whether a sample was acknowledged in the last 10 seconds */
	bool is_moving;
	unsigned shards; /* now */
	unsigned min;
	unsigned max;
	double *desired; /* receives the number before bounds; may be NULL */
};

/* Return the number of shards to use from now on. */
unsigned reshard_decide(const struct reshard_input *in);

#endif
