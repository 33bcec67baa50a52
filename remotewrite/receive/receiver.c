/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/receive/receiver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "ingest/profile_store.h"
#include "remotewrite/wire/write_body.h"
#include "remotewrite/wire/write_request.h"

/*
 * Room in a request for labels and framing, in bytes, in addition to one
 * profile of the maximum size.
 */
#define FRAME_ROOM (2 * MIB)

/*
 * The error message lists refused samples. Once this list has REFUSED_TEXT_MAX
 * bytes, no further sample is added to it.
 */
#define REFUSED_TEXT_MAX 360

/* The counters of a receiver. */
struct receiver_metrics {
	struct metric *stored;
	struct metric *conflicts;
	struct metric *refused;
	struct metric *requests;
	struct metric *failed;
	struct metric *body_bytes;
	struct metric *message_bytes;
};

struct receiver {
	struct receiver_options o;
	struct receiver_metrics metrics;
	struct profile_store *store;
};

/* One request while it is handled. */
struct writing {
	struct receiver *r;
	struct store_tools *tools;
	struct buf *message; /* the decompressed request; belongs to `tools` */
	struct write_outcome *out;
	int64_t deadline_ns;
	/* LSNs of the first and the last sample that have to be durable. */
	uint64_t first;
	uint64_t lsn;
	struct buf why; /* which samples were refused, and why */
};

#define COUNTER(...) METRIC_ROW(COUNTER, struct receiver_metrics, __VA_ARGS__)

static const struct metric_row receiver_rows[] = {
	COUNTER(requests, "everprof_remote_write_requests_total",
		"Requests of remote write that were received."),
	COUNTER(failed, "everprof_remote_write_requests_failed_total",
		"Requests of remote write that failed or were refused, completely or in part."),
	COUNTER(stored, "everprof_remote_write_samples_stored_total",
		"Profiles received by remote write that are durable, duplicates included."),
	COUNTER(conflicts, "everprof_remote_write_conflicts_total",
		"Profiles received by remote write that were refused because a different profile of the series is stored at that time, as when two agents send the same series."),
	COUNTER(refused, "everprof_remote_write_samples_refused_total",
		"Profiles received by remote write that will never be accepted, conflicts included."),
	COUNTER(body_bytes, "everprof_remote_write_received_bytes_total",
		"Bytes of the compressed bodies of requests of remote write."),
	COUNTER(message_bytes,
		"everprof_remote_write_received_decompressed_bytes_total",
		"Bytes of the requests of remote write after decompression."),
};

struct receiver *receiver_new(const struct receiver_options *o)
{
	struct receiver *r = mem_new(struct receiver);

	r->o = *o;
	r->store = profile_store_new(&(struct profile_store_options){
		.appender = o->appender,
		.limiter = o->limiter,
		.max_profile = o->max_profile });
	metrics_register(o->metrics, receiver_rows, ARRAY_SIZE(receiver_rows),
			 &r->metrics);
	return r;
}

void receiver_free(struct receiver *r)
{
	if (!r)
		return;
	profile_store_free(r->store);
	mem_free(r);
}

/* Return the maximum size of a decompressed request in bytes. */
static size_t max_message(const struct receiver *r)
{
	return r->o.max_profile + FRAME_ROOM;
}

/*
 * Data that cannot be compressed grow by at most a sixth and 32 bytes with
 * either compression (snappy: MaxCompressedLength()).
 */
size_t receiver_max_body(const struct receiver *r)
{
	return max_message(r) + max_message(r) / 6 + 32;
}

/*
 * Count `n` samples of a series as refused. For the error message, also append
 * an entry to w->why, unless w->why has REFUSED_TEXT_MAX bytes already. The
 * entry has the labels of the series (NULL: they are not known), the time `ms`
 * (negative: there is none), and the reason, which is the message of `why`.
 */
static void receiver_refuse(struct writing *w, struct labels *labels,
			    int64_t ms, size_t n, const struct err *why)
{
	char at[40];

	w->out->refused += n;
	metric_add(w->r->metrics.refused, (int64_t)n);
	if (w->why.len >= REFUSED_TEXT_MAX)
		return;
	if (w->why.len)
		buf_str(&w->why, "; ");
	if (labels)
		labels_text(labels, &w->why);
	if (ms >= 0) {
		time_format(ms, at);
		buf_printf(&w->why, " at %s", at);
	}
	buf_printf(&w->why, "%s%s", labels ? ": " : "", why->msg);
}

/* Check the profile of `sample`, and append the profile to the storage. */
static int append_sample(struct writing *w, struct labels *labels,
			 const struct write_sample *sample, struct err *err)
{
	const struct store_order order = { .labels = labels,
					   .ms = sample->ms,
					   .pack = true };
	struct store_receipt receipt = { .lsn = w->lsn };
	int rc;

	if (clock_mono_ns() > w->deadline_ns)
		return err_set(
			err, ERR_TIMEOUT,
			"the profiles of the request could not be stored in time (--query.timeout of the receiver)");
	rc = profile_store_put(w->tools, sample->value, &order, &receipt, err);
	w->lsn = receipt.lsn;
	return rc;
}

/*
 * Append the samples of the series `s`. Returns only temporary errors; see
 * profile_store_may_retry(). After any other error, the sample is refused, and
 * the next one is appended.
 */
static int append_series(struct writing *w, struct write_series *s,
			 struct err *err)
{
	struct labels *labels = NULL;
	struct write_sample sample;
	int bad = write_series_labels(s, &labels, err);
	size_t n = 0;
	int rc = 0;

	while (!rc && write_series_next(s, &sample)) {
		n++;
		if (bad)
			continue;
		rc = append_sample(w, labels, &sample, err);
		if (!rc && !w->out->stored++)
			w->first = w->lsn;
		if (rc == ERR_EXISTS)
			metric_add(w->r->metrics.conflicts, 1);
		if (profile_store_may_retry(rc))
			break;
		if (rc)
			receiver_refuse(w, labels, sample.ms, 1, err);
		rc = 0;
	}
	if (bad && n)
		receiver_refuse(w, NULL, -1, n, err);
	labels_unref(labels);
	return rc;
}

/*
 * Append all samples of the checked message w->message. Then make those
 * samples durable that were not refused.
 */
static int append_message(struct writing *w, struct err *err)
{
	struct wire message = wire_init(buf_bytes(w->message));
	struct appender *a = w->r->o.appender;
	struct write_series s;
	int rc = 0;

	while (!rc && write_request_next(&message, &s))
		rc = append_series(w, &s, err);
	if (!rc && w->out->stored)
		rc = a->sync(a, w->first, w->lsn, err);
	return rc;
}

/*
 * Check the headers, reserve memory for the message at the limiter, decompress
 * the message, and check its structure.
 */
static int receiver_decode(struct writing *w, const struct write_input *in,
			   struct write_request_size *size, struct err *err)
{
	struct receiver *r = w->r;
	enum write_compression c = WRITE_SNAPPY;
	size_t len = 0;
	int rc = write_body_compression(in->content_type, in->content_encoding,
					&c, err);

	if (!rc)
		rc = write_body_check_digest(in->content_digest, in->body, err);
	if (!rc)
		rc = write_body_size(c, in->body, max_message(r), &len, err);
	if (!rc && !ingest_limiter_take(r->o.limiter, in->share,
					(int64_t)(in->body.len + len)))
		rc = err_set(
			err, ERR_LIMIT,
			"no memory for the request: with it, all uploads together, or those of this sender, would exceed their share of the receiver's --ingest.memory; retry later");
	if (!rc)
		rc = write_body_decode(c, profile_store_zstd(w->tools),
				       in->body, len, w->message, err);
	if (rc)
		return rc;
	metric_add(r->metrics.message_bytes, (int64_t)len);
	return write_request_check(buf_bytes(w->message), size, err);
}

/*
 * Set the error of a request of which some samples were refused, and return it.
 */
static int some_refused(struct writing *w,
			const struct write_request_size *size, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "%zu of %zu profiles were refused: %.*s",
		       w->out->refused, size->samples, REFUSED_TEXT_MAX + 80,
		       buf_cstr(&w->why));
}

int receiver_write(struct receiver *r, const struct write_input *in,
		   struct write_outcome *out, struct err *err)
{
	struct writing w = { .r = r,
			     .tools = profile_store_take(r->store),
			     .out = out,
			     .deadline_ns = in->deadline_ns };
	struct write_request_size size = { 0 };
	int rc;

	*out = (struct write_outcome){ 0 };
	metric_add(r->metrics.requests, 1);
	metric_add(r->metrics.body_bytes, (int64_t)in->body.len);
	w.message = profile_store_message(w.tools);
	rc = receiver_decode(&w, in, &size, err);
	if (!rc)
		rc = append_message(&w, err);
	if (rc)
		/* What was appended may not be durable. */
		out->stored = 0;
	metric_add(r->metrics.stored, (int64_t)out->stored);
	if (!rc && out->refused)
		rc = some_refused(&w, &size, err);
	if (rc)
		metric_add(r->metrics.failed, 1);
	profile_store_give(r->store, w.tools);
	buf_fini(&w.why);
	return rc;
}

struct receiver_counts receiver_counts_of(const struct receiver *r)
{
	return (struct receiver_counts){
		.stored = (uint64_t)metric_get(r->metrics.stored),
		.refused = (uint64_t)metric_get(r->metrics.refused),
		.conflicts = (uint64_t)metric_get(r->metrics.conflicts),
	};
}
