/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of a sender, without a network: it takes the place of
 * remotewrite/send/write_client in the program of a test. The test decides what
 * each request leads to, and reads which samples it had.
 *
 * Ownership: fake_writer_reset() frees what was sent.
 * Threads: any.
 */
#ifndef TESTS_REMOTEWRITE_FAKE_WRITER_H
#define TESTS_REMOTEWRITE_FAKE_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "remotewrite/send/write_client.h"
#include "tests/check.h"

#define FAKE_SAMPLES 600 /* in one request */

/* A request. */
struct fake_sent {
	size_t count;
	int64_t ms[FAKE_SAMPLES];
	unsigned number; /* of the attempt */
	bool zstd;
};

static struct {
	pthread_mutex_t mu;
	VEC(struct fake_sent *) v; /* in the order in which they were sent */
	/* decides a request; NULL: it is accepted */
	void (*judge)(const struct fake_sent *s, struct attempt *a);
	int64_t damaged_ms; /* a sample with this time is damaged; 0: none */
	_Atomic bool holds; /* requests wait for their answers */
} fake_writer = { .mu = PTHREAD_MUTEX_INITIALIZER };

struct write_client {
	struct write_client_options o;
	struct fake_sent message;
	_Atomic bool woken;
};

int write_client_new(const struct write_client_options *o,
		     struct write_client **out, struct err *err UNUSED)
{
	*out = mem_new(struct write_client);
	(*out)->o = *o;
	return 0;
}

void write_client_free(struct write_client *c)
{
	mem_free(c);
}

void write_client_begin(struct write_client *c)
{
	c->message.count = 0;
}

int write_client_add(struct write_client *c, const struct logged_sample *s,
		     struct err *err)
{
	if (fake_writer.damaged_ms && s->ms == fake_writer.damaged_ms)
		return err_set(err, ERR_CORRUPT, "hash mismatch");
	cr_assert(c->message.count < FAKE_SAMPLES);
	c->message.ms[c->message.count++] = s->ms;
	return 0;
}

/* The answer of a receiver: how many samples it has stored. */
static inline void fake_writer_answer(struct attempt *a, long status,
				      uint64_t written)
{
	a->status = status;
	a->judged = true;
	a->written = written;
	if (status / 100 != 2)
		snprintf(a->error, sizeof(a->error), "status %ld", status);
}

void write_client_send(struct write_client *c, unsigned number,
		       bool (*stops)(void *ctx), void *ctx, struct attempt *a)
{
	struct fake_sent *s = mem_new(struct fake_sent);

	*s = c->message;
	s->number = number;
	s->zstd = c->o.zstd;
	*a = (struct attempt){ .done = true,
			       .connected = true,
			       .samples = s->count,
			       .message_len = 10 * s->count,
			       .body_len = s->count };
	while (fake_writer.holds && !stops(ctx))
		usleep(1000);
	pthread_mutex_lock(&fake_writer.mu);
	if (fake_writer.holds) {
		a->done = false;
		mem_free(s);
	} else {
		fake_writer_answer(a, 204, s->count);
		if (fake_writer.judge)
			fake_writer.judge(s, a);
		*vec_add(&fake_writer.v) = s;
	}
	pthread_mutex_unlock(&fake_writer.mu);
}

void write_client_wake(struct write_client *c)
{
	c->woken = true;
}

/* Return how many requests were sent. */
static inline size_t fake_writer_count(void)
{
	size_t n;

	pthread_mutex_lock(&fake_writer.mu);
	n = fake_writer.v.count;
	pthread_mutex_unlock(&fake_writer.mu);
	return n;
}

/* Return the times of all samples that were sent, as "1 2 | 3": by request. */
static inline const char *fake_writer_text(void)
{
	static char text[4096];
	size_t at = 0;

	text[0] = 0;
	pthread_mutex_lock(&fake_writer.mu);
	for (size_t i = 0; i < fake_writer.v.count; i++) {
		const struct fake_sent *s = fake_writer.v.v[i];

		for (size_t k = 0; k < s->count && at < sizeof(text) - 40; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%lld",
					       k ? " " :
					       i ? " | " :
						   "",
					       (long long)s->ms[k]);
	}
	pthread_mutex_unlock(&fake_writer.mu);
	return text;
}

/* Forget what was sent, and accept everything. */
static inline void fake_writer_reset(void)
{
	pthread_mutex_lock(&fake_writer.mu);
	for (size_t i = 0; i < fake_writer.v.count; i++)
		mem_free(fake_writer.v.v[i]);
	vec_fini(&fake_writer.v);
	fake_writer.judge = NULL;
	fake_writer.damaged_ms = 0;
	fake_writer.holds = false;
	pthread_mutex_unlock(&fake_writer.mu);
}

#endif
