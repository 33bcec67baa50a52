/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpack: from bytes as received to a scanned profile.
 *
 * Ownership: raw borrows from the body when that is plain, else from the
 * unpacker; both until its next use. Threads: one thread an unpacker.
 */
#ifndef PPROF_UNPACK_H
#define PPROF_UNPACK_H

#include <pthread.h>

#include "model/appender.h"
#include "pprof/scan.h"

struct unpacker;

struct unpacked {
	enum body_encoding encoding;
	struct bytes raw; /* the profile itself */
	struct scan scan;
	struct bytes typeset; /* encoded; borrowed from the unpacker */
};

/* Profiles of more than max_raw bytes are refused. */
struct unpacker *unpacker_new(size_t max_raw);
void unpacker_free(struct unpacker *u);

/*
 * Look at the first bytes, not at names or headers; decompress and scan.
 * ERR_INVALID: not a profile, and why. ERR_TOOBIG.
 */
NODISCARD int unpacker_run(struct unpacker *u, struct bytes body,
			   struct unpacked *out, struct err *err);

/*
 * Of the unpackers that share this lock, one at a time unpacks more than 4 MiB;
 * what it unpacked stays until unpacker_done().
 */
void unpacker_share(struct unpacker *u, pthread_mutex_t *giant);

/* What was handed out is not needed any more. */
void unpacker_done(struct unpacker *u);

/* Fill in what a sample says of its body; labels and time are the caller's. */
void unpacked_sample(const struct unpacked *u, struct bytes body,
		     struct sample *out);

#endif
