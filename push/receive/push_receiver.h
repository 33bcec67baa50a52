/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push receiver: takes the profiles that Pyroscope's SDKs, Alloy and senders of
 * OpenTelemetry's protocol send, and stores them: POST /ingest, the method Push of
 * push.v1.PusherService, and OTLP. The receiver knows nothing of HTTP but the values of
 * some parameters and headers.
 *
 * Ownership: push_receiver_free() frees a receiver. Options, and the arguments
 * of push_receiver_take(), are borrowed.
 * Threads: any; several requests at a time.
 */
#ifndef PUSH_RECEIVE_PUSH_RECEIVER_H
#define PUSH_RECEIVE_PUSH_RECEIVER_H

#include "base/clock.h"
#include "base/ingest_limiter.h"
#include "base/metrics.h"
#include "model/appender.h"
#include "push/labels/push_config.h"
#include "push/receive/push_senders.h"

/* A receiver. */
struct push_receiver;

/* Options of push_receiver_new(); everything is borrowed. */
struct push_receiver_options {
	struct appender *appender;
	/* limits the memory of requests together with that of scrapes */
	struct ingest_limiter *limiter;
	/* maximum size of a profile, in bytes after decompression */
	size_t max_profile;
	/* New series that one sender may add within an hour; 0: no limit. */
	uint64_t max_new_series;
	const struct clock *clock; /* NULL: the time of day */
	struct metrics *metrics;
};

/* How a client sends. */
enum push_protocol {
	PUSH_INGEST,    /* POST /ingest */
	PUSH_V1,        /* push.v1.PusherService/Push */
	PUSH_OTLP,      /* OpenTelemetry's protocol over HTTP */
	PUSH_OTLP_GRPC, /* OpenTelemetry's protocol over gRPC */
	PUSH_DATADOG,   /* POST /profiling/v1/input of Datadog's agent */
	PUSH_PROTOCOLS
};

/* A request. The texts of absent headers and parameters are empty. */
struct push_input {
	enum push_protocol protocol;
	const char *content_type;
	const char *content_encoding;
	struct str address; /* IP address of the client */
	struct str agent;   /* the header User-Agent */
	struct str user;    /* user or token of the credentials; may be empty */
	/* Parameters of POST /ingest. */
	struct str name;   /* application and labels */
	struct str from;   /* when the profile begins */
	struct str until;  /* when it ends */
	struct str rate;   /* samples of the CPU in a second */
	struct str format; /* of the profile */
	struct str spy;    /* kind of the client */
	struct bytes body;
	/*
	 * accounts for the memory of `body`; the memory of the decompressed
	 * message is added
	 */
	struct ingest_share *share;
	int64_t deadline_ns; /* time of clock_mono_ns() at which to give up */
	/* Set to the number of profiles that were refused for good; NULL: not. */
	uint64_t *refused;
};

/* Create a receiver; never fails. */
struct push_receiver *push_receiver_new(const struct push_receiver_options *o);

/* Free a receiver that no thread uses any more. NULL is a no-op. */
void push_receiver_free(struct push_receiver *r);

/*
 * Use another configuration. It is borrowed until the next call, or until the
 * receiver is freed. Without a call, the section is missing.
 */
void push_receiver_apply(struct push_receiver *r, const struct push_config *c);

/* Note a request that was refused before push_receiver_take(). */
void push_receiver_note_refused(struct push_receiver *r,
				const struct push_input *in, const char *why);

/* The list of those who have sent profiles; borrowed. */
struct push_senders *push_receiver_senders(struct push_receiver *r);

/*
 * Store the profiles of a request. Returns 0 when all of them are durable; a
 * profile that is stored already counts as stored.
 *
 * The client must not send the request again after ERR_INVALID (the request is
 * malformed), ERR_CORRUPT (profiles or their labels were refused, and all
 * others are durable; the message names the first of them), ERR_TOOBIG and
 * ERR_MEDIA (a type, format or compression that is not supported). After any
 * other error it may send the whole request again; with ERR_LIMIT, profiles of
 * new series were refused, perhaps, and all others are durable.
 */
NODISCARD int push_receiver_take(struct push_receiver *r,
				 const struct push_input *in, struct err *err);

#endif
