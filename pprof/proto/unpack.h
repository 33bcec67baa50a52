/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpack: decompresses a received profile, if it is compressed, and scans it.
 *
 * Ownership: if the body is compressed, the decompressed profile points into
 * the unpacker's buffers, else into the received body. It is valid until the
 * unpacker's next use.
 * Threads: one thread per unpacker.
 */
#ifndef PPROF_PROTO_UNPACK_H
#define PPROF_PROTO_UNPACK_H

#include "base/mutex.h"
#include "model/appender.h"
#include "pprof/proto/scan.h"

/* An unpacker: decompressors, a scanner and their buffers. */
struct unpacker;

/* The result of unpacking: a decompressed and scanned profile. */
struct unpacked {
	enum body_encoding encoding; /* encoding of the body in storage */
	struct bytes raw;            /* the decompressed profile */
	struct scan scan;
	struct bytes typeset; /* encoded type set, borrowed from the unpacker */
};

/*
 * Create an unpacker that refuses profiles of more than max_raw bytes,
 * decompressed. The caller frees it with unpacker_free().
 */
struct unpacker *unpacker_new(size_t max_raw);

/* Free an unpacker. NULL is a no-op. */
void unpacker_free(struct unpacker *u);

/*
 * Detect the compression by the first bytes of the body, not by file names or
 * headers; decompress and scan the profile. ERR_INVALID: the body is no
 * profile, and the message says why; ERR_TOOBIG: the profile, the names of its
 * sample types, or the memory that a profile in a legacy format needs exceed a
 * limit.
 */
NODISCARD int unpacker_run(struct unpacker *u, struct bytes body,
			   struct unpacked *out, struct err *err);

/*
 * Make the unpacker use this lock, which several unpackers share, so that only
 * one of them at a time decompresses more than 4 MiB. The unpacker holds the
 * lock while its decompressed profile is in use: until unpacker_done() is
 * called or the unpacker decompresses the next body.
 */
void unpacker_share(struct unpacker *u, struct mutex *large_profile_mu);

/*
 * End the use of the last result: frees a large buffer and releases the shared
 * lock.
 */
void unpacker_done(struct unpacker *u);

/*
 * Fill the fields of `*out` that follow from the profile; labels and time are
 * left to the caller. The sample's body is the received one, or the
 * decompressed profile if u->encoding is BODY_PLAIN. `*out` points into `u` and
 * `body`.
 */
void unpacked_sample(const struct unpacked *u, struct bytes body,
		     struct sample *out);

#endif
