/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of WriteRequest, the protobuf message of remote write. Format:
 * docs/format/remote-write.md.
 *
 * write_request_check() checks a message as a whole before any of its samples
 * is used, so that a malformed request changes nothing. Profiles are not
 * copied: samples refer to the bytes of the message.
 *
 * Ownership: everything borrows from the message.
 * Threads: plain values; each thread uses its own.
 */
#ifndef REMOTEWRITE_WIRE_WRITE_REQUEST_H
#define REMOTEWRITE_WIRE_WRITE_REQUEST_H

#include "base/err.h"
#include "base/wire.h"
#include "model/labels.h"

enum {
	/* Maximum number of samples in a request. */
	WRITE_SAMPLES_MAX = 100000
};

/* How much a message contains. */
struct write_request_size {
	size_t series;
	size_t samples;
};

/* One series of a message: its label set and its samples. */
struct write_series {
	struct bytes message; /* the message ProfileSeries */
	struct wire samples;  /* what write_series_next() has not read yet */
};

/* One sample: a profile and its time. */
struct write_sample {
	struct bytes value; /* the profile; plain, or gzip, zlib or zstd */
	int64_t ms;         /* milliseconds since 1970 */
};

/*
 * Check the structure of a whole message: fields, wire types and lengths on
 * every level. ERR_INVALID: the message is malformed, has more than
 * WRITE_SAMPLES_MAX samples, or names a tenant, which everprof does not have.
 */
NODISCARD int write_request_check(struct bytes message,
				  struct write_request_size *out,
				  struct err *err);

/*
 * Read the next series of a message that write_request_check() has accepted.
 * `w` is initialised by wire_init(). Returns false at the end.
 */
bool write_request_next(struct wire *w, struct write_series *out);

/* Read the next sample of a series. Returns false at the end. */
bool write_series_next(struct write_series *s, struct write_sample *out);

/*
 * Make the label set of a series; the caller owns a reference to *out.
 * ERR_INVALID: a label occurs twice, __name__ is missing, or labels_build()
 * refuses the labels. ERR_DENIED: the series has the reserved label __tenant__.
 */
NODISCARD int write_series_labels(const struct write_series *s,
				  struct labels **out, struct err *err);

#endif
