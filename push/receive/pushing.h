/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushing: one request while the receiver handles it. Each protocol reads its requests in
 * a file of its own, and stores their profiles by these functions.
 *
 * Ownership: push_receiver_take() owns a pushing.
 * Threads: one thread at a time.
 */
#ifndef PUSH_RECEIVE_PUSHING_H
#define PUSH_RECEIVE_PUSHING_H

#include "base/compressed_body.h"
#include "base/vec.h"
#include "convert/conversion/convert_caller.h"
#include "ingest/profile_store.h"
#include "push/labels/push_labels.h"
#include "push/labels/push_rules.h"
#include "push/labels/push_types.h"
#include "push/receive/push_receiver.h"
#include "push/receive/series_quota.h"

/* The counters of a receiver, one of each for each protocol. */
struct push_metrics {
	struct metric *requests[PUSH_PROTOCOLS];
	struct metric *failed[PUSH_PROTOCOLS];
	struct metric *stored[PUSH_PROTOCOLS];
	struct metric *refused[PUSH_PROTOCOLS];
	struct metric *dropped[PUSH_PROTOCOLS];
	struct metric *nudged;
};

struct push_receiver {
	struct push_receiver_options o;
	struct push_metrics metrics;
	struct profile_store *store;
	struct series_quota *quota;
	struct push_senders *senders;
	struct push_rules *rules;
};

/* One request while it is handled. */
struct pushing {
	struct push_receiver *r;
	const struct push_input *in;
	struct store_tools *tools;
	struct push_origin origin;
	struct push_types types;
	/* Whether the profiles are converted: their labels have the name. */
	bool is_converted;
	bool sends_increments; /* as the request says, of the next profile */
	int64_t from_ms;       /* 0: the request does not say it */
	/* What was taken of the limiter for the message; see pushing_take_memory(). */
	int64_t taken;
	size_t profiles; /* of the request */
	size_t stored;
	size_t refused;
	/* LSNs of the first and the last profile that have to be durable. */
	uint64_t first;
	uint64_t last;
	struct buf why; /* which profiles were refused, and why */
	/*
	 * The first profile that cannot be stored now, though others can: the
	 * clock cannot judge its time yet, or its series is one too many. Code
	 * 0: none. The client sends the whole request again.
	 */
	struct err later;
	/*
	 * Why a part of the request could not be read, though what comes before it is
	 * stored. Code 0: nothing. The client must not send the request again.
	 */
	struct err damage;
	/*
	 * The labels of the profiles that are stored; what became of them is
	 * known when they are durable.
	 */
	VEC(struct labels *) kept;
	bool noted; /* whether a profile is in the list of senders */
};

/* Return the name of a protocol, a constant. */
const char *pushing_protocol(enum push_protocol p);

/* Return who sends a request, without the service. */
struct push_sender_key pushing_key(const struct push_input *in);

/* Count a refused profile, and list it for the error message. `labels` may be NULL. */
void pushing_refuse(struct pushing *p, const struct labels *labels,
		    const struct err *why);

/* ERR_TIMEOUT: the request has taken too long. */
NODISCARD int pushing_check_time(const struct pushing *p, struct err *err);

/* Note in the list of senders what became of a profile. */
void pushing_note(struct pushing *p, struct str service,
		  enum push_outcome outcome, const struct err *why);

/*
 * Store one profile with the labels that the client sent. Returns an error only
 * if no more profiles of the request can be stored now. A profile that never can
 * be is refused.
 */
NODISCARD int pushing_store(struct pushing *p,
			    const struct labels_builder *sent,
			    struct bytes profile, struct err *err);

/*
 * Note in the list of senders the profiles that were stored: they are durable unless
 * there is an error.
 */
void pushing_note_kept(struct pushing *p, int rc, const struct err *why);

/* Note in the list of senders that the request failed, unless a profile of it is there. */
void pushing_note_failure(struct pushing *p, int rc, const struct err *why);

/* ERR_LIMIT: there is no room for so many bytes in all, beside those of the body. */
NODISCARD int pushing_take_memory(struct pushing *p, int64_t bytes,
				  struct err *err);

/*
 * Decompress the body of a request, or a part of it. The memory is taken from the
 * limiter before. The caller frees `out` in any case. ERR_INVALID, ERR_TOOBIG as for
 * compressed_body_decode(); ERR_LIMIT.
 */
NODISCARD int pushing_inflate(struct pushing *p, enum compression c,
			      struct bytes body, struct buf *out,
			      struct bytes *message, struct err *err);

/*
 * Decompress the body of a request by its Content-Encoding. ERR_MEDIA, and the errors of
 * pushing_inflate().
 */
NODISCARD int pushing_decode(struct pushing *p, struct buf *out,
			     struct bytes *message, struct err *err);

/*
 * Convert a message from JSON, after its memory was taken from the limiter; `out` gets
 * it. ERR_TOOBIG: it is too large for JSON; errors of from_json().
 */
NODISCARD int pushing_from_json(
	struct pushing *p,
	int (*from_json)(struct bytes json, struct buf *out, struct err *err),
	struct bytes *message, struct buf *out, struct err *err);

/* Return what a conversion asks, on behalf of the request. */
struct convert_caller pushing_caller(struct pushing *p);

#endif
