/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/series_quota.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "base/table.h"

#define HOUR_NS 3600000000000LL

/* The new series of one sender in this hour. */
struct quota_sender {
	uint64_t hash;
	uint64_t series;
};

struct series_quota {
	uint64_t max;
	struct mutex mu;
	/* All else is guarded by mu. */
	int64_t began_ns; /* begin of this hour; 0: nothing was sent yet */
	/* Hashes of series that were sent lately, and those before them. */
	struct table recent;
	struct table earlier;
	struct table by_hash; /* indexes in `senders` */
	struct quota_sender *senders;
	size_t sender_count;
	size_t sender_cap;
};

struct series_quota *series_quota_new(uint64_t max)
{
	struct series_quota *q = mem_new(struct series_quota);

	q->max = max;
	mutex_init(&q->mu);
	return q;
}

void series_quota_free(struct series_quota *q)
{
	if (!q)
		return;
	table_fini(&q->recent);
	table_fini(&q->earlier);
	table_fini(&q->by_hash);
	mem_free(q->senders);
	mutex_destroy(&q->mu);
	mem_free(q);
}

/* Forget the earlier series; the recent ones are the earlier ones now. */
static void series_quota_turn(struct series_quota *q) REQUIRES(q->mu)
{
	table_fini(&q->earlier);
	q->earlier = q->recent;
	q->recent = (struct table){ 0 };
}

/* Begin a new hour if this one is over. */
static void series_quota_tick(struct series_quota *q, int64_t now_ns)
	REQUIRES(q->mu)
{
	if (q->began_ns && now_ns - q->began_ns < HOUR_NS)
		return;
	/* After a pause of hours, the recent series are old, too. */
	if (now_ns - q->began_ns >= 2 * HOUR_NS)
		series_quota_turn(q);
	series_quota_turn(q);
	table_fini(&q->by_hash);
	q->sender_count = 0;
	q->began_ns = now_ns;
}

/*
 * Two series whose hashes agree in 32 bits and their place in the table count as
 * one. That makes a new series a known one, which is no harm.
 */
static bool series_quota_same(const void *ctx UNUSED, uint32_t number UNUSED,
			      const void *key UNUSED)
{
	return true;
}

static bool series_quota_knows(const struct table *t, uint64_t series)
{
	return table_find(t, series, series_quota_same, NULL, NULL) !=
	       TABLE_NONE;
}

static bool series_quota_same_sender(const void *ctx, uint32_t number,
				     const void *key)
{
	const struct series_quota *q = ctx;

	return q->senders[number].hash == *(const uint64_t *)key;
}

/* Return the number of a sender, or TABLE_NONE. */
static uint32_t series_quota_find(const struct series_quota *q, uint64_t hash)
	REQUIRES(q->mu)
{
	return table_find(&q->by_hash, hash, series_quota_same_sender, q,
			  &hash);
}

/* Return the place of a new sender: another one, or that of the smallest. */
static uint32_t series_quota_place(struct series_quota *q) REQUIRES(q->mu)
{
	uint32_t least = 0;

	if (q->sender_count < QUOTA_SENDERS_MAX) {
		q->senders = mem_grow(q->senders, q->sender_count,
				      &q->sender_cap, sizeof(*q->senders));
		return (uint32_t)q->sender_count++;
	}
	for (uint32_t i = 1; i < q->sender_count; i++) {
		if (q->senders[i].series < q->senders[least].series)
			least = i;
	}
	table_remove(&q->by_hash, q->senders[least].hash, least);
	return least;
}

/* Return the count of a sender, which is made if it is missing. */
static struct quota_sender *series_quota_sender(struct series_quota *q,
						uint64_t hash) REQUIRES(q->mu)
{
	uint32_t n = series_quota_find(q, hash);

	if (n != TABLE_NONE)
		return &q->senders[n];
	n = series_quota_place(q);
	q->senders[n] = (struct quota_sender){ .hash = hash };
	table_add(&q->by_hash, hash, n);
	return &q->senders[n];
}

/* Count a new series, and remember it, unless it is one too many. */
static enum quota_verdict series_quota_add(struct series_quota *q,
					   uint64_t sender, uint64_t series)
	REQUIRES(q->mu)
{
	struct quota_sender *s = series_quota_sender(q, sender);

	if (s->series >= q->max)
		return QUOTA_REFUSED;
	s->series++;
	if (q->recent.count == QUOTA_SERIES_MAX)
		series_quota_turn(q);
	table_add(&q->recent, series, 0);
	return QUOTA_NEW;
}

enum quota_verdict series_quota_admit(struct series_quota *q, uint64_t sender,
				      uint64_t series, int64_t now_ns)
{
	enum quota_verdict verdict = QUOTA_KNOWN;
	bool is_recent;
	bool is_known;

	if (!q->max)
		return QUOTA_KNOWN;
	mutex_lock(&q->mu);
	series_quota_tick(q, now_ns);
	is_recent = series_quota_knows(&q->recent, series);
	is_known = is_recent || series_quota_knows(&q->earlier, series);
	if (!is_known)
		verdict = series_quota_add(q, sender, series);
	else if (!is_recent && q->recent.count < QUOTA_SERIES_MAX)
		table_add(&q->recent, series, 0);
	mutex_unlock(&q->mu);
	return verdict;
}

void series_quota_withdraw(struct series_quota *q, uint64_t sender,
			   uint64_t series)
{
	uint32_t n;

	mutex_lock(&q->mu);
	n = series_quota_find(q, sender);
	if (n != TABLE_NONE && q->senders[n].series)
		q->senders[n].series--;
	if (series_quota_knows(&q->recent, series))
		table_remove(&q->recent, series, 0);
	mutex_unlock(&q->mu);
}
