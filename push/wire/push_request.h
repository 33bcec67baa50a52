/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push request: the message push.v1.PushRequest, by which Pyroscope's SDKs and
 * Alloy send profiles.
 * Source: github.com/grafana/pyroscope/api, push/v1/push.proto.
 *
 * Ownership: iterators borrow the message.
 * Threads: plain values.
 */
#ifndef PUSH_WIRE_PUSH_REQUEST_H
#define PUSH_WIRE_PUSH_REQUEST_H

#include "base/buf.h"
#include "base/wire.h"
#include "model/labels.h"

enum {
	PUSH_PROFILES_MAX = 10000, /* of one request */
	/* of one series, before its labels are checked */
	PUSH_LABELS_MAX = 1000,
	PUSH_LABELS_BYTES_MAX = 2 * LABELS_BYTES_MAX
};

/* A series of a request: labels, and profiles. */
struct push_series {
	struct bytes message;
	struct wire samples;
};

/*
 * Check the structure of a message, and count its profiles. ERR_INVALID: it is
 * malformed, or has more than PUSH_PROFILES_MAX profiles or a series with more
 * than PUSH_LABELS_MAX labels or PUSH_LABELS_BYTES_MAX bytes of labels.
 */
NODISCARD int push_request_check(struct bytes message, size_t *profiles,
				 struct err *err);

/*
 * Append a message that is written as JSON to `out` in its wire format. Errors as
 * for transcode_from_json().
 */
NODISCARD int push_request_from_json(struct bytes json, struct buf *out,
				     struct err *err);

/* Read the next series of a checked message; false at its end. */
bool push_request_next(struct wire *message, struct push_series *out);

/* Set the labels of a series. Of a name that occurs twice, the last counts. */
void push_request_labels(const struct push_series *s,
			 struct labels_builder *out);

/* Read the next profile of a series; false at the end. */
bool push_request_profile(struct push_series *s, struct bytes *out);

#endif
