/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiver of remote write: decodes the requests of senders and stores their
 * profiles. The receiver knows nothing of HTTP but the values of three headers;
 * cmd/serve/write_endpoint.c connects it with the web server.
 *
 * Ownership: receiver_free() frees a receiver. Options, and the arguments of
 * receiver_write(), are borrowed.
 * Threads: any; several requests at a time.
 */
#ifndef REMOTEWRITE_RECEIVE_RECEIVER_H
#define REMOTEWRITE_RECEIVE_RECEIVER_H

#include "base/ingest_limiter.h"
#include "base/metrics.h"
#include "model/appender.h"

/* A receiver. */
struct receiver;

/* Options of receiver_new(); everything is borrowed. */
struct receiver_options {
	struct appender *appender;
	/* limits the memory that requests and scrapes take together */
	struct ingest_limiter *limiter;
	/* maximum size of a profile, in bytes after decompression */
	size_t max_profile;
	struct metrics *metrics;
};

/* A request to write. */
struct write_input {
	const char *content_type;     /* the header; "" when it is missing */
	const char *content_encoding; /* the header; "" when it is missing */
	const char *content_digest;   /* the header; "" when it is missing */
	struct bytes body;
	/*
	 * accounts for the memory of `body`; receiver_write() adds the memory
	 * of the decompressed message
	 */
	struct ingest_share *share;
	int64_t deadline_ns; /* time of clock_mono_ns() at which to give up */
};

/* How many samples of a request were stored, and how many were refused. */
struct write_outcome {
	/*
	 * samples that are durable, duplicates included; 0 if receiver_write()
	 * returned an error other than ERR_INVALID
	 */
	size_t stored;
	/* samples that will never be accepted, such as invalid profiles */
	size_t refused;
};

/*
 * The counters of a receiver, since it was created. `refused` includes
 * `conflicts`: the samples that were refused because a different profile with
 * the same labels and time is stored.
 */
struct receiver_counts {
	uint64_t stored;
	uint64_t refused;
	uint64_t conflicts;
};

/* Create a receiver; never fails. */
struct receiver *receiver_new(const struct receiver_options *o);

/* Free a receiver that no thread uses any more. NULL is a no-op. */
void receiver_free(struct receiver *r);

/* Return what the receiver has counted. */
struct receiver_counts receiver_counts_of(const struct receiver *r);

/*
 * Return the maximum size of a body in bytes. Every sender can compress a valid
 * request to at most that size.
 */
size_t receiver_max_body(const struct receiver *r);

/*
 * Decode a request and store its profiles. Returns 0 when all of them are
 * durable. A profile that is stored already, with the same labels, time and
 * bytes, counts as stored.
 *
 * ERR_INVALID: the sender must not send this request again. Either the whole
 * request was refused, for example because it is malformed, and nothing was
 * stored. Or some samples were refused, and all others are durable; the error
 * message names the first refused samples. ERR_TOOBIG: the decompressed request
 * is larger than receiver_options.max_profile plus 2 MiB. ERR_MEDIA: the type
 * or the compression of the request is not supported. ERR_LIMIT, ERR_NOSPACE,
 * ERR_IO, ERR_CLOSED, ERR_TIMEOUT, ERR_AGAIN: the sender should send the whole
 * request again later.
 */
NODISCARD int receiver_write(struct receiver *r, const struct write_input *in,
			     struct write_outcome *out, struct err *err);

#endif
