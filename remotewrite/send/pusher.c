/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/pusher.h"

#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "remotewrite/send/retry.h"
#include "remotewrite/send/write_client.h"
#include "remotewrite/wire/batch.h"
#include "remotewrite/wire/write_builder.h"

/*
 * Limits of a request: the number of its samples, and the decompressed size of
 * their profiles in bytes. A single profile may be larger.
 */
#define REQUEST_SAMPLES 2000
#define REQUEST_BYTES   ((size_t)4 * MIB)

#define SECOND_NS 1000000000LL

struct pusher {
	struct pusher_options o;
	struct write_client *client;
	struct queued_sample *first;
	struct queued_sample *last;
	size_t count;
	size_t bytes; /* of the profiles in the list, decompressed */
	struct buf labels;
	bool reached;     /* there has been a connection to the receiver */
	int64_t begun_ns; /* when the first attempt of the message was begun */
	int64_t free_ns;  /* when `rate` allows the next request */
};

int pusher_new(const struct pusher_options *o, struct pusher **out,
	       struct err *err)
{
	const struct write_client_options client = {
		.url = o->url,
		.http = o->http,
		.zstd = true,
		.user_agent = o->user_agent,
		.timeout_ms = o->timeout_ms,
	};
	struct pusher *p = mem_new(struct pusher);
	int rc = write_client_new(&client, &p->client, err);

	p->o = *o;
	if (rc)
		pusher_free(p);
	else
		*out = p;
	return rc;
}

void pusher_free(struct pusher *p)
{
	if (!p)
		return;
	queued_sample_free_all(p->first);
	write_client_free(p->client);
	buf_fini(&p->labels);
	mem_free(p);
}

/* Sleep until clock_mono_ns() reaches `ns`. */
static void sleep_until(int64_t ns)
{
	int64_t left = ns - clock_mono_ns();
	const struct timespec t = { .tv_sec = left / SECOND_NS,
				    .tv_nsec = left % SECOND_NS };

	if (left > 0)
		(void)nanosleep(&t, NULL);
}

/* The callback stops() of write_client_send(): nothing interrupts a request. */
static bool never_stops(void *ctx)
{
	(void)ctx;
	return false;
}

/* Build the message of a batch. */
static int build_request(struct pusher *p, const struct batch *b,
			 struct err *err)
{
	int rc = 0;

	write_client_begin(p->client);
	for (const struct queued_sample *i = b->first; i && !rc; i = i->next)
		rc = write_client_add(p->client, &i->sample, err);
	return rc;
}

/*
 * Send the message once, as soon as the rate allows. `number` counts the
 * attempts with this message from 1.
 */
static void send_request(struct pusher *p, unsigned number, struct attempt *a)
{
	sleep_until(p->free_ns);
	/*
	 * retry_ms is counted from the first attempt on. The wait before this
	 * attempt, which the rate may require, does not count.
	 */
	if (number == 1)
		p->begun_ns = clock_mono_ns();
	p->free_ns = clock_mono_ns();
	write_client_send(p->client, number, never_stops, NULL, a);
	p->reached |= a->connected;
	if (p->o.rate)
		p->free_ns += (int64_t)((double)a->body_len /
					(double)p->o.rate * SECOND_NS);
	p->o.sent(p->o.ctx, a->body_len);
}

/*
 * Wait before the next attempt. Returns an error if there must be no further
 * attempt.
 */
static int wait_to_retry(struct pusher *p, const struct attempt *a,
			 unsigned number, struct err *err)
{
	const struct retry_bounds bounds = { 30, 5000 };
	int64_t ms = retry_backoff_ms(&bounds, number, retry_random());
	int64_t now = clock_mono_ns();

	/*
	 * If no connection has ever succeeded, the address is probably wrong.
	 * But a receiver that was reached once is expected to come back.
	 */
	if (!p->reached)
		return err_set(err, ERR_CLOSED, "%s", a->error);
	if (now - p->begun_ns > p->o.retry_ms * 1000000)
		return err_set(
			err, ERR_TIMEOUT,
			"no request has succeeded for %lld seconds (--retry.time); the last error: %s",
			(long long)(p->o.retry_ms / 1000), a->error);
	p->o.retries(p->o.ctx, a->error);
	/*
	 * Add a random time to that of Retry-After, because the receiver may
	 * have sent the same Retry-After to other senders, and not all of them
	 * should retry at the same moment.
	 */
	if (ms < a->retry_after_ms)
		ms = a->retry_after_ms + ms / 2;
	sleep_until(now + ms * 1000000);
	return 0;
}

/*
 * Whether a retry would get the same HTTP status until somebody changes the
 * credentials, the URL or the receiver. The queues of remote write retry
 * nevertheless. `everprof push` gives up, because somebody is waiting for its
 * result.
 */
static bool is_hopeless(long status)
{
	return status && status != 429 && status / 100 != 5;
}

/*
 * Send the message, and retry after temporary failures. Returns 0 and sets *v
 * as soon as the receiver has decided about the message; returns an error if
 * the pusher gives up.
 */
static int send_until_settled(struct pusher *p, const struct batch *b,
			      struct attempt *a, enum retry_verdict *v,
			      struct err *err)
{
	int rc = 0;

	for (unsigned number = 1; !rc; number++) {
		send_request(p, number, a);
		*v = retry_decide(&(struct retry_attempt){
			a->status, a->judged, a->written, b->count });
		if (*v == RETRY_LATER && is_hopeless(a->status))
			rc = err_set(err, ERR_INVALID, "%s", a->error);
		else if (*v == RETRY_LATER)
			rc = wait_to_retry(p, a, number, err);
		else
			break;
	}
	return rc;
}

static int push_batch(struct pusher *p, struct batch *b, struct err *err);

/* Send the two halves of a batch that is too large for the receiver. */
/* NOLINTNEXTLINE(misc-no-recursion): see push_batch() */
static int push_halves(struct pusher *p, struct batch *b, struct err *err)
{
	struct batch first = batch_cut(&b->first, b->count / 2, SIZE_MAX);
	int rc = push_batch(p, &first, err);

	b->count -= b->count / 2;
	if (!rc)
		rc = push_batch(p, b, err);
	queued_sample_free_all(first.first);
	return rc;
}

/* Send a batch, and report the outcome for its samples through settled(). */
/* NOLINTNEXTLINE(misc-no-recursion): the depth is the logarithm of the count */
static int push_batch(struct pusher *p, struct batch *b, struct err *err)
{
	enum retry_verdict v = RETRY_LATER;
	struct attempt a;
	size_t refused;
	int rc = build_request(p, b, err);

	if (!rc)
		rc = send_until_settled(p, b, &a, &v, err);
	if (rc)
		return rc;
	if (v == RETRY_SPLIT)
		return push_halves(p, b, err);
	refused = v == RETRY_SENT       ? 0 :
		  a.written <= b->count ? b->count - a.written :
					  b->count;
	return p->o.settled(p->o.ctx, b->count, refused, a.error, err);
}

/* Send the first samples, as many as a request may have. */
static int push_some(struct pusher *p, struct err *err)
{
	struct batch b = batch_cut(&p->first, REQUEST_SAMPLES, REQUEST_BYTES);
	int rc;

	if (!p->first)
		p->last = NULL;
	p->count -= b.count;
	p->bytes -= batch_bytes(&b);
	rc = push_batch(p, &b, err);
	queued_sample_free_all(b.first);
	return rc;
}

/* Copy a sample to the end of the list. */
static void pusher_append(struct pusher *p, const struct sample *s)
{
	const struct logged_sample logged = { .ms = s->ms,
					      .hash = s->hash,
					      .raw_len = s->raw_len,
					      .encoding = s->encoding,
					      .body = s->body };
	struct queued_sample *i;

	buf_reset(&p->labels);
	write_labels_encode(s->labels, &p->labels);
	i = queued_sample_new(&logged, buf_bytes(&p->labels));
	if (p->last)
		p->last->next = i;
	else
		p->first = i;
	p->last = i;
	p->count++;
	p->bytes += s->raw_len;
}

int pusher_add(struct pusher *p, const struct sample *s, struct err *err)
{
	pusher_append(p, s);
	if (p->count >= REQUEST_SAMPLES || p->bytes >= REQUEST_BYTES)
		return push_some(p, err);
	return 0;
}

int pusher_flush(struct pusher *p, struct err *err)
{
	int rc = 0;

	while (p->first && !rc)
		rc = push_some(p, err);
	return rc;
}
