/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appender: the only interface by which profiles enter storage. The scraper,
 * the import, the receiver of remote write and the eBPF service store profiles
 * through it.
 *
 * Ownership: the implementation owns the appender; samples are borrowed for the
 * call.
 * Threads: append() and sync() may be called from any thread.
 */
#ifndef MODEL_APPENDER_H
#define MODEL_APPENDER_H

#include "base/err.h"
#include "model/labels.h"

/* The compression of a profile's body, in memory and in WAL records. */
enum body_encoding {
	BODY_PLAIN = 0,
	BODY_DEFLATE = 1, /* gzip or zlib; the first bytes tell which */
	BODY_ZSTD = 2,
};

/* One profile to be stored. All that it points to is borrowed for the call. */
struct sample {
	/* Label set; it must include __name__, the profile type. */
	struct labels *labels;
	int64_t ms; /* time of the profile, ms since the epoch */

	enum body_encoding encoding;
	struct bytes body; /* the profile as received, still compressed */

	/* The members below come from a scan of the decoded body. */
	uint32_t raw_len;     /* length of the decoded body, in bytes */
	uint64_t hash;        /* hash_bytes() of the decoded body */
	struct bytes typeset; /* the type set, encoded as in model/types.h */
	/* sums of the values, one for each sample type */
	const int64_t *totals;
	uint64_t sample_count;
	int64_t duration_ns;
	int64_t period;
	/*
	 * The names of text labels that the profile's samples have, and whether
	 * they have others, too.
	 */
	const struct str *label_names;
	size_t label_name_count;
	bool more_label_names;
	/*
	 * The caller tries another time after ERR_EXISTS, so that it is not
	 * counted as a conflict.
	 */
	bool may_move;
};

/* The interface, as a table of functions. */
struct appender {
	/*
	 * Stores a sample. Queries see it as soon as the call returns; it is
	 * durable once sync(*lsn, *lsn) has returned. Storing a sample that is
	 * already there (equal labels, time and hash) succeeds.
	 *
	 * ERR_INVALID: the time is out of bounds, and a retry cannot help.
	 * ERR_EXISTS: another profile of the series has this time. ERR_AGAIN:
	 * no clock that is trusted can tell yet whether the time is out of
	 * bounds. ERR_LIMIT, ERR_NOSPACE, ERR_IO: storage cannot take the
	 * sample now. After these, the caller may retry later.
	 */
	int (*append)(struct appender *a, const struct sample *s, uint64_t *lsn,
		      struct err *err);

	/*
	 * Waits until the samples of several calls of append() are durable:
	 * `from` is the LSN that the first of these calls has set, and `lsn`
	 * that of the last one. ERR_IO: an fsync failed, so at least one of
	 * their records may never be durable; they have to be appended again.
	 */
	int (*sync)(struct appender *a, uint64_t from, uint64_t lsn,
		    struct err *err);
};

#endif
