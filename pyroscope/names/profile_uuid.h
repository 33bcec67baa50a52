/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile UUIDs: what Pyroscope's clients call one stored profile. Nothing is stored for
 * them: a UUID of version 8 (RFC 9562, 5.8) has the time of the profile in ms (48 bits) and
 * the digest of its labels (64 bits).
 *
 * Ownership: profile_uuids_fini() frees a list.
 * Threads: plain values.
 */
#ifndef PYROSCOPE_NAMES_PROFILE_UUID_H
#define PYROSCOPE_NAMES_PROFILE_UUID_H

#include "base/err.h"
#include "base/vec.h"
#include "model/labels.h"

enum {
	PROFILE_UUID_LEN = 36 /* of the text */
};

/* A profile: the labels_digest() of its series, and its time. */
struct profile_uuid {
	uint64_t digest;
	int64_t ms;
};

/* Write a UUID as text; the time is between 1970 and the year 10889. */
void profile_uuid_print(const struct profile_uuid *id,
			char out[PROFILE_UUID_LEN + 1]);

/*
 * Parse a UUID. ERR_INVALID: the text is none. A UUID that everprof did not make is that of
 * no profile: its time is -1.
 */
NODISCARD int profile_uuid_parse(struct str text, struct profile_uuid *out,
				 struct err *err);

/* The UUIDs of a request, sorted by digest and time. */
struct profile_uuids {
	struct profile_uuid *v;
	size_t count;
};

/* Parse all UUIDs of a request. The caller frees the list in any case. */
NODISCARD int profile_uuids_parse(const struct str *texts, size_t count,
				  struct profile_uuids *out, struct err *err);

/* Whether there is a UUID of a profile of a series. */
bool profile_uuids_has_series(const struct profile_uuids *ids, uint64_t digest);

/* Whether there is the UUID of a profile. */
bool profile_uuids_has(const struct profile_uuids *ids, uint64_t digest,
		       int64_t ms);

/* Free a list. */
void profile_uuids_fini(struct profile_uuids *ids);

#endif
