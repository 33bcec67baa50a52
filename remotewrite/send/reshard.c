/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/reshard.h"

#include <math.h>

#define WEIGHT 0.2
/* A backlog is worked off within 20 seconds: a twentieth of it each second. */
#define BACKLOG_SHARE 0.05
/* Changes of the number of shards by less than this are ignored. */
#define TOLERANCE 0.3
/* With a larger delay, in seconds, the number of shards is not reduced. */
#define DELAY_MAX 10

void reshard_rate_add(struct reshard_rate *r, double events, double seconds)
{
	double now = events / seconds;

	r->value = r->started ? r->value + WEIGHT * (now - r->value) : now;
	r->started = true;
}

unsigned reshard_decide(const struct reshard_input *in)
{
	double time_per_sample =
		in->sent_rate > 0 ? in->busy_rate / in->sent_rate : 0;
	double desired =
		time_per_sample * (in->in_rate + BACKLOG_SHARE * in->backlog);
	unsigned n;

	if (in->desired)
		*in->desired = desired;
	if (!in->is_moving || desired <= 0)
		return in->shards;
	if (fabs(desired - in->shards) <= TOLERANCE * in->shards)
		return in->shards;
	n = desired >= in->max ? in->max : (unsigned)ceil(desired);
	n = n < in->min ? in->min : n;
	if (n < in->shards && in->delay_s > DELAY_MAX)
		return in->shards;
	return n;
}
