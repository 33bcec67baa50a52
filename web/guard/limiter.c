/* SPDX-License-Identifier: Apache-2.0 */
#include "web/guard/limiter.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "web/guard/clients.h"

#define BUCKETS 4096 /* number of token buckets in the hash table */
/* number of buckets in a set; a client can use any bucket of its set */
#define WAYS   4
#define SECOND 1000000000LL

/* The tokens of one client; a request costs one token. */
struct bucket {
	/* client_key() of the client's address; 0: the bucket is free */
	uint64_t client;
	int64_t tokens; /* number of tokens, in billionths of a token */
	int64_t at_ns;  /* when `tokens` was computed */
};

/*
 * A hash table of buckets, set-associative: a client may use any of the WAYS
 * buckets of its set.
 */
struct limiter {
	int64_t rate;
	struct mutex mu;
	struct bucket buckets[BUCKETS];
};

struct limiter *limiter_new(int64_t rate)
{
	struct limiter *l = mem_new(struct limiter);

	l->rate = rate;
	mutex_init(&l->mu);
	return l;
}

void limiter_free(struct limiter *l)
{
	if (!l)
		return;
	mutex_destroy(&l->mu);
	mem_free(l);
}

/*
 * Find the client's bucket. A new client gets a full bucket, which replaces the
 * bucket of the set that was unused for the longest time.
 */
static struct bucket *limiter_find(struct limiter *l, uint64_t client,
				   int64_t now)
{
	struct bucket *set = &l->buckets[client % (BUCKETS / WAYS) * WAYS];
	struct bucket *oldest = set;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].client == client)
			return &set[i];
		if (set[i].at_ns < oldest->at_ns)
			oldest = &set[i];
	}
	*oldest = (struct bucket){ .client = client,
				   .tokens = 2 * l->rate * SECOND,
				   .at_ns = now };
	return oldest;
}

bool limiter_pass(struct limiter *l, const struct sockaddr *client,
		  int64_t now_ns)
{
	int64_t most = 2 * l->rate * SECOND;
	struct bucket *b;
	int64_t passed;
	bool pass;

	if (!l->rate || !client)
		return true;
	mutex_lock(&l->mu);
	b = limiter_find(l, client_key(client), now_ns);
	passed = now_ns - b->at_ns;
	/*
	 * An empty bucket is full again after two seconds, so a longer time
	 * makes no difference. The bound keeps the product below from
	 * overflowing.
	 */
	passed = passed < 0 ? 0 : passed > 2 * SECOND ? 2 * SECOND : passed;
	b->tokens += passed * l->rate;
	b->tokens = b->tokens > most ? most : b->tokens;
	/* A thread may come with an earlier time than another. */
	if (now_ns > b->at_ns)
		b->at_ns = now_ns;
	pass = b->tokens >= SECOND;
	if (pass)
		b->tokens -= SECOND;
	mutex_unlock(&l->mu);
	return pass;
}
